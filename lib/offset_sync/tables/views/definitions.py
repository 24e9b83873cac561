"""The SQL files of this folder: a head of comments that says what the rows and the columns are, then the query."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True)
class ViewColumn:
    """One column: its name, its SQL type as Spark calls it, and what it holds."""

    name: str
    type: str
    comment: str


@dataclass(frozen=True)
class View:
    """A view, or the body of a question; *sql* names tables and other views as they are called under ``tables.root``.

    Its one function that DuckDB does not have by itself is ``unix_millis``.
    """

    name: str
    comment: str
    columns: tuple[ViewColumn, ...]
    sql: str

    @property
    def names(self) -> list[str]:
        """Column names, in order."""
        return [column.name for column in self.columns]


def parse_view(name: str, text: str) -> View:
    """Return what the file *name* says; raises ValueError where its head is not of the form."""
    lines = text.splitlines()
    size = next((number for number, line in enumerate(lines) if not line.startswith("--")), len(lines))
    said = [line.removeprefix("--").strip() for line in lines[:size]]
    if "" not in said or size == len(lines):
        raise ValueError(f"{name}.sql: begins with what a row is, an empty comment and a comment for each column")
    border = said.index("")
    columns = [re.fullmatch(r"(\w+) \| (\w+) \| (.+)", line) for line in said[border + 1 :]]
    if wrong := [line for line, column in zip(said[border + 1 :], columns, strict=True) if column is None]:
        raise ValueError(f"{name}.sql: {wrong[0]!r} is not 'name | type | what it holds'")
    found = tuple(ViewColumn(*column.groups()) for column in columns if column is not None)
    return View(name, " ".join(said[:border]), found, "\n".join(lines[size:]) + "\n")


def _load(name: str) -> View:
    return parse_view(name, files(__package__).joinpath(f"{name}.sql").read_text(encoding="utf-8"))


VIEWS = tuple(map(_load, ("current_offsets", "offset_history", "lag", "translation_quality", "sync_decisions")))
"""In an order in which they can be created."""
QUESTIONS = tuple(map(_load, ("failover_cost", "lagging_groups")))
"""What takes parameters, and so is no view: see ``questions``."""
