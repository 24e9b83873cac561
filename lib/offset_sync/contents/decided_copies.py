"""What was decided of copies, written down: rows of ``record_runs``, doubts, and where to go on from."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone

import pyarrow as pa

from offset_sync.contents.alignment.aligner import AlignerState
from offset_sync.contents.alignment.copy_follower import CopyFollower, Decision
from offset_sync.contents.alignment.reach import Reach, Verdict
from offset_sync.contents.fingerprint_rows import Decided, fingerprint_rows
from offset_sync.contents.kept_alignments import Kept, KeptAlignments
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.model.values import ClusterPartition
from offset_sync.tables.catalog import ALIGNED, RECORD_RUNS
from offset_sync.tables.store import TableStore

logger = logging.getLogger(__name__)


@dataclass
class Followed:
    """A log of copies that is being aligned, and the one of its originals, which begins at *log_start* now.

    *lives_ms* is when the last life was noticed that it is aligned by, *word* what was written down of it last.
    *written* is the state whose decisions are in the table.
    """

    follower: CopyFollower
    origin: ClusterPartition
    lives_ms: int
    word: str
    log_start: int = 0
    written: AlignerState = field(init=False)

    def __post_init__(self) -> None:
        self.written = self.follower.state


class DecidedCopies:
    """Writes into *tables*, and at times into the *file* that says where to go on from."""

    def __init__(self, tables: TableStore, file: KeptAlignments, incarnations: IncarnationCheck) -> None:
        self._tables, self._file, self._incarnations = tables, file, incarnations
        self._kept: dict[ClusterPartition, Kept] = {}

    def read(self) -> None:
        """Find what was kept."""
        self._kept = self._file.read()

    @property
    def logs(self) -> set[ClusterPartition]:
        """The logs of copies of which something is kept."""
        return {*self._kept}

    def kept(self, log: ClusterPartition, lives_ms: int) -> Kept | None:
        """Return where *log* was before; None where that is of an earlier life than of *lives_ms*, or not known."""
        found = self._kept.get(log)
        return found if found is not None and found.lives_ms == lives_ms else None

    def write(self, decided: Mapping[ClusterPartition, tuple[Followed, Decision]]) -> None:
        """Write down what was *decided*, at once; doubts before that, for what such a log has is not to be used."""
        for log, (known, _) in decided.items():
            if (word := _word(known.follower)) != ALIGNED:
                self.say(log, known, word)
        rows = [_rows(log, known, each) for log, (known, each) in decided.items()]
        if rows:
            self._tables.append(RECORD_RUNS, pa.concat_tables(rows))
        for log, (known, _) in decided.items():
            known.written = known.follower.state
            self._kept[log] = Kept(known.written, known.lives_ms)
            self.say(log, known, _word(known.follower))

    def say(self, log: ClusterPartition, known: Followed, word: str) -> None:
        """Write down a *word* of ``catalog.DOUBTS`` of *log*, unless it is the last one."""
        if word != known.word:
            self._incarnations.note_doubt(log, known.written.frontier, word)
            (logger.info if word == ALIGNED else logger.error)("clusters.%s: %s-%d: told by contents: %s", *log, word)
            known.word = word

    def begin_anew(self, log: ClusterPartition, known: Followed) -> None:
        """Keep of *log* how many of its copies were what, and that all its originals are needed, from now on.

        The mirror is looked for anew, but what it has altered does not count for less by that.
        """
        anew = AlignerState(known.written.frontier, Reach(known.log_start), counts=known.written.counts)
        self._kept[log] = Kept(anew, known.lives_ms)
        self.save()

    def save(self) -> None:
        """Keep where to go on from with the next start."""
        self._file.write(self._kept)


def _rows(log: ClusterPartition, known: Followed, each: Decision) -> pa.Table:
    complete = datetime.fromtimestamp(each.complete_ms / 1000, timezone.utc) if each.complete_ms else None
    decided = Decided(log, known.origin.cluster, each.begin, each.end, each.identities, complete)
    return fingerprint_rows(decided, each.at)


def _word(follower: CopyFollower) -> str:
    verdict = follower.state.counts.verdict
    return ALIGNED if verdict is Verdict.ALIGNED else verdict.value
