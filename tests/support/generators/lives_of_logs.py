"""Logs of two clusters, and of a third that only produces, whose topics are recreated and whose ends are cut.

Every record has contents of its own, which tell what is the same record and what is not, whatever the headers say.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import NamedTuple

from oracles.translation import Log, LogRecord


class Stamped(NamedTuple):
    """A record: its *contents*, where it was produced, at which offset and in which *life* of that log."""

    contents: int
    origin: str
    number: int
    life: int


@dataclass(frozen=True)
class Begun:
    """From *begins_at* on a log has other records."""

    begins_at: int


class Lives:
    """X and Y are mirrored into each other and have copies of Z. No mirror says which life of a log it has read."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.logs: dict[str, list[Stamped | None]] = {name: [] for name in "XYZ"}
        self._begun: dict[str, list[Begun]] = {name: [] for name in "XYZ"}
        self._contents = 0
        self._copied = {(origin, copy): 0 for origin in "XYZ" for copy in "XY" if origin != copy}

    def run(self, steps: int) -> None:
        """Produce, mirror, drop, send again, leave markers, and now and then cut a log or make it again."""
        for _ in range(steps):
            act = self._rng.random()
            if act < 0.4:
                self._produce(self._rng.choice("XYZ"))
            elif act < 0.93:
                self._mirror(*self._rng.choice(sorted(self._copied)))
            else:
                self._cut(self._rng.choice("XYZ"), self._rng.choice((0.0, self._rng.random())))

    def _produce(self, name: str) -> None:
        log = self.logs[name]
        for _ in range(self._rng.randint(1, 4)):
            log.append(Stamped(self._contents, name, len(log), len(self._begun[name])))
            self._contents += 1
        if self._rng.random() < 0.2:
            log.append(None)

    def _mirror(self, origin: str, copy: str) -> None:
        source, first = self.logs[origin], self._copied[origin, copy]
        if self._rng.random() < 0.2:
            first = max(0, first - self._rng.randint(1, 4))
        last = min(len(source), first + self._rng.randint(1, 5))
        own = [each for each in source[first:last] if each is not None and each.origin == origin]
        self.logs[copy].extend(each for each in own if self._rng.random() > 0.1)
        self._copied[origin, copy] = last

    def _cut(self, name: str, kept: float) -> None:
        end = int(len(self.logs[name]) * kept)
        del self.logs[name][end:]
        self._begun[name].append(Begun(end))
        for (origin, copy), done in self._copied.items():
            self._copied[origin, copy] = min(done, end) if origin == name else done

    def log(self, name: str, *, is_told_apart: bool = True) -> Log:
        """Return a log as its index has it; where lives are told apart an ended one is another origin."""
        told = [(offset, each) for offset, each in enumerate(self.logs[name]) if each is not None]
        records = [
            LogRecord(offset, self._origin(each) if is_told_apart else each.origin, each.number)
            for offset, each in told
        ]
        end = len(self.logs[name])
        return Log(name, tuple(records), 0, end, end)

    def _origin(self, record: Stamped) -> str:
        """Return the origin and, of a record that its log has no more, the life that ended it."""
        for number, life in enumerate(self._begun[record.origin][record.life :], record.life):
            if life.begins_at <= record.number:
                return f"{record.origin}{number}"
        return record.origin
