"""Whether what was committed at a target is ahead, by contents alone; shares no code with what is under test.

A value at the target *fits* a commit at the source if no record below the value is, by its id, not below
the commit at the source: who reads on from there misses nothing that it had not read.

A value is **ahead** if it fits no commit of the group that it may rest on. It may rest on a commit that was present at
the source when the value was written (the brokers noted both times, by one clock) and that is not older than what the
values before have followed:

- The first value that fits no commit before the n-th proves that the n-th was known when it was written.
- A value that goes down, to exactly what a commit asks for, proves that this one was known: a rewind that was followed.

What is written later may not go back behind such a proof. So the one leniency is what the sync cannot help: a group
that was rewound a moment ago still has the higher value until the sync has seen it. That hides no loss: a value that
skips what the group has never read fits no commit at all; one of a driver that was overtaken, written after a rewind
was followed, fits only values from before the proof; and a rewind that is never followed is not exact after quiet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from chaos.commit_log import Commit
from chaos.contents import Ints, Reading

_TOLD = 12


@dataclass
class Followed:
    """One partition of a group at one target: which commit of the source its values are known to have followed."""

    place: str
    known: int = 0
    last: int | None = None
    history: list[str] = field(default_factory=list)

    def judge(self, value: Commit, commits: Sequence[Commit], reading: Reading) -> str | None:
        """Take in the next value at the target; return what is wrong with it.

        *commits* are all of the group at the source until then and perhaps later ones, in order.
        """
        assert value.offset is not None
        exact = reading.exact([0 if each.offset is None else each.offset for each in commits])
        is_there = np.array([each.offset is not None and each.at_ms <= value.at_ms for each in commits], np.bool_)
        # Records that had not reached the source then are above the commit there: unread all the same.
        fits = is_there & (exact >= value.offset)
        fits[: self.known] = False
        went_down = self.last is not None and value.offset < self.last
        self.last = value.offset
        self._note(value, commits, exact, is_there)
        if not fits.any():
            return f"{self.place}: {value.offset} is ahead, {self._why(commits, exact, is_there)}"
        is_proof = fits & (exact == value.offset)
        self.known = int(np.argmax(is_proof if went_down and is_proof.any() else fits))
        return None

    def _why(self, commits: Sequence[Commit], exact: Ints, is_there: NDArray[np.bool_]) -> str:
        stood = [row for row in np.flatnonzero(is_there).tolist() if row >= self.known]
        if not stood:
            return "and nothing was committed at the source"
        best = max(stood, key=lambda row: int(exact[row]))
        first = commits[self.known].offset
        return f"at most {exact[best]} of commit {commits[best].offset}; known was commit {self.known}, {first}"

    def _note(self, value: Commit, commits: Sequence[Commit], exact: Ints, is_there: NDArray[np.bool_]) -> None:
        stood = np.flatnonzero(is_there)
        newest = int(stood[-1]) if len(stood) else None
        asks = "nothing" if newest is None else f"{commits[newest].offset} (number {newest}), exact {exact[newest]}"
        self.history = [*self.history, f"{value.at_ms}: {value.offset} written; committed {asks}"][-_TOLD:]
