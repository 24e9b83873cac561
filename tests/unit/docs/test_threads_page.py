"""The page on threads and locks has all that there are, and the order in which locks are taken."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.lock_order import KINDS, LIB, ORDER, lock_at, read_ranks

POOLS = {"Thread", "ThreadPoolExecutor"}


def calls(names: set[str]) -> Iterator[tuple[str, int]]:
    """Yield where one of *names* is called, with or without the module's name."""
    for path in LIB.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).removeprefix("threading.") in names:
                yield str(path.relative_to(LIB)), node.lineno


def test_every_lock_has_its_place_in_the_order() -> None:
    made = {lock_at(Path(LIB, file), line) for file, line in calls({*KINDS})}
    assert made == {*read_ranks()}


def test_every_file_that_makes_threads_says_what_they_do() -> None:
    page = ORDER.read_text()
    listed = re.findall(r"^\| `([\w/]+\.py)` \| [^`|]*(?:`.*?)?\|", page.split("## Locks")[0], re.MULTILINE)
    assert sorted(listed) == sorted({file for file, _ in calls(POOLS)})


def made(name: str) -> Any:
    """Return a lock that is made in the line in which the program makes the one of this *name*."""
    file, line = next(place for place in calls({*KINDS}) if lock_at(Path(LIB, place[0]), place[1]) == name)
    names: dict[str, Any] = {}
    exec(compile("\n" * (line - 1) + "import threading; lock = threading.Lock()", str(LIB / file), "exec"), names)
    return names["lock"]
