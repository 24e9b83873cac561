"""Locks of the program that say which of them are taken while another one is held."""

from __future__ import annotations

import ast
import re
import sys
import threading
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
LIB, ORDER = ROOT / "lib" / "offset_sync", ROOT / "docs" / "design" / "threads.md"
KINDS = ("Lock", "RLock", "Condition")
_LAST = 1_000
"""The rank of a lock that is not in the order: no other one is taken while it is held."""
Place = tuple[str, int]
"""A file and the line in it that makes a lock."""


class _Watched:
    """A lock that notes what its thread holds when it is taken."""

    def __init__(self, lock: Any, place: Place, order: LockOrder) -> None:
        self._lock, self._place, self._order = lock, place, order

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)

    def acquire(self, *args: Any, **options: Any) -> bool:
        """Take it, as a lock does."""
        held = self._order.held()
        # A try that may be refused does not wait, so its order does not matter.
        may_wait = args[:1] != (False,) and options.get("blocking", True)
        if may_wait and not any(lock is self for lock, _ in held):
            self._order.seen.update((place, self._place) for _, place in held)
        is_taken: bool = self._lock.acquire(*args, **options)
        if is_taken:
            held.append((self, self._place))
        return is_taken

    def release(self) -> None:
        """Give it back; by another thread than took it, as a lock may be."""
        held = self._order.held()
        for number in reversed(range(len(held))):
            if held[number][0] is self:
                del held[number]
                break
        self._lock.release()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_problem: object) -> None:
        self.release()


class LockOrder:
    """Which locks were taken while which other ones were held, by the places that make them: *seen*."""

    def __init__(self) -> None:
        self.seen: set[tuple[Place, Place]] = set()
        self._of_thread = threading.local()

    def held(self) -> list[tuple[Any, Place]]:
        """Return what the present thread holds, in the order in which it was taken."""
        if not hasattr(self._of_thread, "held"):
            self._of_thread.held = []
        found: list[tuple[Any, Place]] = self._of_thread.held
        return found

    def watch(self) -> None:
        """Have every lock that the program makes from now on be watched."""
        for kind in KINDS:
            setattr(threading, kind, self._maker(getattr(threading, kind)))

    def take_wrong(self) -> list[str]:
        """Return what was taken against the order since the last call; two locks of one place have none."""
        ranks, wrong = read_ranks(), set[str]()
        seen, self.seen = self.seen, set()
        for places in seen:
            outer, inner = (lock_at(Path(file), line) for file, line in places)
            if outer != inner and not ranks.get(outer, _LAST) < ranks.get(inner, _LAST):
                wrong.add(f"{inner} is taken while {outer} is held")
        return sorted(wrong)

    def _maker(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def make(*args: Any, **options: Any) -> Any:
            lock, caller = real(*args, **options), sys._getframe(1)
            if not caller.f_code.co_filename.startswith(str(LIB)):
                return lock
            return _Watched(lock, (caller.f_code.co_filename, caller.f_lineno), self)

        return make


@lru_cache
def read_ranks() -> dict[str, int]:
    """Return the place of each lock in the order of the page."""
    row = re.compile(r"^(\d+)\. `([\w/]+\.py)` `([\w, ]+)`:", re.MULTILINE)
    return {f"{file} `{name}`": int(rank) for rank, file, name in row.findall(ORDER.read_text())}


@lru_cache
def lock_at(file: Path, line: int) -> str:
    """Return what the lock is called that is made at a *line*, with the file that makes it."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Assign) and node.lineno <= line <= (node.end_lineno or node.lineno):
            target = node.targets[0]
            if not isinstance(target, ast.Tuple):
                return _called(file, [target])
            values = node.value.elts if isinstance(node.value, ast.Tuple) else []
            pairs = zip(target.elts, values, strict=True)
            return _called(file, [each for each, value in pairs if any(kind in ast.unparse(value) for kind in KINDS)])
    return f"{file}:{line}"


def _called(file: Path, targets: list[ast.expr]) -> str:
    names = ", ".join(ast.unparse(each).removeprefix("self.") for each in targets)
    return f"{file.relative_to(LIB) if file.is_relative_to(LIB) else file} `{names}`"
