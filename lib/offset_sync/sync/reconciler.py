"""The pass that micro-batches and the reconcile loop share: compare desired offsets with the actual ones, repair.

Desired is t(latest genuine commit of the owner), actual what the target's coordinator holds. Nothing here depends on
how often or in which order it is called, so any step may be repeated, by any driver, at any time. So a direction that
takes long is left behind: what is not written yet stays due.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import wait

import numpy as np

from offset_sync.config import Config
from offset_sync.model.values import ABSENT, Outcome, State, WriteOutcome
from offset_sync.state import failpoints
from offset_sync.state.committed_offsets import OWN_TAG
from offset_sync.state.key_index import KeyRows
from offset_sync.state.snapshot import Commits, Snapshot
from offset_sync.state.sync_state import SyncState
from offset_sync.state.translator import Translator
from offset_sync.sync.direction_queue import DirectionQueue
from offset_sync.sync.due_rows import DueRows
from offset_sync.sync.reconciliation import (
    Fetcher,
    OffsetWriter,
    ReconcileRequest,
    Reconciliation,
    ReconciliationLog,
)
from offset_sync.sync.write_plan import Translated, WritePlan, plan_writes
from offset_sync.translate.partition import withhold_some

PATIENCE_S = 0.5
"""So long whoever goes on reading waits for a direction: longer than almost any takes while its clusters are well."""
_COMMITTED, _OWNER_UNKNOWN = int(Outcome.COMMITTED), int(State.OWNER_UNKNOWN)


class Reconciler:
    """Reconciles what *state* knows: *fetcher* asks the clusters, *writers* commit at each target, *history* is told.

    Threads may share it. Each direction has a thread of its own, which does one thing after the other: so an older
    answer never overtakes a newer one of the same direction. The lock of a target is held from where it is made sure
    that the source still owns what is answered until it is written: so neither does one of another source. Neither that
    lock nor the state's is held while clusters are asked for metadata.
    """

    def __init__(
        self,
        config: Config,
        state: SyncState,
        fetcher: Fetcher,
        writers: Mapping[str, OffsetWriter],
        history: ReconciliationLog,
    ) -> None:
        self._state = state
        self._translator = Translator(config, state)
        self._fetcher = fetcher
        self._writers = writers
        self._history = history
        self._pairs = config.pairs()
        self._sources = tuple(dict.fromkeys(source for source, _ in self._pairs))
        self._target_locks = {target: threading.Lock() for _, target in self._pairs}
        self._due = DueRows(config, state, self._translator)
        self._queues = {pair: self._queue(*pair) for pair in self._pairs}

    def reconcile_batch(self, source: str, rows: KeyRows, batch_id: int) -> list[str]:
        """Reconcile *rows* that *source* committed in a micro-batch, where it owns them; return a line per failure.

        A direction that takes long is left behind, and nobody waits for it again before it has caught up: its log lines
        come later, and what was brought meanwhile is reconciled in one go. A driver that dies before has it done by the
        first pass of the next one, which knows the commits from the history.
        """
        return self._reconcile(ReconcileRequest.batch(source, rows, batch_id), PATIENCE_S)

    def reconcile_keys(self, source: str, rows: KeyRows) -> list[str]:
        """Reconcile *rows* that *source* owns, whatever was answered before; return one line per failure."""
        return self._reconcile(ReconcileRequest.every((source,), rows))

    def reconcile_all(self, *, is_first: bool = False) -> list[str]:
        """Reconcile every key that is not settled; return one line per failure.

        *is_first*: nothing is taken as settled and every target is read, whatever we believe stands there.
        """
        rows = self._state.all_rows()
        request = ReconcileRequest.every if is_first else ReconcileRequest.unsettled
        return self._reconcile(request(self._sources, rows))

    def reconcile_waiting_for_index(self) -> list[str]:
        """Reconcile what waits for the index, where it has grown since the last call; return one line per failure.

        A direction that takes long is left behind.
        """
        self._state.index.refresh()
        grown = self._state.index.take_grown()
        with self._state.lock:
            rows = [self._state.keys.keys_in(partition) for partition in grown]
        if not rows:
            return []
        return self._reconcile(ReconcileRequest.waiting_for_index(self._sources, np.concatenate(rows)), PATIENCE_S)

    def close(self) -> None:
        """Begin nothing more of what waits, and return when what is under way has ended."""
        for queue in self._queues.values():
            queue.close()

    def _reconcile(self, request: ReconcileRequest, patience_s: float | None = None) -> list[str]:
        if len(request.rows) == 0:
            return []
        self._state.index.refresh()
        asked = []
        for (source, _), queue in self._queues.items():
            if source in request.sources:
                was_late = queue.is_late and patience_s is not None
                asked.append((queue, queue.submit(request.of(source)), was_late))
        done, _ = wait([answer for _, answer, was_late in asked if not was_late], patience_s)
        for queue, answer, _ in asked:
            if answer not in done:
                queue.leave(answer)
        return [line for _, answer, _ in asked if answer in done for line in answer.result()]

    def _queue(self, source: str, target: str) -> DirectionQueue:
        def reconcile(request: ReconcileRequest) -> list[str]:
            return self._reconcile_direction(source, target, request)

        return DirectionQueue(f"{source} to {target}", reconcile)

    def _reconcile_direction(self, source: str, target: str, request: ReconcileRequest) -> list[str]:
        due = self._due.before_asking(source, target, request)
        if due is None:
            return []
        asked_at_ms = self._state.now_ms()
        snapshot = Snapshot(self._fetcher.fetch([target, source], due.partitions), due.frontiers, asked_at_ms)
        with self._target_locks[target]:
            commits = self._due.after_asking(source, target, due.commits, snapshot, request)
            if len(commits.key) == 0:
                return []
            translated, plan = self._plan(source, target, commits, snapshot, request)
            failpoints.failpoint(failpoints.AFTER_TRANSLATING)
            outcomes = self._write(target, plan)
            reconciliation = self._apply(translated, plan, outcomes, snapshot, request)
            self._history.append(reconciliation)  # in the order in which targets were written
        return reconciliation.failures(self._state.offsets.keys)

    def _plan(
        self, source: str, target: str, commits: Commits, snapshot: Snapshot, request: ReconcileRequest
    ) -> tuple[Translated, WritePlan]:
        now_ms, last = self._state.now_ms(), self._state.last(source, target)
        asked = self._translator.ask(last, source, target, commits, snapshot, now_ms)
        self._translator.compute(asked)
        with self._state.lock:
            answered_at_ms = last.columns["source_at_ms"][commits.key]
            answers = self._translator.answers(asked)
            is_in_doubt = ~answers.is_withheld & ~self._state.may_count(source, target, commits)
            answers = withhold_some(answers, np.where(is_in_doubt, _OWNER_UNKNOWN, ABSENT))
            translated = Translated(source, target, commits, answers, answered_at_ms, now_ms)
            return translated, plan_writes(
                self._state.offsets,
                translated,
                refresh_before_ms=self._due.refresh_before_ms(),
                asks_everything=request.asks_everything,
            )

    def _write(self, target: str, plan: WritePlan) -> Sequence[WriteOutcome]:
        if not plan.writes:
            return ()
        outcomes = self._writers[target].write(plan.writes)
        failpoints.failpoint(failpoints.AFTER_COMMIT)
        return outcomes

    def _apply(
        self,
        translated: Translated,
        plan: WritePlan,
        outcomes: Sequence[WriteOutcome],
        snapshot: Snapshot,
        request: ReconcileRequest,
    ) -> Reconciliation:
        """Take in what became of the writes; return what the history has to say."""
        state, key, commits = self._state, translated.commits.key, translated.commits
        topics = [state.offsets.keys[row].topic for row in key.tolist()]
        error = dict(snapshot.refusals(translated.source, translated.target, topics))
        previous, outcome = plan.previous.copy(), plan.outcome.copy()
        outcome[list(error)] = Outcome.FAILED
        is_tagged = np.ones(len(key), np.bool_)
        for row, write, found in zip(plan.rows.tolist(), plan.writes, outcomes, strict=True):
            outcome[row], is_tagged[row] = found.outcome, write.metadata == OWN_TAG
            previous[row] = ABSENT if found.previous_offset is None else found.previous_offset
            if found.error:
                error[row] = found.error
        with state.lock:
            is_committed = outcome == _COMMITTED
            wanted = translated.answers.wanted[is_committed]
            tagged = is_tagged[is_committed]
            state.offsets.clusters[translated.target].acknowledge(key[is_committed], wanted, state.now_ms(), tagged)
            last = state.last(translated.source, translated.target)
            is_news = last.note(key, commits.offset, commits.at_ms, translated.answers, outcome)
        return Reconciliation(translated, plan, request.batch_id, state.now_ms(), previous, outcome, error, is_news)
