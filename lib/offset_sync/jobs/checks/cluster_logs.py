"""A real cluster as :class:`offset_sync.kafka.tail_reader.AskedLogs`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from offset_sync.config import Config
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.partition_answer import Committed
from offset_sync.kafka.range_reader import OffsetRange
from offset_sync.kafka.tail_reader import TailReader, Tails
from offset_sync.kafka.topic_metadata import LogEnds
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition

_DEADLINE_S = 10.0


class ClusterLogs:
    """One cluster by streams: *admin* knows their names, and the reader is given them."""

    def __init__(self, config: Config, admin: ClusterAdmin) -> None:
        self._admin, self._names = admin, config.names
        self._reader = TailReader(admin.alias, config.admin_options(admin.alias))

    def ends(self, places: Iterable[TopicPartition]) -> Mapping[TopicPartition, LogEnds]:
        """Return the ends of the logs of which somebody says them."""
        return self._admin.ends(places, _DEADLINE_S)

    def tails(self, ranges: Mapping[TopicPartition, OffsetRange], *, is_committed: bool = True) -> Tails:
        """Return the records of *ranges* that come in time."""
        stream_of = self._named(ranges)
        named = {place: ranges[each] for place, each in stream_of.items()}
        found = self._reader.read(named, _DEADLINE_S, is_committed=is_committed)
        records = {stream_of[place]: each for place, each in found.records.items()}
        return Tails(records, frozenset(stream_of[place] for place in found.unread))

    def offsets_at(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Return where the first record of each log stands that is not older than a time (ms)."""
        stream_of = self._named(times)
        found = self._reader.offsets_at({place: times[each] for place, each in stream_of.items()}, _DEADLINE_S)
        return {stream_of[place]: offset for place, offset in found.items()}

    def group_offsets(self, groups: Sequence[str]) -> dict[str, Mapping[TopicPartition, Committed]]:
        """Return what groups have committed, of those of which somebody says it."""
        found = self._admin.committed_offsets(groups, _DEADLINE_S)
        return {group: each for group, each in found.items() if not isinstance(each, ClusterError)}

    def _named(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, TopicPartition]:
        """Return the logs by the names that the cluster has for them; it is not asked for what it has no name for."""
        named = ((self._names.called(self._admin.alias, each.topic), each) for each in places)
        return {TopicPartition(name, each.partition): each for name, each in named if name is not None}
