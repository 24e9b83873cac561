"""What the newest records say by their headers, and beside the records of other clusters. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, takewhile
from typing import NamedTuple

from offset_sync.check import rules
from offset_sync.check.rules import Rule
from offset_sync.config import Config
from offset_sync.kafka.tail_reader import SeenLogs, TailRecord
from offset_sync.model.values import TopicPartition
from offset_sync.status.record_comparison import identities_of

_Contents = tuple[int, bytes | None, bytes | None]
"""Partition, key and value."""


class Stamped(NamedTuple):
    """A record of the log *place*, with its rule; *topic* is the name at the cluster, *said* the part to show."""

    topic: str
    place: TopicPartition
    record: TailRecord
    rule: Rule
    said: str = ""

    @property
    def where(self) -> str:
        """The place of the record."""
        return f"{self.topic}-{self.place.partition} at offset {self.record.content.offset}"


def stamped_records(config: Config, seen: Mapping[str, SeenLogs]) -> dict[str, list[Stamped]]:
    """Return, by cluster, the records of the streams whose headers count there, log by log, each in order.

    Those without headers are judged by what the other records of their stream show.
    """
    found: dict[str, dict[str, list[Stamped]]] = {alias: {} for alias in seen}
    for alias, logs in seen.items():
        for place, records in sorted(logs.records.items()):
            if has_stamps(config, alias, place.topic):
                name, stamps = config.names.outside(alias, place.topic), _stamps(config, alias, place, records)
                told = [Stamped(name, place, each, *stamp) for each, stamp in zip(records, stamps, strict=True)]
                found[alias].setdefault(place.topic, []).extend(told)
    judged: dict[str, list[Stamped]] = {alias: [] for alias in seen}
    for alias, streams in found.items():
        for stream, mine in streams.items():
            others = {at: there[stream] for at, there in found.items() if at != alias and stream in there}
            rule, said = _without_headers(config, stream, mine, others)
            judged[alias] += [
                each._replace(rule=rule, said=said) if each.rule is rules.NATIVE else each for each in mine
            ]
    return judged


def has_stamps(config: Config, alias: str, stream: str) -> bool:
    """Whether copies of *stream* at the cluster *alias* are told by headers."""
    return config.is_stamped and config.names.home(stream) != alias


def _stamps(
    config: Config, alias: str, place: TopicPartition, records: Sequence[TailRecord]
) -> Iterator[tuple[Rule, str]]:
    found, origins = identities_of(config, alias, place, [each.content for each in records]), config.origins()
    for row, is_native in enumerate(found.is_native):
        if is_native:
            yield rules.NATIVE, ""
        elif found.is_mirrored[row]:
            name = found.origins[found.origin_code[row]]
            known = origins.get(name, "")
            rule = rules.STAMPED if known not in ("", alias) else rules.FROM_HERE if known else rules.UNKNOWN
            yield rule, name
        else:
            yield rules.UNREADABLE, found.reasons[row]


def _without_headers(
    config: Config, stream: str, mine: Sequence[Stamped], others: Mapping[str, Sequence[Stamped]]
) -> tuple[Rule, str]:
    """Return the rule for records of a stream without headers, and what to show, by those of the *others*."""
    if config.strategy_of(stream) == "timestamp":
        return rules.NATIVE, ""
    new = _new_natives(mine)
    if twice := [at for at, there in others.items() if new & _new_natives(there)]:
        return rules.TWICE, ", ".join(twice)
    is_bare = all(each.rule is rules.NATIVE for each in mine)
    if is_bare and config.names.home(stream) is not None:
        return rules.BY_NAME, ""  # only the mirror should write to a topic named after another cluster
    is_native_there = any(each.rule is rules.NATIVE for there in others.values() for each in there)
    return (rules.UNSTAMPED if is_bare and (is_native_there or not others) else rules.NATIVE), ""


def _new_natives(records: Sequence[Stamped]) -> set[tuple[_Contents, int]]:
    """Return contents and time of the records above the last one with a stamp: the mirror's present behaviour.

    Errs to fewer: repeated contents, as of heartbeats, prove nothing and are left out.
    """
    new = list[tuple[_Contents, int]]()
    for place, log in groupby(records, key=lambda each: each.place):
        for each in takewhile(lambda each: each.rule is rules.NATIVE, reversed([*log])):
            content = each.record.content
            new.append(((place.partition, content.key, content.value), content.timestamp_ms))
    counted = Counter(contents for contents, _ in new)
    return {(contents, at_ms) for contents, at_ms in new if counted[contents] == 1}
