"""The page of one commit's way: its files exist, each is reached from one before it, and they are not too many."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

REPO = Path(__file__).resolve().parents[3]
LIB = REPO / "lib"
PAGE = REPO / "docs" / "design" / "one-commit.md"
MOST = 45
ROW = re.compile(r"\| (\d+) \| `([\w/]+\.py)` \| (.+) \|")
PASSED_IN_BY = re.compile(r"passed in by `([\w/]+\.py)`")


class Step(NamedTuple):
    """A row of the page: the file, and who passes it in where no file before it imports it."""

    number: int
    file: str
    passed_in_by: str | None

    @property
    def doors(self) -> list[str]:
        """The files that have to be imported on the way to it, itself included."""
        return [self.file, self.passed_in_by] if self.passed_in_by else [self.file]


def steps(page: str) -> list[Step]:
    """Return the rows of *page*, in their order."""
    rows = [ROW.fullmatch(line) for line in page.splitlines()]
    found = [(int(row[1]), row[2], PASSED_IN_BY.search(row[3])) for row in rows if row]
    return [Step(number, file, by[1] if by else None) for number, file, by in found]


@cache
def imported(file: str) -> frozenset[str]:
    """Return the files of the package that *file* imports, by their names below it."""
    names = list[str]()
    for node in ast.walk(ast.parse((LIB / "offset_sync" / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            names += [f"{node.module}", *(f"{node.module}.{each.name}" for each in node.names)]
    return frozenset(f"{name.replace('.', '/')}.py".removeprefix("offset_sync/") for name in names)


def unreached(way: list[Step]) -> list[str]:
    """Return the files, but the first, that no file before them imports, nor one that such a file imports."""
    found, before = list[str](), [way[0].file]
    for step in way[1:]:
        known = frozenset[str]().union(*map(imported, before))
        door = step.passed_in_by or step.file
        if door not in known or (step.passed_in_by and step.file not in imported(step.passed_in_by)):
            found.append(step.file)
        before.append(step.file)
    return found


WAY = steps(PAGE.read_text(encoding="utf-8"))


def test_the_way_is_numbered_and_no_longer_than_agreed() -> None:
    assert [step.number for step in WAY] == [*range(1, len(WAY) + 1)]
    assert 30 < len({step.file for step in WAY}) == len(WAY) <= MOST


@pytest.mark.parametrize("file", [file for step in WAY for file in step.doors])
def test_its_files_exist(file: str) -> None:
    assert (LIB / "offset_sync" / file).is_file()


def test_each_file_is_reached_from_one_before_it() -> None:
    assert unreached(WAY) == []
