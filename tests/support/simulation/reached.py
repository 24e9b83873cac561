"""What simulations have come to: states and outcomes, and those of keys whose driver crashed before it said more."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from offset_sync.model.values import GroupPartition, Outcome, State
from offset_sync.sync.reconciliation import Reconciliation

CRASH = " and a crash"
WORDS = frozenset(each.name for each in (*State, *Outcome))
WANTED = WORDS | {word + CRASH for word in WORDS}
"""What a thousand seeds have to come to."""


class Reached:
    """The *words* that a world has come to.

    A word is reached with a crash where the process that has given an answer ends, and was about to lose what it knew,
    while this is its last answer to a key. Offsets given to ``translate`` count as a key each.
    """

    def __init__(self) -> None:
        self.words: set[str] = set()
        self._last: dict[object, dict[Hashable, tuple[str, ...]]] = {}

    def note(self, process: object, key: Hashable, *words: str) -> None:
        self.words.update(words)
        self._last.setdefault(process, {})[key] = words

    def note_answers(self, process: object, found: Reconciliation, keys: Sequence[GroupPartition]) -> None:
        """Note what *process* has answered, and what came of it."""
        moved = found.translated
        columns = (moved.commits.key, found.plan.state, found.outcome)
        for key, state, outcome in zip(*(each.tolist() for each in columns), strict=True):
            where = moved.source, moved.target, keys[key]
            self.note(process, where, State(state).name, Outcome(outcome).name)

    def note_crash(self, process: object) -> None:
        for words in self._last.pop(process, {}).values():
            self.words.update(word + CRASH for word in words)
