"""The reconcile pass of one direction, shared by micro-batches and the reconcile loop.

It compares desired with actual offsets and writes the differences. Desired is t(position at home), actual what the
target's coordinator holds. It is idempotent and independent of order, so any driver may repeat any step at any time.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from offset_sync.config import Config
from offset_sync.config.duration import to_ms
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ABSENT, OffsetWrite, Outcome, State, WriteOutcome
from offset_sync.state import failpoints
from offset_sync.state.cluster_metadata import Fetcher, Snapshot
from offset_sync.state.key_index import KeyRows
from offset_sync.state.sync_state import Commits, SyncState, frontiers
from offset_sync.state.translator import Pair, Translator
from offset_sync.sync.crossings import Crossing
from offset_sync.sync.direction_queue import Pace, ReconcileRequest, Selection, Turn
from offset_sync.sync.read_lists import REPLACED, ReadLists
from offset_sync.sync.reconciled import OffsetWriter, Reconciliation, ReconciliationLog
from offset_sync.sync.write_plan import Translated, WritePlan, plan_writes, refresh_due
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.partition import Translations, withhold, withhold_some
from offset_sync.translate.read_list import ListText

_FAILED, _GONE = int(Outcome.FAILED), int(Outcome.GONE)
_ANSWER = ("source_offset", "source_at_ms", "wanted", "state")
_PARTIAL = (Selection.CHANGED, Selection.WAITING, Selection.DUE)
_OWNER_UNKNOWN, _COMMITTED_AT_BOTH = int(State.OWNER_UNKNOWN), int(State.COMMITTED_AT_BOTH)


class ReconcilePass:
    """Reconciles one direction at a time: *fetcher* queries the clusters, *writers* commit at each target.

    Directions may run in parallel. The lock of a target is held from checking that the source still owns the keys until
    they are written: so no answer overtakes a newer one of another source. Neither that lock nor the state's is held
    while cluster metadata is fetched, or between the turns that the limit of a target's commits makes of a pass.
    *history* records the outcomes. *lists* are written beside the answers. Full passes alone name a silent target.
    """

    def __init__(
        self,
        config: Config,
        state: SyncState,
        fetcher: Fetcher,
        writers: Mapping[str, OffsetWriter],
        history: ReconciliationLog,
        lists: ReadLists,
    ) -> None:
        self.state, self.pairs = state, config.pairs()
        self._state, self._lists = state, lists
        self._translator = Translator(config, state)
        self._fetcher = fetcher
        self._writers = writers
        self._history = history
        self._target_locks = {target: threading.Lock() for _, target in self.pairs}
        self._paces = {target: Pace(config.sync.max_commits_per_second) for target in self._target_locks}
        self._sources = {source for source, _ in self.pairs}
        self._refresh_ms = to_ms(config.sync.refresh_interval)

    def reconcile(self, source: str, target: str, request: ReconcileRequest) -> Turn:
        """Carry out *request* for the direction from *source* to *target*, as far as one turn goes."""
        rows, later = self._rows(source, target, request)
        if request.selection not in _PARTIAL:  # a broker may be silent
            if request.selection is not Selection.DECIDED:
                self._tell_gone(source, target, request.rows[~self._state.counts(source, request.rows)])
            self._lists.take_others_away(target, partial(self._send, target))
            if target not in self._sources:
                self._take_lists_away_at(target)
        if len(rows) == 0:
            return Turn([])
        commits, snapshot = self._ask(source, target, rows)
        with self._target_locks[target]:
            due = self._still_due(source, target, commits, snapshot, request)
            commits = due.take(slice(self._paces[target].turn))
            rest = request.rest(np.concatenate([due.key[len(commits.key) :], later]))
            if len(commits.key) == 0:
                return Turn([], rest)
            translated, plan, crossings = self._plan(source, target, commits, snapshot, request)
            failpoints.failpoint(failpoints.AFTER_TRANSLATING)
            waiting, skipped = self._write_lists(translated, plan, crossings)
            plan = plan.without(waiting)
            outcomes = self._write(translated, plan)
            topics = [self._state.offsets.keys[row].topic for row in commits.key.tolist()]
            errors = {**waiting, **snapshot.refusals(source, target, topics)}
            done = self._apply(translated, plan, outcomes, errors, skipped, request.batch_id)
            self._history.append(done)  # in the order in which targets were written
        self._take_lists_away(source, commits)
        is_said = request.selection in _PARTIAL and isinstance(snapshot.metadata[target], ClusterError)
        return Turn([] if is_said else done.failures(self._state.offsets.keys), rest)

    def _rows(self, source: str, target: str, request: ReconcileRequest) -> tuple[KeyRows, KeyRows]:
        """Return the rows for this turn, and those for later ones; what is settled shows once all are looked at."""
        state, turn = self._state, self._paces[target].turn
        with state.lock:
            rows = request.rows[state.counts(source, request.rows)]
            if request.selection is Selection.WAITING:
                rows = rows[state.last(source, target).is_waiting(rows)]
            end = len(rows) if turn is None or request.selection is Selection.UNSETTLED else turn
            return state.keys.by_partition(np.unique(rows[:end])), rows[end:]

    def pause_s(self, target: str) -> float:
        """Return how many seconds from now the next turn of a pass to *target* may begin."""
        return self._paces[target].pause_s()

    def writing_to(self, target: str) -> AbstractContextManager[object]:
        """Return the lock that is held while offsets are written to *target*."""
        return self._target_locks.get(target, nullcontext())

    def _ask(self, source: str, target: str, rows: KeyRows) -> tuple[Commits, Snapshot]:
        """Return the commits of *rows*, and cluster metadata fetched after they were taken."""
        state = self._state
        with state.lock:
            partitions = set(state.keys.partitions_of(rows))
            known_to, commits = frontiers(state.index, [target, source], partitions), state.commits(source, rows)
        asked_at_ms = state.now_ms()
        snapshot = Snapshot(self._fetcher.fetch([target, source], partitions), known_to, asked_at_ms)
        self._lists.learn((source, target), commits.key)
        return commits, snapshot

    def look(
        self, source: str, target: str, rows: KeyRows
    ) -> tuple[Translated, Mapping[int, Crossing], Mapping[int, ListText]]:
        """Return the answers to *rows*, at least one, all the source's, and by row their lists; writes nothing."""
        commits, snapshot = self._ask(source, target, rows)
        request = ReconcileRequest(Selection.DECIDED, rows)
        translated, _, crossings = self._plan(source, target, commits, snapshot, request)
        with self._state.lock:
            return translated, crossings, self._lists.texts(translated, crossings)

    def _still_due(
        self, source: str, target: str, commits: Commits, snapshot: Snapshot, request: ReconcileRequest
    ) -> Commits:
        """Return those of *commits* that still count, and in the regular pass only those that are not settled.

        While metadata was fetched, a group may have committed again, or been reset at the target. Such a row is stale
        and left out: the thread that records the new commit reconciles it. The regular pass leaves
        out what cannot have changed.
        """
        state = self._state
        with state.lock:
            counts = state.counts(source, commits.key)
            is_kept = state.is_kept(source, target, commits, snapshot)
            if request.selection is not Selection.DECIDED:
                self._tell_gone(source, target, commits.key[counts & ~is_kept])
            now = state.commits(source, commits.key)
            chosen = counts & is_kept & (now.offset == commits.offset) & (now.at_ms == commits.at_ms)
            if request.selection in (Selection.UNSETTLED, Selection.EVERY, Selection.DECIDED):
                self._unsettle_changed(source, target, commits.key, snapshot)
            if request.selection is Selection.UNSETTLED:
                chosen &= ~self._is_settled(source, target, commits)
            return commits.take(chosen)

    def _tell_gone(self, source: str, target: str, rows: KeyRows) -> None:
        """Tell the history once of *rows* that were answered, and do not count at *source* any more."""
        state = self._state
        with state.lock:
            last = state.last(source, target)
            gone = rows[last.note_gone(rows)]
            if len(gone) == 0:
                return
            columns, now_ms = {name: last.columns[name][gone] for name in _ANSWER}, state.now_ms()
            (members, contest) = state.shown(gone).values()
        commits = Commits(gone, columns["source_offset"], columns["source_at_ms"])
        answers = replace(withhold(columns["state"], len(gone)), wanted=columns["wanted"])
        translated = Translated(source, target, commits, answers, commits.offset, now_ms)
        none, outcome = np.full(len(gone), ABSENT, np.int64), np.full(len(gone), _GONE)
        plan = WritePlan([], np.empty(0, np.intp), answers.state, none, outcome)
        done = Reconciliation(
            translated, plan, None, now_ms, none, none, outcome, {}, outcome == _GONE, members, contest
        )
        self._history.append(done)

    def _refresh_before_ms(self) -> int:
        """Return the time before which our own values are due for a refresh."""
        return self._state.now_ms() - self._refresh_ms

    def _unsettle_changed(self, source: str, target: str, rows: KeyRows, snapshot: Snapshot) -> None:
        """Mark answers as unsettled where their logs have changed.

        The target's log start may have passed an answer, a record may have come late, a topic may have been recreated:
        neither the commits nor the target's coordinator show that.
        """
        last, keys = self._state.last(source, target), self._state.keys
        pair = Pair(last, source, target, snapshot, self._state.now_ms())
        for partition in keys.partitions_of(rows):
            try:
                outlook = self._translator.outlook(pair, partition)
            except Exception as problem:  # of this partition only: asked again, it is withheld
                self._translator.log_once(pair, partition, problem)
                last.unsettle(keys.keys_in(partition))
                continue
            if outlook is not None and last.outlooks.get(partition) != outlook:
                last.outlooks[partition] = outlook
                last.unsettle(keys.keys_in(partition))

    def _is_settled(self, source: str, target: str, commits: Commits) -> NDArray[np.bool_]:
        last, there = self._state.last(source, target), self._state.offsets.clusters[target]
        is_settled = last.is_settled(commits.key, commits.offset, commits.at_ms)
        is_settled &= there.columns["actual_offset"][commits.key] == last.columns["wanted"][commits.key]
        is_settled &= ~self._state.homes_of(commits.key).is_contested & ~there.has_moved(commits.key)
        is_settled &= last.columns["members"][commits.key] == self._state.homes.members(commits.key)  # to publish them
        is_settled &= ~self._lists.has_named(commits.key)  # their list depends on more than the answer
        return is_settled & ~refresh_due(there.columns, commits.key, self._refresh_before_ms())

    def _plan(
        self, source: str, target: str, commits: Commits, snapshot: Snapshot, request: ReconcileRequest
    ) -> tuple[Translated, WritePlan, Mapping[int, Crossing]]:
        now_ms, last = self._state.now_ms(), self._state.last(source, target)
        pair = Pair(last, source, target, snapshot, now_ms)
        crossings = self._lists.crossings(self._translator, pair, commits.key)
        asked = self._translator.ask(pair, commits)
        self._translator.compute(asked)
        crossings.find(asked)
        with self._state.lock:
            answered_offset = last.columns["source_offset"][commits.key]
            answers = self._translator.answers(asked)
            answers = withhold_some(answers, self._reasons(source, target, commits, answers))
            translated = Translated(source, target, commits, answers, answered_offset, now_ms)
            plan = plan_writes(
                self._state.offsets,
                translated,
                epoch=self._epochs(target, commits, answers, snapshot),
                refresh_before_ms=self._refresh_before_ms(),
                asks_everything=request.selection in (Selection.EVERY, Selection.DECIDED),
                is_decided=request.selection is Selection.DECIDED,
            )
            return translated, plan, crossings.by_row(asked)

    def _write_lists(
        self, translated: Translated, plan: WritePlan, crossings: Mapping[int, Crossing]
    ) -> tuple[Mapping[int, str], Mapping[int, int]]:
        """Write the lists before the answers; return the rows whose answer must not be written, and why.

        Also return how many records are on each list. Rows with read records not replicated to the target yet are
        looked at again when the index has grown.
        """
        lists, key, target = self._lists, translated.commits.key, translated.target
        if not lists.has_named(key).any():
            return {}, {}
        with self._state.lock:
            texts = lists.texts(translated, crossings)
            planned = lists.writes(translated, texts, self._refresh_before_ms())
        same, replaced = lists.believed(target, {int(key[row]): write for row, write in planned.items()})
        writes = {row: write for row, write in planned.items() if int(key[row]) in same}
        done = self._send(target, [*writes.values()]) if writes else ()
        waiting = lists.in_the_way(translated, plan, crossings, writes, done)
        waiting |= {row: REPLACED for row in planned if int(key[row]) in replaced}
        lists.note(target, {int(key[row]): write for row, write in writes.items()}, done)
        failpoints.failpoint(failpoints.AFTER_LISTS)
        is_crossing = np.zeros(len(key), np.bool_)
        is_crossing[[row for row, each in crossings.items() if each.pending]] = True
        with self._state.lock:
            self._state.last(translated.source, target).columns["is_crossing"][key] = is_crossing
        return waiting, {row: each.records for row, each in texts.items()}

    def _take_lists_away_at(self, alias: str) -> None:
        """Remove lists at a cluster that is no direction's source, for the groups at home there."""
        with self._state.lock:
            commits = self._state.commits(alias, self._state.rows_of(alias, self._state.all_rows()))
        self._lists.learn((alias,), commits.key)
        self._take_lists_away(alias, commits)

    def _take_lists_away(self, source: str, commits: Commits) -> None:
        """Remove lists at the home of groups that have passed them, or have gone back since."""
        commits = commits.take(self._lists.has_named(commits.key))
        if len(commits.key) == 0 or source not in self._target_locks or source not in self._writers:
            return
        with self._target_locks[source]:
            with self._state.lock:
                still = commits.take(self._state.counts(source, commits.key))
                writes = self._lists.passed(source, still.key, still.offset.tolist())
            same, _ = self._lists.believed(source, writes)
            writes = {one: write for one, write in writes.items() if one in same}
            if writes:
                done = self._send(source, [*writes.values()])
                self._lists.note(source, writes, done)

    def _reasons(self, source: str, target: str, commits: Commits, answers: Translations) -> NDArray[np.intp]:
        """Return, per commit, the code of the reason why its group is withheld, ABSENT for none."""
        is_in_doubt = ~answers.is_withheld & ~self._state.may_count(source, target, commits)
        reasons = np.where(is_in_doubt, _OWNER_UNKNOWN, ABSENT)
        return np.where(self._state.homes_of(commits.key).is_contested, _COMMITTED_AT_BOTH, reasons)

    def _epochs(self, target: str, commits: Commits, answers: Translations, snapshot: Snapshot) -> Int64s:
        """Return the leader epoch under which the target's log was seen to reach each answer, ABSENT for unknown.

        A consumer that starts there validates it against the log (KIP-320), and so detects a truncation itself. For a
        key without an answer, which may be refreshed, it is that of the target's offset.
        """
        actual = self._state.offsets.clusters[target].columns["actual_offset"][commits.key]
        offset = np.where(answers.wanted >= 0, answers.wanted, actual)
        epoch, said = np.full(len(commits.key), ABSENT, np.int64), snapshot.metadata[target]
        if isinstance(said, ClusterError):
            return epoch
        for partition, rows in self._state.keys.slices(commits.key):
            ends = said.ends.get(partition)
            if ends is not None and ends.leader_epoch is not None:
                is_reached = offset[rows] <= ends.log_end
                epoch[rows] = np.where(is_reached, ends.leader_epoch, ABSENT)
        return epoch

    def _write(self, translated: Translated, plan: WritePlan) -> Sequence[WriteOutcome]:
        """Commit; each write is noted before it is sent, as its record may be read before the broker answers.

        Writes without an answer may have been applied; those refused or not sent were not. None is sent that cannot be
        stored, as the next driver would not know it.
        """
        if not plan.writes:
            return ()
        key = translated.commits.key[plan.rows]
        offset = np.array([write.offset for write in plan.writes], np.int64)
        own_writes = self._state.offsets.clusters[translated.target].own_writes
        with self._state.lock:
            own_writes.begin(key, offset, self._state.now_ms())
        try:
            self._state.before_write(translated.target)
        except OSError as problem:
            with self._state.lock:
                own_writes.abort(key, offset)
            error = f"not sent, as it cannot be stored: {problem}"
            keys = ((each.group_id, each.topic, each.partition) for each in plan.writes)
            return [WriteOutcome(*each, Outcome.FAILED, None, error) for each in keys]
        try:
            outcomes = self._send(translated.target, plan.writes)
        except BaseException:
            with self._state.lock:
                own_writes.doubt(key, offset, self._state.now_ms())
            raise
        failpoints.failpoint(failpoints.AFTER_COMMIT)
        is_in_doubt = np.array([each.is_in_doubt for each in outcomes], np.bool_)
        is_over = ~is_in_doubt & np.array([each.outcome is not Outcome.COMMITTED for each in outcomes], np.bool_)
        with self._state.lock:
            own_writes.abort(key[is_over], offset[is_over])
            own_writes.doubt(key[is_in_doubt], offset[is_in_doubt], self._state.now_ms())
            is_done = ~is_over & ~is_in_doubt
            own_writes.note_answered(key[is_done], offset[is_done], self._state.now_ms())
        if is_over.any():
            with suppress(OSError):  # the next wave notes it
                self._state.before_write(translated.target)
        return outcomes

    def _send(self, target: str, writes: Sequence[OffsetWrite]) -> Sequence[WriteOutcome]:
        outcomes = self._writers[target].write(writes)
        self._paces[target].note(sum(each.outcome is Outcome.COMMITTED or each.is_in_doubt for each in outcomes))
        return outcomes

    def _apply(
        self,
        translated: Translated,
        plan: WritePlan,
        outcomes: Sequence[WriteOutcome],
        errors: Mapping[int, str],
        skipped: Mapping[int, int],
        batch_id: int | None,
    ) -> Reconciliation:
        """Record the outcomes of the writes; return the rows for the history. Rows with *errors* were not sent."""
        state, key, commits, error = self._state, translated.commits.key, translated.commits, {**errors}
        previous, outcome = plan.previous.copy(), plan.outcome.copy()
        written = np.full(len(key), ABSENT, np.int64)
        outcome[list(error)] = Outcome.FAILED
        for row, write, found in zip(plan.rows.tolist(), plan.writes, outcomes, strict=True):
            outcome[row] = found.outcome
            written[row] = write.offset if found.outcome is Outcome.COMMITTED else ABSENT
            previous[row] = ABSENT if found.previous_offset is None else found.previous_offset
            if found.error:
                error[row] = found.error
        with state.lock:
            is_written = written != ABSENT
            there = state.offsets.clusters[translated.target]
            there.acknowledge(key[is_written], written[is_written], state.now_ms())
            last = state.last(translated.source, translated.target)
            listed, shown = np.zeros(len(key), np.int64), state.shown(key)
            listed[list(skipped)] = list(skipped.values())
            answers = translated.answers
            is_news = last.note(key, commits.offset, commits.at_ms, answers, outcome, listed=listed, **shown)
        done = (previous, written, outcome, error, is_news, shown["members"], shown["contest"], skipped)
        return Reconciliation(translated, plan, batch_id, state.now_ms(), *done)
