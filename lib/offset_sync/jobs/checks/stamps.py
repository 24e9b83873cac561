"""The stamps in the headers of the newest records, one by one. Pure."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Collection, Iterator, Sequence
from enum import Enum, auto
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from offset_sync.config import Config, Mirror
from offset_sync.config.mirror import PRESETS
from offset_sync.ingest.run_builder import identities_at
from offset_sync.kafka.tail_reader import SeenLogs, TailRecord
from offset_sync.model.values import TopicPartition

_ARRAY_OF_JAVA = re.compile(r'"?\[B@[0-9a-f]{1,8}"?')
_LONGEST, _MOST_SHOWN = 1_000, 40


class Kind(Enum):
    """The kind of a stamp, in the order of the findings; NATIVE: there is none."""

    WRAPPED = auto()
    UNREADABLE = auto()
    OTHER_PRESET = auto()
    ELSEWHERE = auto()
    UNKNOWN = auto()
    FROM_HERE = auto()
    STAMPED = auto()
    NATIVE = auto()


class Stamp(NamedTuple):
    """The stamp in a record's headers; *said* is the part to show.

    For a STAMPED one *origin* is the alias of the cluster, and *offset* the record's offset there.
    """

    kind: Kind
    said: str = ""
    origin: str = ""
    offset: int = 0

    @property
    def is_native(self) -> bool:
        """Whether the record counts as produced where it is."""
        return self.kind in (Kind.NATIVE, Kind.ELSEWHERE)


class Stamped(NamedTuple):
    """A record of the log *place*, with its stamp; *topic* is the name at the cluster."""

    topic: str
    place: TopicPartition
    record: TailRecord
    stamp: Stamp


def stamped_records(config: Config, alias: str, seen: SeenLogs) -> list[Stamped]:
    """Return the records of the streams whose headers count at a cluster, log by log, each in order."""
    return [
        Stamped(config.names.outside(alias, place.topic), place, record, stamp)
        for place, records in seen.records.items()
        if has_stamps(config, alias, place.topic)
        for record, stamp in zip(records, stamps_of(config, alias, place, records), strict=True)
    ]


def has_stamps(config: Config, alias: str, stream: str) -> bool:
    """Whether copies of *stream* at the cluster *alias* are told by headers."""
    return config.is_stamped and config.names.home(stream) != alias


def stamps_of(config: Config, alias: str, place: TopicPartition, records: Sequence[TailRecord]) -> Iterator[Stamp]:
    """Yield the stamps of *records* of the log *place*."""
    mirror, identities, origins = config.mirror, identities_at(config, alias), config.origins()
    headers = [dict(each.content.headers) for each in records]  # the last of a repeated header counts
    columns = {
        column: pa.array([each.get(name) for each in headers], pa.binary())
        for column, name in mirror.header_columns().items()
    }
    at_ms = np.array([each.content.timestamp_ms for each in records], np.int64)
    found, places = identities.of(columns, place, at_ms), identities.places(columns, place, at_ms)
    for row, mine in enumerate(headers):
        origin, offset = mine.get(mirror.origin_header), mine.get(mirror.offset_header)
        has_both = origin is not None and offset is not None
        if has_both and places is not None and places.is_elsewhere[row]:
            yield Stamp(Kind.ELSEWHERE)
        elif has_both and (said := wrapped_origin(origin or b"", origins)):
            yield Stamp(Kind.WRAPPED, f"{mirror.origin_header} is {said}")
        elif found.is_mirrored[row]:
            name = found.origins[found.origin_code[row]]
            known = origins.get(name, "")
            kind = Kind.STAMPED if known not in ("", alias) else Kind.FROM_HERE if known else Kind.UNKNOWN
            yield Stamp(kind, name, known, int(found.origin_offset[row]))
        elif row in found.reasons:
            yield Stamp(Kind.UNREADABLE, found.reasons[row])
        else:
            yield _without_stamp(mirror, mine)


def _without_stamp(mirror: Mirror, headers: Collection[str]) -> Stamp:
    """Return whether the record has the headers of a preset other than the configured one."""
    for name, preset in PRESETS.items():
        names = {preset.origin_header, preset.offset_header}
        if names <= set(headers) and names.isdisjoint({mirror.origin_header, mirror.offset_header}):
            said = f"{preset.origin_header} and {preset.offset_header}, the headers of mirror.preset {name}"
            return Stamp(Kind.OTHER_PRESET, said)
    return Stamp(Kind.NATIVE)


def wrapped_origin(value: bytes, known: Collection[str]) -> str:
    """Describe an origin as written by a wrong converter of Kafka Connect; empty if it is *known*, or unlike one.

    MirrorMaker's connectors pass header values on as bytes, and only ByteArrayConverter writes them unchanged. The
    default of Connect writes ``dc1`` as ``ZGMx``, JsonConverter as ``"ZGMx"`` or ``{"schema": …, "payload": "ZGMx"}``,
    and StringConverter as ``[B@1b2c3d``. All headers of a connector are converted alike.
    """
    text = value.decode("utf-8", "replace")
    if text in known or len(text) > _LONGEST:
        return ""
    if _ARRAY_OF_JAVA.fullmatch(text):
        return "[B@…, Java's name of an array instead of its contents"
    shown = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
    return next((f"{shown}, {form} of {inner}" for form, inner in _unwrapped(text) if inner in known), "")


def _unwrapped(text: str) -> Iterator[tuple[str, str]]:
    """Yield how the text may have been wrapped, and its content."""
    yield "base64", _from_base64(text)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return
    payload = str(found.get("payload") if isinstance(found, dict) else found)
    yield "JSON", payload
    yield "JSON with base64", _from_base64(payload)


def _from_base64(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode()
    except ValueError:
        return ""
