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
from offset_sync.errors import ClusterError
from offset_sync.model import OffsetWrite, Outcome, State, TopicPartition, WriteOutcome
from offset_sync.planning import plan_writes, refresh_due
from offset_sync.settlement import Commits, Index, Looks, Seen, Settlement, Task
from offset_sync.translate.admission import PartitionView, remembered
from offset_sync.translate.commits import CommitBook
from offset_sync.translate.keys import KeyPlaces, Keys
from offset_sync.translate.ownership import owners
from offset_sync.translate.pairstate import OUTCOMES, PairState
from offset_sync.translate.partition import Translations, concatenate, translate_partition, withhold
from offset_sync.translate.strategies import Strategy

LookAt = Callable[[Collection[str], Collection[TopicPartition]], Looks]
CommitWrites = Callable[[str, Sequence[OffsetWrite]], Sequence[WriteOutcome]]
"""Commits at the target named; one outcome per write, in order."""


class Settler:
    """Settles keys of *book*; *record* takes what the history has to say.

    Threads may share it; *lock* guards the book and the index, and is never held while a cluster is asked.
    """

    def __init__(
        self,
        config: Config,
        book: CommitBook,
        index: Index,
        look: LookAt,
        commit: CommitWrites,
        record: Callable[[Settlement], None],
        now_ms: Callable[[], int],
        lock: threading.RLock,
    ) -> None:
        self._config = config
        self._book = book
        self._places = KeyPlaces(book, config.is_group_included, lambda topic: config.strategy_of(topic) != "off")
        self._index = index
        self._look = look
        self._commit = commit
        self._record = record
        self._now_ms = now_ms
        self._pairs = {pair: PairState() for pair in config.pairs()}
        self._target_locks = {target: threading.Lock() for _, target in config.pairs()}
        self._lock = lock

    def pairs(self) -> list[tuple[str, str]]:
        """Return every (source, target) that is synced."""
        return list(self._pairs)

    def pair(self, source: str, target: str) -> PairState:
        """Return what was last answered from *source* to *target*."""
        return self._pairs[source, target]

    def owned(self) -> Iterator[tuple[str, str, Keys]]:
        """Yield every pair with the keys that count for it: those that its source owns. The caller holds the lock."""
        key: Keys = np.arange(len(self._book.keys))
        key = key[self._places.is_included(key)]
        owner = owners(self._book.column("genuine_at_ms")[:, key])
        for source, target in self._pairs:
            is_deleted = self._book.clusters[source].columns["is_deleted"][key]
            self._pair_fit(source, target)
            yield source, target, key[(owner == list(self._book.clusters).index(source)) & ~is_deleted]

    def settle_batch(self, source: str, keys: Keys, batch_id: int) -> list[str]:
        """Settle *keys* that *source* committed in a micro-batch, where it owns them; return one line per failure."""
        if len(keys) == 0:
            return []
        return self._settle_targets(Task(keys, source, batch_id))

    def settle_all(self, *, is_first: bool = False) -> list[str]:
        """Settle every key that is not settled; return one line per failure.

        *is_first*: nothing is taken as settled and every target is read, whatever we believe stands there.
        """
        return self._settle_targets(Task(None, None, None, is_first))

    def settle_waiting(self) -> list[str]:
        """Settle what waits for the index, where it has grown since the last call; return one line per failure."""
        self._index.refresh()
        grown = self._index.take_grown()
        with self._lock:
            keys = [self._places.keys_in(place) for place in grown]
        return self._settle_targets(Task(np.concatenate(keys), None, None, is_waiting=True)) if keys else []

    def _settle_targets(self, task: Task) -> list[str]:
        self._index.refresh()
        targets = [t for t in self._target_locks if task.source is None or (task.source, t) in self._pairs]
        with ThreadPoolExecutor(max_workers=max(1, len(targets))) as pool:
            jobs = [pool.submit(self._settle_target, target, task) for target in targets]
            return [line for job in jobs for line in job.result()]

    def _settle_target(self, target: str, task: Task) -> list[str]:
        # The lock spans computing and committing: an older answer must not overtake a newer one on its way.
        with self._target_locks[target]:
            with self._lock:
                chosen = self._choose(target, task)
                partitions = {place for commits in chosen.values() for place in self._places.partitions_of(commits.key)}
                frontiers = self._frontiers([target, *chosen], partitions)
            if not partitions:
                return []
            looks = self._look([target, *chosen], partitions)
            failures: list[str] = []
            for source, commits in chosen.items():
                settlement = self._settle_pair(source, target, commits, Seen(looks, frontiers), task)
                self._record(settlement)
                failures += settlement.failures(self._book.keys)
            return failures

    def _choose(self, target: str, task: Task) -> dict[str, Commits]:
        """Return, per source, the commits that count at *target* and are not settled there."""
        book = self._book
        key = np.arange(len(book.keys)) if task.keys is None else np.unique(task.keys)
        key = key[self._places.is_included(key)]
        owner = owners(book.column("genuine_at_ms")[:, key])
        chosen = {}
        for number, (source, commits) in enumerate(book.clusters.items()):
            if (source, target) not in self._pairs or task.source not in (None, source):
                continue
            mine = self._places.by_partition(key[(owner == number) & ~commits.columns["is_deleted"][key]])
            if task.keys is None and not task.is_first:
                mine = mine[~self._is_settled(source, target, mine)]
            elif task.is_waiting:
                mine = mine[self._pair_fit(source, target).is_waiting(mine)]
            if len(mine):
                columns = commits.columns
                chosen[source] = Commits(mine, columns["genuine_offset"][mine], columns["genuine_at_ms"][mine])
        return chosen

    def _is_settled(self, source: str, target: str, key: Keys) -> NDArray[np.bool_]:
        pair, there = self._pair_fit(source, target), self._book.clusters[target].columns
        mine = self._book.clusters[source].columns
        is_settled = pair.is_settled(key, mine["genuine_offset"][key], mine["genuine_at_ms"][key])
        is_settled &= there["actual_offset"][key] == pair.columns["wanted"][key]
        return is_settled & ~refresh_due(there, key, self._refresh_before_ms())

    def _pair_fit(self, source: str, target: str) -> PairState:
        pair = self._pairs[source, target]
        pair.columns.fit(len(self._book.keys))
        return pair

    def _refresh_before_ms(self) -> int:
        return self._now_ms() - int(self._config.sync.refresh_interval.total_seconds() * 1000)

    def _settle_pair(self, source: str, target: str, commits: Commits, seen: Seen, task: Task) -> Settlement:
        now_ms, key = self._now_ms(), commits.key
        with self._lock:
            pair = self._pair_fit(source, target)
            answers = self._translate(source, target, commits, seen, now_ms)
            plan = plan_writes(
                self._book, source, target, key, answers, pair.columns["source_at_ms"][key],
                refresh_before_ms=self._refresh_before_ms(), is_first=task.is_first,
            )  # fmt: skip
        previous, outcome, error = plan.previous.copy(), plan.outcome.copy(), dict[int, str]()
        if isinstance(unreachable := seen.looks[target], ClusterError):
            outcome[:] = OUTCOMES.index(Outcome.FAILED)
            error = dict.fromkeys(range(len(key)), str(unreachable))
        for row, found in zip(
            plan.rows.tolist(), self._commit(target, plan.writes) if plan.writes else (), strict=True
        ):
            outcome[row] = OUTCOMES.index(found.outcome)
            previous[row] = -1 if found.previous_offset is None else found.previous_offset
            if found.error:
                error[row] = found.error
        with self._lock:
            is_committed = outcome == OUTCOMES.index(Outcome.COMMITTED)
            self._book.clusters[target].wrote(key[is_committed], answers.wanted[is_committed], self._now_ms())
            is_news = pair.note(key, commits.offset, commits.at_ms, answers, outcome)
        return Settlement(
            source, target, task.batch_id, now_ms, self._now_ms(), key, commits.offset, commits.at_ms,
            answers, plan, previous, outcome, error, is_news,
        )  # fmt: skip

    def _translate(self, source: str, target: str, commits: Commits, seen: Seen, now_ms: int) -> Translations:
        pair, topic_id = self._pairs[source, target], self._book.clusters[source].topic_id
        grace_ms = int(self._config.sync.hole_grace.total_seconds() * 1000)
        parts = []
        for place, rows in self._places.slices(commits.key):
            key, committed = commits.key[rows], commits.offset[rows]
            there = self._view(target, place, seen)
            if there is None:
                parts.append(withhold(State.CLUSTER_UNREACHABLE, len(key)))
                continue
            log = self._index.log(source, place.topic, place.partition)
            revision = log.changed_back() if log is not None else 0
            answers = translate_partition(
                committed, [topic_id.get(one) for one in key.tolist()],
                self._view(source, place, seen) or self._remembered(source, place, there), log, there,
                source_origin=self._index.code(source), target_origin=self._index.code(target),
                young_since_ms=now_ms - grace_ms, strategy=self._strategy(place.topic, now_ms),
                window_start=pair.window_start(self._places.keys_in(place), int(committed.min()), revision),
            )  # fmt: skip
            # Asked again: translating may have met an origin of which some record had come late.
            pair.note_window(key, committed, answers.offset, log.changed_back() if log is not None else 0)
            parts.append(answers)
        return concatenate(parts)

    def _strategy(self, topic: str, now_ms: int) -> Strategy:
        idle_ms = int(self._config.sync.idle_after.total_seconds() * 1000)
        return Strategy(self._config.strategy_of(topic), self._config.topics.header_look_back, now_ms - idle_ms)

    def _view(self, cluster: str, place: TopicPartition, seen: Seen) -> PartitionView | None:
        """Return what is known of a partition; None: the cluster or the partition's leader cannot be asked."""
        look = seen.looks[cluster]
        if isinstance(look, ClusterError):
            return None
        ids = self._index.topic_ids(cluster, place.topic)
        topic, ends = look.topics.get(place.topic), look.ends.get(place)
        if topic is None:
            return PartitionView(None, 0, 0, 0, ids)
        if ends is None and place.partition < topic.partitions:
            return None
        log = self._index.log(cluster, place.topic, place.partition)
        start, end = (ends.log_start, ends.log_end) if ends is not None else (0, 0)
        return PartitionView(topic.topic_id, topic.partitions, start, end, ids, log, seen.frontiers[cluster, place])

    def _remembered(self, cluster: str, place: TopicPartition, there: PartitionView) -> PartitionView:
        indexed = self._index.partitions(cluster, place.topic)
        return remembered(self._index.topic_ids(cluster, place.topic), indexed, place.partition, there)

    def _frontiers(
        self, clusters: Collection[str], partitions: Collection[TopicPartition]
    ) -> dict[tuple[str, TopicPartition], int]:
        logs = {(c, place): self._index.log(c, place.topic, place.partition) for c in clusters for place in partitions}
        return {where: log.frontier if log is not None else 0 for where, log in logs.items()}
