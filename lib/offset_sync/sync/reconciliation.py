"""What is asked of a reconcile pass and what came of it, and who commits and remembers for it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import GroupPartition, OffsetWrite, Outcome, TopicPartition, WriteOutcome
from offset_sync.state.key_index import KeyRows
from offset_sync.state.snapshot import MetadataByCluster
from offset_sync.sync.write_plan import Translated, WritePlan
from offset_sync.translate.index.runs import Int64s

_FAILED = int(Outcome.FAILED)


class Selection(Enum):
    """Which of the rows asked for are reconciled."""

    EVERY = auto()  # whatever was answered before, and every target is read
    DECIDED = auto()  # the same, by a person: the target is set to the answer, whoever has written what it holds
    CHANGED = auto()  # as they come: a micro-batch has brought them
    UNSETTLED = auto()  # those whose answer something may have changed
    WAITING = auto()  # those whose answer the index held back


@dataclass(frozen=True)
class ReconcileRequest:
    """Reconcile *selection* of *rows* where one of *sources* owns them; *batch_id* is that of a micro-batch."""

    selection: Selection
    rows: KeyRows
    sources: Collection[str]
    batch_id: int | None = None

    @classmethod
    def batch(cls, source: str, rows: KeyRows, batch_id: int) -> ReconcileRequest:
        """Return the request of a micro-batch in which *source* committed *rows*."""
        return cls(Selection.CHANGED, rows, (source,), batch_id)

    @classmethod
    def every(cls, sources: Collection[str], rows: KeyRows) -> ReconcileRequest:
        """Return the request to look at *rows* anew, settled or not, as a driver does that has just started."""
        return cls(Selection.EVERY, rows, sources)

    @classmethod
    def decided(cls, source: str, rows: KeyRows) -> ReconcileRequest:
        """Return the request of a person who moves *rows* from *source*."""
        return cls(Selection.DECIDED, rows, (source,))

    @classmethod
    def unsettled(cls, sources: Collection[str], rows: KeyRows) -> ReconcileRequest:
        """Return the request of the regular pass."""
        return cls(Selection.UNSETTLED, rows, sources)

    @classmethod
    def waiting_for_index(cls, sources: Collection[str], rows: KeyRows) -> ReconcileRequest:
        """Return the request of the pass that follows the growing index."""
        return cls(Selection.WAITING, rows, sources)

    def of(self, source: str) -> ReconcileRequest:
        """Return the part of it that concerns what *source* owns."""
        return replace(self, sources=(source,))

    def joined(self, later: ReconcileRequest) -> ReconcileRequest:
        """Return one request for both, which are of the same kind; what comes of it counts as the later one's."""
        return replace(later, rows=np.union1d(self.rows, later.rows))

    @property
    def asks_everything(self) -> bool:
        """True where every target is read, whatever we believe it holds."""
        return self.selection in (Selection.EVERY, Selection.DECIDED)


@dataclass(frozen=True)
class Reconciliation:
    """Translations from one source to one target and what became of them, a row per key; see offset_translations.

    *previous* is what the target held before, ABSENT for nothing, *written* what it has acknowledged, ABSENT where
    nothing was written; *error* has the rows that could not be done.
    """

    translated: Translated
    plan: WritePlan
    batch_id: int | None
    committed_at_ms: int
    previous: Int64s
    written: Int64s
    outcome: NDArray[np.intp]
    error: Mapping[int, str]
    is_news: NDArray[np.bool_]

    def failures(self, keys: Sequence[GroupPartition]) -> list[str]:
        """Return one line per distinct reason why something could not be done; *keys* are those of the state."""
        by_reason: dict[str, list[int]] = {}
        for row in np.flatnonzero(self.outcome == _FAILED).tolist():
            by_reason.setdefault(self.error.get(row, "no reason given"), []).append(row)
        moved, key = self.translated, self.translated.commits.key
        return [
            f"{moved.source} to {moved.target}: {len(rows)} offsets not committed, "
            f"first {'/'.join(map(str, keys[int(key[rows[0]])]))}: {reason}"
            for reason, rows in by_reason.items()
        ]


class Fetcher(Protocol):
    """Who asks the clusters, see :class:`offset_sync.state.cluster_metadata.MetadataFetcher`."""

    def fetch(self, aliases: Collection[str], partitions: Collection[TopicPartition]) -> MetadataByCluster:
        """Return what each cluster says of *partitions*, or why it said nothing."""


class OffsetWriter(Protocol):
    """Commits at one target: TargetWriter does, DistributedWriter by tasks."""

    def write(self, writes: Sequence[OffsetWrite]) -> Sequence[WriteOutcome]:
        """Return one outcome per write, in order; none raises and none is left out."""


class ReconciliationLog(Protocol):
    """Who is told what became of translations, see ``sync.translation_history``."""

    def append(self, reconciliation: Reconciliation) -> None:
        """Take it in; must not wait for a table."""
