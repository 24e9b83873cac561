"""From the owner's commits to answers at one target: every partition with what is known of it on both sides."""

from __future__ import annotations

from collections.abc import Collection

from offset_sync.config import Config
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import State, TopicPartition
from offset_sync.state.committed_offsets import CommittedOffsets
from offset_sync.state.key_index import KeyIndex, KeyRows
from offset_sync.state.last_translations import LastTranslations
from offset_sync.state.ownership import owners
from offset_sync.state.snapshot import Commits, Index, Snapshot, frontier
from offset_sync.translate.exact import Bounds
from offset_sync.translate.partition import Translations, concatenate, translate_partition, withhold
from offset_sync.translate.partition_log import PartitionLog, PartitionMetadata
from offset_sync.translate.preconditions import last_known
from offset_sync.translate.strategies import Strategy


def owned_keys(
    book: CommittedOffsets, places: KeyIndex, pairs: Collection[tuple[str, str]], target: str, key: KeyRows
) -> dict[str, KeyRows]:
    """Return, per source, those of *key* that it owns and that are translated to *target*, sorted by partition."""
    key = key[places.is_included(key)]
    owner = owners(book.column("genuine_at_ms")[:, key])
    return {
        source: places.by_partition(key[(owner == number) & ~commits.columns["is_deleted"][key]])
        for number, (source, commits) in enumerate(book.clusters.items())
        if (source, target) in pairs
    }


def to_commits(book: CommittedOffsets, source: str, key: KeyRows) -> Commits:
    """Return the genuine commits of *key* at *source*."""
    columns = book.clusters[source].columns
    return Commits(key, columns["genuine_offset"][key], columns["genuine_at_ms"][key])


class Translator:
    """Translates keys of *book*; whoever calls it holds the lock that guards the book and the index."""

    def __init__(self, config: Config, book: CommittedOffsets, places: KeyIndex, index: Index) -> None:
        self._config = config
        self._book = book
        self._places = places
        self._index = index

    def translate(
        self, pair: LastTranslations, source: str, target: str, commits: Commits, seen: Snapshot, now_ms: int
    ) -> Translations:
        """Return one answer per commit; *pair* remembers what the next ones need not look at again."""
        topic_id = self._book.clusters[source].topic_id
        grace_ms = int(self._config.sync.hole_grace.total_seconds() * 1000)
        parts = []
        for place, rows in self._places.slices(commits.key):
            key, committed = commits.key[rows], commits.offset[rows]
            there = self.view(target, place, seen)
            if there is None:
                parts.append(withhold(State.CLUSTER_UNREACHABLE, len(key)))
                continue
            log = self._index.log(source, place.topic, place.partition)
            revision = log.reorder_count() if log is not None else 0
            window_start = pair.window_start(self._places.keys_in(place), int(committed.min()), revision)
            here = self.view(source, place, seen) or self._remembered(source, place, there)
            answers = translate_partition(
                committed,
                [topic_id.get(one) for one in key.tolist()],
                PartitionLog.of(log, self._index.code(source), here),
                PartitionLog.of(self._index.log(target, *place), self._index.code(target), there),
                Bounds(now_ms - grace_ms, window_start),
                self._strategy(place.topic, now_ms),
            )
            # Asked again: translating may have met an origin of which some record had come late.
            pair.note_window(key, committed, answers.offset, log.reorder_count() if log is not None else 0)
            parts.append(answers)
        return concatenate(parts)

    def _strategy(self, topic: str, now_ms: int) -> Strategy:
        idle_ms = int(self._config.sync.idle_after.total_seconds() * 1000)
        return Strategy(self._config.strategy_of(topic), self._config.topics.header_look_back, now_ms - idle_ms)

    def view(self, cluster: str, place: TopicPartition, seen: Snapshot) -> PartitionMetadata | None:
        """Return what is known of a partition; None: the cluster or the partition's leader cannot be asked."""
        look = seen.looks[cluster]
        if isinstance(look, ClusterError):
            return None
        ids = self._index.topic_ids(cluster, place.topic)
        if place.topic in look.refused:
            return PartitionMetadata(None, 0, 0, 0, ids, is_refused=True)
        topic, ends = look.topics.get(place.topic), look.ends.get(place)
        if topic is None:
            return PartitionMetadata(None, 0, 0, 0, ids)
        if ends is None and place.partition < topic.partitions:
            return None
        start, end = (ends.log_start, ends.log_end) if ends is not None else (0, 0)
        return PartitionMetadata(topic.topic_id, topic.partitions, start, end, ids, seen.frontiers[cluster, place])

    def _remembered(self, cluster: str, place: TopicPartition, there: PartitionMetadata) -> PartitionMetadata:
        indexed = self._index.partitions(cluster, place.topic)
        return last_known(self._index.topic_ids(cluster, place.topic), indexed, place.partition, there)

    def frontiers(
        self, clusters: Collection[str], partitions: Collection[TopicPartition]
    ) -> dict[tuple[str, TopicPartition], int]:
        """Return how far the index has read; to be taken before the clusters are asked for their ends."""
        return {(c, place): frontier(self._index, c, place) for c in clusters for place in partitions}
