"""The one pass that micro-batches and reconciling share: compare the desired offsets with the actual ones, repair.

Desired is t(latest genuine commit of the owner), actual what the target's coordinator holds. Nothing here depends on
how often or in which order it is called, so any step may be repeated, by any driver, at any time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from offset_sync.config import Config
from offset_sync.model.values import OffsetWrite, Outcome, TopicPartition, WriteOutcome
from offset_sync.state.committed_offsets import CommittedOffsets
from offset_sync.state.key_index import KeyIndex, KeyRows
from offset_sync.state.last_translations import LastTranslations
from offset_sync.state.snapshot import Commits, Index, MetadataByCluster, Snapshot
from offset_sync.state.translator import Translator, owned_keys, to_commits
from offset_sync.sync.reconciliation import ReconcileRequest, Reconciliation
from offset_sync.sync.write_plan import plan_writes, refresh_due

LookAt = Callable[[Collection[str], Collection[TopicPartition]], MetadataByCluster]
CommitWrites = Callable[[str, Sequence[OffsetWrite]], Sequence[WriteOutcome]]
"""Commits at the target named; one outcome per write, in order."""


class Reconciler:
    """Settles keys of *book*; *record* takes what the history has to say.

    Threads may share it; *lock* guards the book and the index, and is never held while a cluster is asked.
    """

    def __init__(
        self,
        config: Config,
        book: CommittedOffsets,
        index: Index,
        look: LookAt,
        commit: CommitWrites,
        record: Callable[[Reconciliation], None],
        now_ms: Callable[[], int],
        lock: threading.RLock,
    ) -> None:
        self._config = config
        self._book = book
        self._places = KeyIndex(book, config.is_group_included, lambda topic: config.strategy_of(topic) != "off")
        self._index = index
        self._translator = Translator(config, book, self._places, index)
        self._look = look
        self._commit = commit
        self._record = record
        self._now_ms = now_ms
        self._pairs = {pair: LastTranslations() for pair in config.pairs()}
        self._target_locks = {target: threading.Lock() for _, target in config.pairs()}
        self._lock = lock

    def pairs(self) -> list[tuple[str, str]]:
        """Return every (source, target) that is synced."""
        return list(self._pairs)

    def pair(self, source: str, target: str) -> LastTranslations:
        """Return what was last answered from *source* to *target*."""
        return self._pairs[source, target]

    def owned(self) -> Iterator[tuple[str, str, KeyRows]]:
        """Yield every pair with the keys that count for it: those that its source owns. The caller holds the lock."""
        for target in self._target_locks:
            every: KeyRows = np.arange(len(self._book.keys))
            for source, key in owned_keys(self._book, self._places, self._pairs, target, every).items():
                self._pair_fit(source, target)
                yield source, target, key

    def reconcile_batch(self, source: str, keys: KeyRows, batch_id: int) -> list[str]:
        """Settle *keys* that *source* committed in a micro-batch, where it owns them; return one line per failure."""
        if len(keys) == 0:
            return []
        return self._settle_targets(ReconcileRequest(keys, source, batch_id))

    def reconcile_keys(self, source: str, keys: KeyRows) -> list[str]:
        """Settle *keys* that *source* owns, whatever was answered before; return one line per failure."""
        return self._settle_targets(ReconcileRequest(keys, source, None, is_first=True))

    def reconcile_all(self, *, is_first: bool = False) -> list[str]:
        """Settle every key that is not settled; return one line per failure.

        *is_first*: nothing is taken as settled and every target is read, whatever we believe stands there.
        """
        return self._settle_targets(ReconcileRequest(None, None, None, is_first))

    def reconcile_waiting_for_index(self) -> list[str]:
        """Settle what waits for the index, where it has grown since the last call; return one line per failure."""
        self._index.refresh()
        grown = self._index.take_grown()
        with self._lock:
            keys = [self._places.keys_in(place) for place in grown]
        return self._settle_targets(ReconcileRequest(np.concatenate(keys), None, None, is_waiting=True)) if keys else []

    def _settle_targets(self, task: ReconcileRequest) -> list[str]:
        self._index.refresh()
        targets = [t for t in self._target_locks if task.source is None or (task.source, t) in self._pairs]
        with ThreadPoolExecutor(max_workers=max(1, len(targets))) as pool:
            jobs = [pool.submit(self._settle_target, target, task) for target in targets]
            return [line for job in jobs for line in job.result()]

    def _settle_target(self, target: str, task: ReconcileRequest) -> list[str]:
        # The lock spans computing and committing: an older answer must not overtake a newer one on its way.
        with self._target_locks[target]:
            with self._lock:
                chosen = self._choose(target, task)
                partitions = {place for commits in chosen.values() for place in self._places.partitions_of(commits.key)}
                frontiers = self._translator.frontiers([target, *chosen], partitions)
            if not partitions:
                return []
            looks = self._look([target, *chosen], partitions)
            failures: list[str] = []
            for source, commits in chosen.items():
                reconciliation = self._settle_pair(source, target, commits, Snapshot(looks, frontiers), task)
                self._record(reconciliation)
                failures += reconciliation.failures(self._book.keys)
            return failures

    def _choose(self, target: str, task: ReconcileRequest) -> dict[str, Commits]:
        """Return, per source, the commits that count at *target* and are not settled there."""
        key = np.arange(len(self._book.keys)) if task.keys is None else np.unique(task.keys)
        chosen = {}
        for source, owned in owned_keys(self._book, self._places, self._pairs, target, key).items():
            if task.source not in (None, source):
                continue
            mine = owned
            if task.keys is None and not task.is_first:
                mine = mine[~self._is_settled(source, target, mine)]
            elif task.is_waiting:
                mine = mine[self._pair_fit(source, target).is_waiting(mine)]
            if len(mine):
                chosen[source] = to_commits(self._book, source, mine)
        return chosen

    def _is_settled(self, source: str, target: str, key: KeyRows) -> NDArray[np.bool_]:
        pair, there = self._pair_fit(source, target), self._book.clusters[target].columns
        mine = self._book.clusters[source].columns
        is_settled = pair.is_settled(key, mine["genuine_offset"][key], mine["genuine_at_ms"][key])
        is_settled &= there["actual_offset"][key] == pair.columns["wanted"][key]
        return is_settled & ~refresh_due(there, key, self._refresh_before_ms())

    def _pair_fit(self, source: str, target: str) -> LastTranslations:
        pair = self._pairs[source, target]
        pair.columns.fit(len(self._book.keys))
        return pair

    def _refresh_before_ms(self) -> int:
        return self._now_ms() - int(self._config.sync.refresh_interval.total_seconds() * 1000)

    def _settle_pair(
        self, source: str, target: str, commits: Commits, seen: Snapshot, task: ReconcileRequest
    ) -> Reconciliation:
        now_ms, key = self._now_ms(), commits.key
        with self._lock:
            pair = self._pair_fit(source, target)
            answers = self._translator.translate(pair, source, target, commits, seen, now_ms)
            plan = plan_writes(
                self._book, source, target, key, answers, pair.columns["source_at_ms"][key],
                refresh_before_ms=self._refresh_before_ms(), is_first=task.is_first,
            )  # fmt: skip
        previous, outcome, error = plan.previous.copy(), plan.outcome.copy(), dict[int, str]()
        error |= seen.refusals(source, target, [self._book.keys[each][1] for each in key.tolist()])
        outcome[list(error)] = Outcome.FAILED
        for row, found in zip(
            plan.rows.tolist(), self._commit(target, plan.writes) if plan.writes else (), strict=True
        ):
            outcome[row] = found.outcome
            previous[row] = -1 if found.previous_offset is None else found.previous_offset
            if found.error:
                error[row] = found.error
        with self._lock:
            is_committed = outcome == Outcome.COMMITTED
            self._book.clusters[target].acknowledge(key[is_committed], answers.wanted[is_committed], self._now_ms())
            is_news = pair.note(key, commits.offset, commits.at_ms, answers, outcome)
        return Reconciliation(
            source, target, task.batch_id, now_ms, self._now_ms(), key, commits.offset, commits.at_ms,
            answers, plan, previous, outcome, error, is_news,
        )  # fmt: skip
