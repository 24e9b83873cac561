"""What the newest records say by their headers, and beside the records of other clusters. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, takewhile
from operator import attrgetter
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from offset_sync.check import rules
from offset_sync.check.rules import Rule
from offset_sync.config import Config
from offset_sync.ingest.run_builder import identities_at
from offset_sync.kafka.tail_reader import SeenLogs, TailRecord
from offset_sync.model.values import TopicPartition

_Stamp = tuple[Rule, str, str, int]
_stream = attrgetter("place.topic")


class Stamped(NamedTuple):
    """A record of the log *place*, with its rule; *topic* is the name at the cluster, *said* the part to show.

    For a STAMPED one *origin* is the alias of the cluster, and *offset* the record's offset there.
    """

    topic: str
    place: TopicPartition
    record: TailRecord
    rule: Rule
    said: str = ""
    origin: str = ""
    offset: int = 0

    @property
    def where(self) -> str:
        """The place of the record."""
        return f"{self.topic}-{self.place.partition} at offset {self.record.content.offset}"


def stamped_records(config: Config, seen: Mapping[str, SeenLogs]) -> dict[str, list[Stamped]]:
    """Return, by cluster, the records of the streams whose headers count there, log by log, each in order."""
    found = {
        alias: [
            Stamped(config.names.outside(alias, place.topic), place, record, *stamp)
            for place, records in logs.records.items()
            if has_stamps(config, alias, place.topic)
            for record, stamp in zip(records, _stamps(config, alias, place, records), strict=True)
        ]
        for alias, logs in seen.items()
    }
    new = {alias: _new_natives(records) for alias, records in found.items()}
    streams = {
        alias: {stream: [*of] for stream, of in groupby(sorted(records, key=_stream), _stream)}
        for alias, records in found.items()
    }
    return {alias: [*_compared(config, alias, streams, new)] for alias in found}


def has_stamps(config: Config, alias: str, stream: str) -> bool:
    """Whether copies of *stream* at the cluster *alias* are told by headers."""
    return config.is_stamped and config.names.home(stream) != alias


def _stamps(config: Config, alias: str, place: TopicPartition, records: Sequence[TailRecord]) -> Iterator[_Stamp]:
    mirror, identities, origins = config.mirror, identities_at(config, alias), config.origins()
    headers = [dict(each.content.headers) for each in records]  # the last of a repeated header counts
    columns = {
        column: pa.array([each.get(name) for each in headers], pa.binary())
        for column, name in mirror.header_columns().items()
    }
    at_ms = np.array([each.content.timestamp_ms for each in records], np.int64)
    found = identities.of(columns, place, at_ms)
    for row, is_native in enumerate(found.is_native):
        if is_native:
            yield rules.NATIVE, "", "", 0
        elif found.is_mirrored[row]:
            name = found.origins[found.origin_code[row]]
            known = origins.get(name, "")
            rule = rules.STAMPED if known not in ("", alias) else rules.FROM_HERE if known else rules.UNKNOWN
            yield rule, name, known, int(found.origin_offset[row])
        else:
            yield rules.UNREADABLE, found.reasons[row], "", 0


_Contents = Mapping[TopicPartition, set[tuple[int, bytes | None, bytes | None]]]
"""Times, keys and values."""


def _new_natives(records: Sequence[Stamped]) -> _Contents:
    """Return the contents of the records above the last one with a stamp: the mirror's present behaviour.

    Errs to fewer: repeated contents, as of heartbeats, prove nothing and are left out.
    """
    found = {}
    for place, log in groupby(records, key=lambda each: each.place):
        new = [each.record.content for each in takewhile(lambda each: each.rule is rules.NATIVE, reversed([*log]))]
        counted = Counter((each.key, each.value) for each in new)
        found[place] = {(e.timestamp_ms, e.key, e.value) for e in new if counted[e.key, e.value] == 1}
    return found


def _compared(
    config: Config, alias: str, streams: Mapping[str, Mapping[str, Sequence[Stamped]]], new: Mapping[str, _Contents]
) -> Iterator[Stamped]:
    """Yield the records of a cluster; those without headers as what the others of their stream show."""
    mine = new[alias]
    same = {at: {p.topic for p in mine if mine[p] & there.get(p, set())} for at, there in new.items() if at != alias}
    for stream, records in streams[alias].items():
        others = [each for at, there in streams.items() if at != alias for each in there.get(stream, ())]
        twice = [at for at, found in same.items() if stream in found]
        is_by_time = config.strategy_of(stream) == "timestamp"
        is_bare = all(each.rule is rules.NATIVE for each in records)
        rule = rules.NATIVE
        if twice and not is_by_time:
            rule = rules.TWICE
        elif is_bare and not is_by_time and config.names.home(stream) is not None:
            rule = rules.BY_NAME
        elif is_bare and not is_by_time and (not others or any(each.rule is rules.NATIVE for each in others)):
            rule = rules.UNSTAMPED
        for each in records:
            yield each._replace(rule=rule, said=", ".join(twice)) if each.rule is rules.NATIVE else each
