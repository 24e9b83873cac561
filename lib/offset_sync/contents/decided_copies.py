"""What was decided of copies, written down: rows of ``record_runs``, doubts, and where to go on from."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from offset_sync.contents.alignment.aligner import AlignerState
from offset_sync.contents.alignment.copy_follower import CopyFollower, Decision
from offset_sync.contents.alignment.reach import Reach
from offset_sync.contents.alignment.records import to_runs, unrecognised
from offset_sync.contents.known_logs import Kept, KeptAlignments
from offset_sync.ingest.batch_rows import record_runs
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.model.values import ClusterPartition
from offset_sync.tables.catalog import ALIGNED, AT_MOST, BEGINS, NOT_BEFORE, RECORD_RUNS
from offset_sync.tables.store import TableStore
from offset_sync.translate.index.bounds import at_most, not_before
from offset_sync.translate.index.runs import UNKNOWN_ORIGIN

logger = logging.getLogger(__name__)
_TIME = pa.timestamp("us", tz="UTC")
_ORIGIN = 0
_COVERAGE = -10


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
            if (word := known.follower.state.counts.verdict.value) != ALIGNED:
                self.say(log, known, word)
        rows = [decided_rows(log, known.origin.cluster, each) for log, (known, each) in decided.items()]
        if rows:
            self._tables.append(RECORD_RUNS, pa.concat_tables(rows))
        for log, (known, _) in decided.items():
            known.written = known.follower.state
            self._kept[log] = Kept(known.written, known.lives_ms)
            self.say(log, known, known.written.counts.verdict.value)

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


def decided_rows(log: ClusterPartition, origin: str, found: Decision) -> pa.Table:
    """Return the rows of one append for copies of *log*, whose originals the cluster *origin* has produced.

    They say coverage, runs, and where unrecognised originals may stand. All of them belong together: a row of runs
    without those of the others would let holes be read too early.
    """
    runs, places = to_runs(found.identities, _ORIGIN, 0), unrecognised(found.identities, _ORIGIN, 0)
    rows = runs.followed_by(places)
    start = np.concatenate(([found.begin, found.end], rows.start))
    length = np.concatenate(([0, 0], rows.length))
    of_origin = np.concatenate(([BEGINS, found.end], rows.origin_start))
    code = np.concatenate(([_COVERAGE, _COVERAGE], rows.origin))
    count = len(start)
    alias, topic, partition = log
    complete_until = datetime.fromtimestamp(found.complete_ms / 1000, timezone.utc) if found.complete_ms else None
    columns = {
        "cluster": pa.repeat(pa.scalar(alias), count),
        "topic": pa.repeat(pa.scalar(topic), count),
        "partition": pa.repeat(pa.scalar(partition, pa.int32()), count),
        "start_offset": pa.array(start),
        "length": pa.array(length),
        "origin": _texts(code, {_COVERAGE: alias, UNKNOWN_ORIGIN: ""}, origin),
        "origin_start": pa.array(of_origin),
        "indexed_at": pa.repeat(pa.scalar(found.at, _TIME), count),
        "complete_until": pa.array([complete_until, *[None] * (count - 1)], _TIME),
        "bound": _texts(code, {at_most(_ORIGIN): AT_MOST, not_before(_ORIGIN): NOT_BEFORE}, None),
    }
    return record_runs(columns, count)


def _texts(code: NDArray[np.int64], text_of: dict[int, str], other: str | None) -> pa.Array:
    texts, number = pa.array([*text_of.values(), other], pa.string()), np.full(len(code), len(text_of))
    for at, each in enumerate(text_of):
        number[code == each] = at
    return texts.take(pa.array(number))
