"""What the headers of the newest records say, log by log. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from offset_sync.config import Config, Mirror
from offset_sync.config.presets import PRESETS
from offset_sync.decode.stamps import OFFSET_HEADER, ORIGIN_HEADER
from offset_sync.ingest.stream_identities import identities_at
from offset_sync.jobs.checks.wrapped_headers import wrapped_offset, wrapped_origin
from offset_sync.kafka.tail_reader import SeenLogs, TailRecord
from offset_sync.model.values import RecordContent, TopicPartition


class Stamp(NamedTuple):
    """What the headers of a record say: *origin* and *offset*, or the *reason* why nobody can tell; else it is native.

    *wrapped* says what a wrong converter has made of them. *is_elsewhere*: they are of a record of another place.
    *preset* is one whose headers the record bears, and nobody looks at.
    """

    origin: str = ""
    offset: int = 0
    reason: str = ""
    wrapped: str = ""
    is_elsewhere: bool = False
    preset: str = ""

    @property
    def is_native(self) -> bool:
        """Whether it counts as produced where it stands, and nothing tells otherwise."""
        return not (self.origin or self.reason or self.wrapped or self.preset)


@dataclass(frozen=True)
class StampedLog:
    """The newest records of one log, in its order, and their stamps."""

    place: TopicPartition
    records: Sequence[TailRecord]
    stamps: Sequence[Stamp]

    @property
    def new_natives(self) -> list[TailRecord]:
        """The native records above the last one that bears a stamp: what the mirror does now shows by them."""
        last = max((row for row, each in enumerate(self.stamps) if not each.is_native), default=-1)
        return list(self.records[last + 1 :])


@dataclass(frozen=True)
class StampedTopic:
    """What was seen of a stream at a cluster, of which *name* is the one there; *logs* are those with records."""

    stream: str
    name: str
    logs: Sequence[StampedLog]

    @cached_property
    def stamps(self) -> list[Stamp]:
        """Those of all records."""
        return [stamp for log in self.logs for stamp in log.stamps]

    @cached_property
    def origins(self) -> frozenset[str]:
        """What origin headers say that can be read."""
        return frozenset(each.origin for each in self.stamps if each.origin)

    @property
    def has_natives(self) -> bool:
        """Whether any record counts as produced here."""
        return any(each.is_native for each in self.stamps)


def stamped_topics(config: Config, seen: SeenLogs) -> dict[str, StampedTopic]:
    """Return the streams of a cluster whose headers count there, and are looked at; those without records too."""
    found = {}
    for stream in seen.partitions:
        if config.original_of(stream) is None and config.names.home(stream) != seen.alias:
            logs = [
                StampedLog(place, records, stamps_of(config, seen.alias, place, [each.content for each in records]))
                for place, records in seen.logs_of(stream).items()
            ]
            found[stream] = StampedTopic(stream, config.names.outside(seen.alias, stream), logs)
    return found


def stamps_of(config: Config, alias: str, where: TopicPartition, records: Sequence[RecordContent]) -> list[Stamp]:
    """Return what the headers say of *records* of the log *where* at the cluster *alias*."""
    mirror, identities = config.mirror, identities_at(config, alias)
    raw = {column: [last_header(each, name) for each in records] for column, name in mirror.header_columns().items()}
    headers = {column: pa.array(values, pa.binary()) for column, values in raw.items()}
    at_ms = np.array([each.timestamp_ms for each in records], np.int64)
    found, places = identities.of(headers, where, at_ms), identities.places(headers, where, at_ms)
    stamps = []
    for row, (record, *both) in enumerate(zip(records, raw[ORIGIN_HEADER], raw[OFFSET_HEADER], strict=True)):
        is_elsewhere = None not in both and places is not None and bool(places.is_elsewhere[row])
        preset, wrapped = _other_preset(mirror, record), _wrapped(mirror, config.origins(), *both)
        if wrapped and not is_elsewhere:
            stamps.append(Stamp(wrapped=wrapped, preset=preset))
        elif found.is_mirrored[row]:
            code = int(found.origin_code[row])
            stamps.append(Stamp(found.origins[code], int(found.origin_offset[row]), preset=preset))
        else:
            reason = found.reasons.get(row, "")
            stamps.append(Stamp(reason=reason, is_elsewhere=is_elsewhere, preset=preset))
    return stamps


def last_header(record: RecordContent, name: str) -> bytes | None:
    """Return the value that counts of a header."""
    return next((value for header, value in reversed(record.headers) if header == name), None)


def _other_preset(mirror: Mirror, record: RecordContent) -> str:
    """Return the preset whose headers the record has, unless these are the ones that are looked at."""
    for name, preset in PRESETS.items():
        names = (preset.origin_header, preset.offset_header)
        is_looked_at = {*names} & {mirror.origin_header, mirror.offset_header}
        if not is_looked_at and None not in [last_header(record, each) for each in names]:
            return name
    return ""


def _wrapped(mirror: Mirror, known: Mapping[str, str], origin: bytes | None, offset: bytes | None) -> str:
    if origin is None or offset is None:
        return ""
    if found := wrapped_origin(origin, known):
        return f"{mirror.origin_header} is {found}"
    found = wrapped_offset(offset, mirror.offset_encoding)
    return f"{mirror.offset_header} is {found}" if found else ""
