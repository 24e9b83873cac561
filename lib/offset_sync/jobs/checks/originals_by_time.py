"""Originals of copies that bear no headers: among the newest ones, and around the time of the copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from offset_sync.config import Config
from offset_sync.jobs.checks.alike import Alike, compared
from offset_sync.kafka.range_reader import OffsetRange
from offset_sync.kafka.tail_reader import AskedLogs, SeenLogs, TailRecord
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition

_AROUND = 200
"""So many originals before the time of the oldest copy that was read are looked at, and twice as many after it."""
NO_RECORD = "no record there yet"
NO_ORIGIN = "its origin has none of these records any more, or did not answer in time"


def by_contents(
    config: Config, clusters: Mapping[str, AskedLogs], seen: Mapping[str, SeenLogs], alias: str
) -> tuple[dict[TopicPartition, Alike], dict[str, str]]:
    """Return how the copies at *alias* compare with originals, log by log; of other topics, by name, why not."""
    mine = seen[alias]
    origins = {s: origin for s in mine.partitions if (origin := config.origin_of(s)) not in (None, alias)}
    found, lagging = dict[TopicPartition, Alike](), dict[str, list[TopicPartition]]()
    for stream, origin in origins.items():
        for place, copies in mine.logs_of(stream).items():
            there = seen.get(str(origin), SeenLogs(str(origin)))
            if not there.error and place in there.ends:
                found[place] = compared(copies, there.records.get(place, ()))
                if not found[place].matches:
                    lagging.setdefault(str(origin), []).append(place)
    for origin, places in lagging.items():
        for place, originals in _around(clusters[origin], seen[origin], mine, places).items():
            found[place] = compared(mine.records[place], originals) if originals else found[place]
    found = {place: each for place, each in found.items() if each.originals}
    compared_streams = {place.topic for place in found}
    silent = {
        config.names.outside(alias, stream): NO_ORIGIN if mine.logs_of(stream) else NO_RECORD
        for stream in origins.keys() - compared_streams
    }
    return found, silent


def _around(
    origin: AskedLogs, there: SeenLogs, mine: SeenLogs, places: list[TopicPartition]
) -> Mapping[TopicPartition, Sequence[TailRecord]]:
    """Return originals around the time of the oldest copies that were read, each log in its order."""
    times = {place: mine.records[place][0].content.timestamp_ms for place in places}
    try:
        near = origin.offsets_at(times)
        ranges = {}
        for place, offset in near.items():
            ends = there.ends[place]
            ranges[place] = OffsetRange(max(ends.log_start, offset - _AROUND), min(ends.log_end, offset + 2 * _AROUND))
        return origin.tails(ranges, is_committed=False).records
    except ClusterError:
        return {}
