"""Reads both logs of a history in micro-batches of any size, aligns them, and keeps the indexes that follow from it.

It may be stopped and go on from the state that it has kept, or from an older one; what has rows gets no others.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from contents.mirror_settings import Reading
from contents.unstamped_copies import History, fingerprints
from fakes.pages import KeptPages, let_go_of_all_but
from offset_sync.translate.index.log_index import LogIndex
from offset_sync.translate.index.runs import Runs
from offset_sync_contents.alignment.aligner import Aligner, AlignerState, Batch
from offset_sync_contents.alignment.mirror import Reach, Settings
from offset_sync_contents.alignment.records import Fingerprints, Identities, to_runs

ORIGIN, COPIES = 0, 1
"""Codes of the two clusters."""


class Follower:
    """Of one history; the clock says how many copies were read, and how many milliseconds nothing happened."""

    def __init__(self, history: History, reading: Reading, settings: Settings, rng: np.random.Generator) -> None:
        self._history, self._reading, self._settings, self._rng = history, reading, settings, rng
        self._begin = int(history.original[reading.first]) if reading.first else 0
        self._states = [AlignerState(0, Reach(self._begin))]
        self._aligner = Aligner(self._states[0], settings)
        self._seen = self._read = reading.first
        self.copies_read, self._copies = 0, 0
        self.now_ms = 0
        self.copies, self.originals = LogIndex(0), LogIndex(self._begin)
        self.decided: list[Identities] = []
        self._pages = KeptPages()

    @property
    def is_done(self) -> bool:
        """Whether all was read."""
        return self.copies_read == len(self._history.of)

    def step(self) -> None:
        """Read a micro-batch; nothing new at the end but time, which decides what is kept back."""
        if self._rng.random() < self._reading.restarts:
            self._stop()
        size = 0 if self.is_done else max(int(self._rng.exponential(self._reading.batch)), 1)
        end = min(self.copies_read + size, len(self._history.of))
        self.now_ms += max(end - self.copies_read, 1) if size else self._settings.hold_ms
        newest = int(self._history.of[:end].max(initial=-1)) + 1  # was there before its copy, and before we ask
        ahead = min(newest + int(self._rng.integers(0, self._reading.ahead + 1)), len(self._history.original))
        self._seen = max(self._seen, ahead)
        self.copies_read = end
        found = self._aligner.advance(self._batch(), self.now_ms)
        self._take_in(found)
        if self._reading.is_paged and self._rng.random() < 0.5:
            let_go_of_all_but(self.copies, 1, 5, self._pages)
        self._states.append(self._aligner.state)

    def finish(self) -> None:
        """Read to the end, stop no more, and wait until all is decided."""
        self._reading = replace(self._reading, restarts=0.0)
        while not self.is_done or self.copies.frontier < int(self._history.copy[-1]) + 1:
            self.step()

    def _batch(self) -> Batch:
        history, first, last = self._history, self._copies, self.copies_read
        originals = slice(self._read, self._seen)
        copies_end = int(history.copy[last - 1]) + 1 if last else 0
        originals_end = int(history.original[self._seen - 1]) + 1 if self._seen else 0
        self._read, self._copies = self._seen, last
        return Batch(
            Fingerprints(history.original[originals], fingerprints(history.contents[originals])),
            originals_end,
            Fingerprints(history.copy[first:last], fingerprints(history.copied[first:last])),
            copies_end,
            self.now_ms,
        )

    def _stop(self) -> None:
        back = 1 if self._rng.random() < 0.5 else int(self._rng.integers(1, 6))
        state = self._states[max(len(self._states) - back, 0)]
        self._aligner = Aligner(state, self._settings, self.copies.frontier)
        self._read = int(self._history.original.searchsorted(state.reach.first_needed))
        self._copies = int(self._history.copy.searchsorted(state.frontier))

    def _take_in(self, found: Identities) -> None:
        self.decided.append(found)
        rows = to_runs(found.from_offset(self.copies.frontier), ORIGIN, self.copies_read)
        self.copies.extend(rows, self._aligner.state.frontier)
        offset = self._history.original[: self._seen]
        offset = offset[offset >= self.originals.frontier]
        one, seen_ms = np.ones(len(offset)), np.full(len(offset), self.copies_read)
        own = Runs.of(offset, one, np.full(len(offset), ORIGIN), offset, seen_ms).joined()
        self.originals.extend(own, int(offset[-1]) + 1 if len(offset) else 0)
