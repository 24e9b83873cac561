"""Copies that bear no headers, though headers should tell them: two clusters have the same records. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from offset_sync.config import Config
from offset_sync.jobs.checks.stamps import StampedTopic
from offset_sync.kafka.tail_reader import TailRecord
from offset_sync.model.finding import Finding, Level, Lines
from offset_sync.model.values import TopicPartition

_MOST_CHANCE = 2
"""So many records may be alike, but for their times, though nobody has copied them."""


class Both(NamedTuple):
    """Records of *place* are the same at *one* and at *other* cluster."""

    one: str
    other: str
    place: TopicPartition


Unstamped = Mapping[str, Both]
"""By stream."""
Natives = Mapping[str, Mapping[TopicPartition, Sequence[TailRecord]]]
"""Records without headers, by cluster and log."""


def new_natives(topics: Mapping[str, Mapping[str, StampedTopic]]) -> Natives:
    """Return, of the streams of each cluster, the records without a stamp above the last one with one."""
    return {
        alias: {log.place: log.new_natives for topic in mine.values() for log in topic.logs}
        for alias, mine in topics.items()
    }


def unstamped_copies(config: Config, natives: Natives) -> dict[str, Both]:
    """Return of each stream the first two clusters that both have records without headers which are the same.

    The same time, key and value are no chance where these occur once at each; where a log has times of its own, several
    are asked for. Strategy ``timestamp`` does without headers, so its topics are not looked at.
    """
    found: dict[str, Both] = {}
    for one, other in combinations(natives, 2):
        for place in natives[one].keys() & natives[other].keys():
            if place.topic in found or config.strategy_of(place.topic) == "timestamp":
                continue
            if _common(natives[one][place], natives[other][place]):
                found[place.topic] = Both(one, other, place)
    return found


def judge_unstamped(config: Config, found: Unstamped) -> Iterator[Finding]:
    """Yield a line for each two clusters between which copies bear no headers."""
    lines = Lines("mirror", "mirror headers")
    for pair in sorted({(each.one, each.other) for each in found.values()}):
        streams = [stream for stream, each in found.items() if (each.one, each.other) == pair]
        names = {config.names.origin_topic(each) or each for each in streams}
        headers = f"{config.mirror.origin_header} and {config.mirror.offset_header}"
        text = f"{pair[0]} and {pair[1]} have the same records without {headers}, so copies count as produced where"
        remedy = "have the mirror stamp them (docs/mirrors.md), or tell them by contents (docs/mirrors-contents.md)"
        yield lines.of(Level.FAIL, names, f"{text} they stand; {remedy}")


def _common(some: Sequence[TailRecord], others: Sequence[TailRecord]) -> int:
    """Return how many records are the same for sure; errs to none, for contents that come again say nothing."""
    here, there = _unique(some), _unique(others)
    both = here.keys() & there.keys()
    same = sum(here[each].content.timestamp_ms == there[each].content.timestamp_ms for each in both)
    if same or len(both) <= _MOST_CHANCE:
        return same
    return len(both) if any(each.is_appended for each in (*some, *others)) else 0


def _unique(records: Sequence[TailRecord]) -> dict[tuple[bytes | None, bytes | None], TailRecord]:
    counted = Counter((each.content.key, each.content.value) for each in records)
    by_content = {(each.content.key, each.content.value): each for each in records}
    return {content: each for content, each in by_content.items() if counted[content] == 1}
