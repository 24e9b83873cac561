"""Whether recent records carry the mirror's headers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from offset_sync.config import Config, Mirror
from offset_sync.config.stream_names import Names
from offset_sync.decode.mirror_headers import decode_identities
from offset_sync.decode.place_header import NO_PLACE, Places, confirmed, read_places
from offset_sync.jobs.checks.finding import Finding, Level, some
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.record_reader import RecordReader
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import RecordContent, TopicPartition

_BACK = (1, 10, 100)
"""Records so far before the end are looked at."""
_MOST_PARTITIONS = 50
_CHECK = "mirror headers"
Sample = Sequence[tuple[TopicPartition, RecordContent]]


def sample_records(admin: ClusterAdmin, reader: RecordReader, topics: Iterable[str]) -> Sample | ClusterError:
    """Return some of the last records of *topics*, at most three of a partition."""
    described = admin.describe(topics)
    counts = {name: each.partitions for name, each in described.items() if not isinstance(each, ClusterError)}
    # The first partitions of all topics before the second of any, so that every topic has its share.
    places = sorted((TopicPartition(name, each) for name in counts for each in range(counts[name])), key=_by_number)
    ends = admin.ends(places[:_MOST_PARTITIONS])
    found: dict[tuple[TopicPartition, int], RecordContent] = {}
    for back in _BACK:
        offsets = {each: max(at.log_start, at.log_end - back) for each, at in ends.items() if at.log_end > at.log_start}
        answer = reader.first_at(offsets) if offsets else {}
        if isinstance(answer, ClusterError):
            return answer
        found |= {(place, record.offset): record for place, record in answer.items()}
    return [(place, record) for (place, _), record in found.items()]


def judge_sample(config: Config, alias: str, sample: Sample | ClusterError) -> Iterator[Finding]:
    """Yield what the headers say; a cluster at which nothing is mirrored has none."""
    place = f"clusters.{alias}"
    if isinstance(sample, ClusterError):
        yield Finding(Level.FAIL, place, _CHECK, str(sample).removeprefix(f"{place}: "))
        return
    if config.is_by_contents:
        yield Finding(Level.SKIP, place, _CHECK, "not looked at: contents tell what a copy is (mirror.identity)")
        return
    # Where records of a topic can only be produced nothing is mirrored.
    sample = [(at, record) for at, record in sample if config.names.home(at.topic) != alias]
    if not sample:
        yield Finding(Level.SKIP, place, _CHECK, "no record there yet")
        return
    mirror = config.mirror
    columns = [pa.array([_last(each, name) for _, each in sample], pa.binary()) for name in _names(mirror)]
    found = decode_identities(columns[0], columns[1], mirror.offset_encoding)
    if mirror.place_header:
        places = _places(mirror.place_header, sample, config.names)
        handed_on = int((~found.is_native & places.is_elsewhere).sum())
        if handed_on:
            text = f"{handed_on} of {len(sample)} have headers of a record of another place, handed on by whoever"
            yield Finding(Level.WARN, place, _CHECK, f"{text} wrote them; they count as produced here")
        found = confirmed(found, places)
    if found.reasons:
        row, reason = next(iter(found.reasons.items()))
        at = sample[row][0]
        name = f"{config.names.outside(alias, at.topic)}-{at.partition}"
        text = f"{len(found.reasons)} of {len(sample)} cannot be read, first {name} {reason}"
        remedy = "wait until they have expired, or leave mirror.place_header empty" if reason == NO_PLACE else None
        remedy = remedy or "set mirror.offset_encoding and the headers' names right"
        yield Finding(Level.FAIL, place, _CHECK, f"{text}; {remedy}")
    origins = {found.origins[code] for code in found.origin_code[found.is_mirrored].tolist()}
    if unknown := origins - config.origins().keys():
        text = f"{some(unknown)}: no cluster has this origin; set clusters.….origin to what the mirror writes"
        yield Finding(Level.WARN, place, _CHECK, text)
    count = int(found.is_mirrored.sum())
    if count:
        yield Finding(Level.OK, place, _CHECK, f"{count} of {len(sample)} records looked at, from {some(origins)}")
    elif not found.reasons:
        text = f"none of {len(sample)} records looked at has {' and '.join(_names(mirror))}; right only if nothing is"
        yield Finding(Level.WARN, place, _CHECK, f"{text} mirrored to this cluster yet, else set mirror right")


def _names(mirror: Mirror) -> tuple[str, str]:
    return mirror.origin_header, mirror.offset_header


def _places(name: str, sample: Sample, names: Names) -> Places:
    """Return what the place headers of records of many partitions say."""
    found = []
    for (stream, partition), record in sample:
        header, at_ms = pa.array([_last(record, name)], pa.binary()), np.array([record.timestamp_ms])
        found.append(read_places(header, names.origin_topic(stream) or stream, partition, at_ms))
    return Places(*(np.concatenate(flags) for flags in zip(*found, strict=True)))


def _last(record: RecordContent, name: str) -> bytes | None:
    return next((value for header, value in reversed(record.headers) if header == name), None)


def _by_number(place: TopicPartition) -> tuple[int, str]:
    return place.partition, place.topic
