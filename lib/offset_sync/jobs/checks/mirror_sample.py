"""Whether recent records carry the mirror's headers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from offset_sync.config import Config, Mirror
from offset_sync.config.presets import PRESETS
from offset_sync.decode.one_origin import OTHER_ORIGIN
from offset_sync.decode.place_header import NO_PLACE
from offset_sync.decode.stamps import OFFSET_HEADER, ORIGIN_HEADER
from offset_sync.ingest.stream_identities import StreamIdentities, identities_at
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
    identities = identities_at(config, alias)
    stamps = [_stamp(config.mirror, identities, *each) for each in sample]
    if handed_on := sum(each.is_elsewhere for each in stamps):
        text = f"{handed_on} of {len(sample)} have headers of a record of another place, handed on by whoever"
        yield Finding(Level.WARN, place, _CHECK, f"{text} wrote them; they count as produced here")
    sample = [(TopicPartition(config.names.outside(alias, at.topic), at.partition), each) for at, each in sample]
    told = [*_unreadable(config.mirror, sample, stamps), *other_presets(config.mirror, sample)]
    yield from (Finding(level, place, _CHECK, text) for level, text in told)
    origins = {each.origin for each in stamps if each.origin}
    if unknown := origins - config.origins().keys():
        text = f"{some(unknown)}: no cluster has this origin; set clusters.….origin to what the mirror writes"
        yield Finding(Level.WARN, place, _CHECK, text)
    if count := sum(bool(each.origin) for each in stamps):
        yield Finding(Level.OK, place, _CHECK, f"{count} of {len(sample)} records looked at, from {some(origins)}")
    elif not told:
        text = f"none of {len(sample)} records looked at has {' and '.join(_names(config.mirror))}; right only if"
        yield Finding(
            Level.WARN, place, _CHECK, f"{text} nothing is mirrored to this cluster yet, else set mirror right"
        )


class Stamp(NamedTuple):
    """What the headers of a record say: the *origin*, or the *reason* why nobody can tell; of a native one neither."""

    origin: str = ""
    reason: str = ""
    is_elsewhere: bool = False


def _stamp(mirror: Mirror, identities: StreamIdentities, where: TopicPartition, record: RecordContent) -> Stamp:
    headers = {column: pa.array([_last(record, name)], pa.binary()) for column, name in mirror.header_columns().items()}
    at_ms = np.array([record.timestamp_ms])
    places = identities.places(headers, where, at_ms)
    is_stamped = not any(headers[name][0].as_py() is None for name in (ORIGIN_HEADER, OFFSET_HEADER))
    is_elsewhere = is_stamped and places is not None and bool(places.is_elsewhere[0])
    found = identities.of(headers, where, at_ms)
    if found.is_mirrored[0]:
        return Stamp(origin=found.origins[int(found.origin_code[0])])
    return Stamp(reason=found.reasons.get(0, ""), is_elsewhere=is_elsewhere)


def _unreadable(mirror: Mirror, sample: Sample, stamps: Sequence[Stamp]) -> Iterator[tuple[Level, str]]:
    unread = [(where, each.reason) for (where, _), each in zip(sample, stamps, strict=True) if each.reason]
    if not unread:
        return
    where, reason = unread[0]
    text = f"{len(unread)} of {len(sample)} cannot be read, first {where.topic}-{where.partition} {reason}"
    if reason == NO_PLACE and mirror.known.place:
        remedy = f"have the mirror stamp {' and '.join(mirror.known.place)}, and wait until those without have expired"
    elif reason == NO_PLACE:
        remedy = "wait until they have expired, or leave mirror.place_header empty"
    elif reason == OTHER_ORIGIN:
        remedy = "set clusters.….origin to what the mirror writes, and mirror.names to what it calls copies"
    elif reason.startswith("origin header") and mirror.pipelines:
        remedy = "give mirror.pipelines all pipelines that end here, by name, each with the cluster it begins at"
    elif reason.startswith("origin header"):
        remedy = "set clusters.….origin to what the mirror writes"
    else:
        remedy = "set mirror.offset_encoding and the headers' names right"
    yield Level.FAIL, f"{text}; {remedy}"


def other_presets(mirror: Mirror, sample: Sample) -> Iterator[tuple[Level, str]]:
    """Yield a warning for each preset whose headers records have, unless these are the ones that are looked at."""
    for name, preset in PRESETS.items():
        names = (preset.origin_header, preset.offset_header)
        if set(names) & set(_names(mirror)):
            continue
        found = [where.topic for where, record in sample if None not in [_last(record, each) for each in names]]
        if found:
            text = f"{len(found)} of {len(sample)}, of {some(set(found))}, have {' and '.join(names)}"
            yield Level.WARN, f"{text}, the headers of mirror.preset {name}; set it if that mirror makes the copies"


def _names(mirror: Mirror) -> tuple[str, str]:
    return mirror.origin_header, mirror.offset_header


def _last(record: RecordContent, name: str) -> bytes | None:
    return next((value for header, value in reversed(record.headers) if header == name), None)


def _by_number(place: TopicPartition) -> tuple[int, str]:
    return place.partition, place.topic
