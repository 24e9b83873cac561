"""What is asked of a reconcile pass and what came of it, the queue of each direction, and who commits and remembers."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.errors import TakenOverError
from offset_sync.model.values import GroupPartition, OffsetWrite, Outcome, TopicPartition, WriteOutcome
from offset_sync.state.cluster_metadata import MetadataByCluster
from offset_sync.state.key_index import KeyRows
from offset_sync.sync.write_plan import Translated, WritePlan
from offset_sync.translate.index.runs import Int64s

logger = logging.getLogger(__name__)
_FAILED = int(Outcome.FAILED)
Answer = Future[list[str]]
"""One line per failure."""


class Selection(Enum):
    """Which of the rows asked for are reconciled."""

    EVERY = auto()  # whatever was answered before, and every target is read
    DECIDED = auto()  # the same, by a person: the target is set to the answer, whoever has written what it holds
    CHANGED = auto()  # as they come: a micro-batch has brought them
    UNSETTLED = auto()  # those whose answer something may have changed
    WAITING = auto()  # those whose answer the index held back


@dataclass(frozen=True)
class ReconcileRequest:
    """Reconcile *selection* of *rows* where the source of the direction owns them; *batch_id*: of a micro-batch."""

    selection: Selection
    rows: KeyRows
    batch_id: int | None = None

    def joined(self, later: ReconcileRequest) -> ReconcileRequest:
        """Return one request for both, which are of the same kind; what comes of it counts as the later one's."""
        return replace(later, rows=np.union1d(self.rows, later.rows))


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


class DirectionQueue:
    """What is asked of one direction, from one source to one target: one thing after the other, in a thread of its own.

    So a silent cluster keeps only its own directions waiting. What comes meanwhile is joined: the state says what is
    wanted by then, so one pass does for all of them, and no more than one request of a kind ever waits. *reconcile* is
    called with one request at a time; threads may share the queue. *name* is that of its thread.
    """

    def __init__(self, name: str, reconcile: Callable[[ReconcileRequest], list[str]]) -> None:
        self._name, self._reconcile = name, reconcile
        self._changed = threading.Condition()
        self._waiting: dict[Selection, tuple[ReconcileRequest, Answer]] = {}
        self._is_working = self._is_late = False
        self._left: set[Answer] = set()

    @property
    def is_late(self) -> bool:
        """True from when somebody has given up waiting until nothing is left to do."""
        with self._changed:
            return self._is_late

    def submit(self, request: ReconcileRequest) -> Answer:
        """Have *request* done after what is under way, together with what waits and is of its kind."""
        with self._changed:
            waiting, answer = self._waiting.get(request.selection, (None, Answer()))
            self._waiting[request.selection] = (waiting.joined(request) if waiting else request), answer
            begins, self._is_working = not self._is_working, True
        if begins:
            threading.Thread(target=self._work, name=self._name, daemon=True).start()
        return answer

    def leave(self, answer: Answer) -> None:
        """Wait no longer for *answer*: the log is told what comes of it, and the next pass makes up for it."""
        with self._changed:
            self._is_late = self._is_working
            if answer in self._left:
                return
            self._left.add(answer)
        answer.add_done_callback(self._tell)

    def close(self) -> None:
        """Drop what waits, and return when what is under way has ended; the next driver finds what is left."""
        with self._changed:
            self._waiting.clear()
            self._changed.wait_for(lambda: not self._is_working)

    def _work(self) -> None:
        while (request := self._next()) is not None:
            wanted, answer = request
            try:
                answer.set_result(self._reconcile(wanted))
            except BaseException as problem:
                answer.set_exception(problem)

    def _next(self) -> tuple[ReconcileRequest, Answer] | None:
        with self._changed:
            if self._waiting:
                return self._waiting.pop(next(iter(self._waiting)))
            self._is_working = self._is_late = False
            self._changed.notify_all()
            return None

    def _tell(self, answer: Answer) -> None:
        with self._changed:
            self._left.discard(answer)
        problem = answer.exception()
        if problem is None:
            for line in answer.result():
                logger.warning("%s", line)
        elif not isinstance(problem, TakenOverError):  # the job is stopping then, and says why
            logger.error("%s: not reconciled, tried again by the next pass", self._name, exc_info=problem)


class Fetcher(Protocol):
    """Who asks the clusters, see :class:`offset_sync.state.cluster_metadata.MetadataFetcher`."""

    def fetch(self, aliases: Collection[str], partitions: Collection[TopicPartition]) -> MetadataByCluster:
        """Return what each cluster says of *partitions*, or why it said nothing."""


class OffsetWriter(Protocol):
    """Commits at one target, see :class:`offset_sync.sync.offset_writer.TargetWriter`."""

    def write(self, writes: Sequence[OffsetWrite]) -> Sequence[WriteOutcome]:
        """Return one outcome per write, in order; none raises and none is left out."""


class ReconciliationLog(Protocol):
    """Who is told what became of translations, see ``sync.translation_history``."""

    def append(self, reconciliation: Reconciliation) -> None:
        """Take it in; must not wait for a table."""
