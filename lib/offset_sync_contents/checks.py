"""What the core asks: is the configuration right, are two records the same, and is the mirror as the file says.

For that ``check`` has the newest copies compared with originals of about the same time: which copy is of which
original, what copies keep of it, and whether the mirror does what ``keeps``, ``order`` and ``exclusive`` promise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from offset_sync.config import Config
from offset_sync.decode.mirror_headers import without_added
from offset_sync.kafka.tail_reader import SeenLogs, TailRecord
from offset_sync.model.errors import ClusterError
from offset_sync.model.finding import Finding, Level, about
from offset_sync.model.values import OffsetRange, RecordContent, TopicPartition
from offset_sync.status.record_comparison import difference_in
from offset_sync_contents.settings import Contents, contents_of, origin_of, problems

__all__ = ["CHECKPOINTS", "difference", "judge", "problems"]
CHECKPOINTS = (".originals", ".copies")
"""What the names of the queries' checkpoints end with."""
_KEPT = {"timestamps": "timestamp_ms", "headers": "headers"}
"""By value of ``keeps``: the field that is the same."""
_ENOUGH = 5
"""So many copies must match their originals before a finding suggests to extend ``keeps``."""
_AROUND = 200
"""So many originals before the time of the oldest copy that was read are compared, and twice as many after it."""


class CopyMatch(NamedTuple):
    """A copy and its original."""

    copy: TailRecord
    original: TailRecord


@dataclass(frozen=True)
class Alike:
    """How copies compare with originals, of one log or of all logs of a topic.

    *late* are those *matches* that follow a copy of a later original, and for the first time; *aliens* are between
    matches and have no original among those compared.
    """

    copies: int = 0
    originals: int = 0
    matches: tuple[CopyMatch, ...] = ()
    late: tuple[TailRecord, ...] = ()
    aliens: tuple[TailRecord, ...] = ()

    def __add__(self, other: Alike) -> Alike:
        return Alike(*(getattr(self, name) + getattr(other, name) for name in self.__match_args__))


_Topics = Mapping[str, Alike]
_Chosen = Callable[[Alike], Sequence[TailRecord]]


def difference(config: Config, one: RecordContent, other: RecordContent) -> str | None:
    """Return how the next records of both sides differ in what the mirror keeps; None where they do not."""
    here, there = (replace(each, headers=without_added(each.headers)) for each in (one, other))
    return difference_in(here, there, ("key", "value", *(_KEPT[each] for each in contents_of(config).keeps)))


def judge(config: Config, seen: Mapping[str, SeenLogs], alias: str) -> list[Finding]:
    """Return findings on the newest copies at *alias*, compared with originals that are read from other clusters."""
    contents = contents_of(config)
    line, topics = partial(about, f"clusters.{alias}", "copies"), _compared_topics(config, seen, alias)
    matched = {name: each for name, each in topics.items() if each.matches}
    broken = [*_broken_promises(contents, matched, line)]
    right = matched.keys() - {name for each in broken for name in each.topics}
    return [*broken, *_more(contents, matched, line), *_others(contents, topics, right, line)]


def _broken_promises(mirror: Contents, topics: _Topics, line: Callable[..., Finding]) -> Iterator[Finding]:
    remedy = "of keeps and begin with new tables"
    moved = _where(topics, lambda one: [m.copy for m in one.matches if not _keeps_time(m)])
    if "timestamps" in mirror.keeps and moved:
        text = f"{_share(moved, topics)} have other times than their originals, so none can be matched"
        if any(copy.is_appended for some in moved.values() for copy in some):
            text = f"{_share(moved, topics)} have timestamps of their own (message.timestamp.type=LogAppendTime)"
            remedy = "of keeps, or set it to CreateTime, and begin with new tables"
        yield line(Level.FAIL, f"{text}; leave timestamps out {remedy}", moved)
    other = _where(topics, lambda one: [m.copy for m in one.matches if not _keeps_headers(m)])
    if "headers" in mirror.keeps and other:
        text = f"{_share(other, topics)} have other headers than their originals; leave headers out of keeps"
        yield line(Level.FAIL, f"{text} and begin with new tables", other)
    late = _where(topics, lambda one: one.late)
    if mirror.order == "kept" and late:
        text = f"{_share(late, topics)} come behind later ones, first at offset {_first(late)}; set order: any,"
        yield line(Level.WARN, f"{text} or have the mirror keep the order (idempotence)", late)
    if aliens := _where(topics, lambda one: one.aliens):
        count, of_all = sum(map(len, aliens.values())), sum(topics[name].copies for name in aliens)
        text = f"{count} of {of_all} have key and value of no original, first at offset {_first(aliens)}: unread by"
        yield line(Level.WARN, f"{text} everyone; find out what changes records, or who writes to the copy", aliens)


def _more(mirror: Contents, topics: _Topics, line: Callable[..., Finding]) -> Iterator[Finding]:
    """Yield what copies keep and ``keeps`` omits: with it more answers would be exact."""
    matches = [each for one in topics.values() for each in one.matches]
    with_headers = [each for each in matches if without_added(each.original.content.headers)]
    kept = {
        "timestamps": len(matches) >= _ENOUGH and all(map(_keeps_time, matches)),
        "headers": len(with_headers) >= _ENOUGH and all(map(_keeps_headers, matches)),
    }
    for name in (name for name, is_kept in kept.items() if is_kept and name not in mirror.keeps):
        text = f"all {len(matches)} copies looked at have {name} of their originals, which keeps leaves out; add"
        yield line(Level.WARN, f"{text} them, with new tables, and more answers are exact", topics)


def _others(mirror: Contents, topics: _Topics, right: set[str], line: Callable[..., Finding]) -> Iterator[Finding]:
    """Yield the topics without a match, those where nothing could be compared, and those that are *right*."""
    if untold := {name: one for name, one in topics.items() if one.originals and not one.matches}:
        copies, originals = (sum(getattr(one, what) for one in untold.values()) for what in ("copies", "originals"))
        text = f"none of {copies} copies has key and value of exactly one of {originals} originals of that time; find"
        yield line(Level.WARN, f"{text} out whether this is a copy, what changes records, or who repeats", untold)
    if silent := [name for name, one in topics.items() if not one.originals]:
        text = "no record there yet, or its origin has none of these records any more, or did not answer in time"
        yield line(Level.SKIP, text, silent)
    if right:
        count = sum(len(topics[name].matches) for name in right)
        says = " and ".join(("order", *mirror.keeps)) if mirror.order == "kept" else "keeps"
        yield line(Level.OK, f"{count} copies have originals, and {says} hold as the file says", right)


def _keeps_time(pair: CopyMatch) -> bool:
    return pair.copy.content.timestamp_ms == pair.original.content.timestamp_ms


def _keeps_headers(pair: CopyMatch) -> bool:
    """Return whether the copy has the headers of its original, apart from those that mirrors add."""
    copy, original = (without_added(each.content.headers) for each in pair)
    return copy == original


def _where(topics: _Topics, chosen: _Chosen) -> dict[str, Sequence[TailRecord]]:
    return {name: found for name, one in topics.items() if (found := chosen(one))}


def _share(found: Mapping[str, Sequence[TailRecord]], topics: _Topics) -> str:
    return f"{sum(map(len, found.values()))} of {sum(len(topics[name].matches) for name in found)}"


def _first(found: Mapping[str, Sequence[TailRecord]]) -> int:
    return next(iter(found.values()))[0].content.offset


def _compared_topics(config: Config, seen: Mapping[str, SeenLogs], alias: str) -> dict[str, Alike]:
    """Return how the copies at *alias* compare with originals, by their topic's name there."""
    mine = seen[alias]
    origins = {s: origin for s in mine.partitions if (origin := origin_of(config, s)) not in (None, alias)}
    found = {config.names.outside(alias, stream): Alike() for stream in origins}
    for origin in {*origins.values()} & seen.keys():
        there = seen[str(origin)]
        logs = {place: each for place, each in mine.records.items() if each and origins.get(place.topic) == origin}
        compared = {place: _compared(each, there.records.get(place, ())) for place, each in logs.items()}
        lagging = [place for place, one in compared.items() if not one.matches and place in there.ends]
        for place, originals in _around(there, logs, lagging).items():
            compared[place] = _compared(logs[place], originals) if originals else compared[place]
        for place, one in compared.items():
            if one.originals:
                found[config.names.outside(alias, place.topic)] += one
    return found


def _around(
    there: SeenLogs, copies: Mapping[TopicPartition, Sequence[TailRecord]], places: Sequence[TopicPartition]
) -> Mapping[TopicPartition, Sequence[TailRecord]]:
    """Return originals around the time of the oldest copies that were read, each log in its order."""
    if not places:
        return {}
    try:
        near = there.reader.offsets_at({place: copies[place][0].content.timestamp_ms for place in places})
        ranges = {}
        for place, offset in near.items():
            ends = there.ends[place]
            ranges[place] = OffsetRange(max(ends.log_start, offset - _AROUND), min(ends.log_end, offset + 2 * _AROUND))
        return there.reader.read(ranges, is_committed=False).records
    except ClusterError:
        return {}


def _compared(copies: Sequence[TailRecord], originals: Sequence[TailRecord]) -> Alike:
    """Match *copies* with *originals*, both of one log each and in its order.

    Only certain matches count: the original is the only one with this key and value, or the only one of these with the
    copy's timestamp.
    """
    by_content: dict[tuple[bytes | None, bytes | None], list[TailRecord]] = defaultdict(list)
    for each in originals:
        by_content[each.content.key, each.content.value].append(each)
    matches, rows, aliens = list[CopyMatch](), list[int](), list[TailRecord]()
    for row, copy in enumerate(copies):
        found = by_content.get((copy.content.key, copy.content.value), [])
        if len(found) > 1:
            found = [each for each in found if each.content.timestamp_ms == copy.content.timestamp_ms]
        if len(found) == 1:
            matches.append(CopyMatch(copy, *found))
            rows.append(row)
    for (first, end), (before, behind) in zip(pairwise(rows), pairwise(matches), strict=True):
        # A mirror that goes back may send records older than all originals compared.
        if before.original.content.offset < behind.original.content.offset:
            aliens += [c for c in copies[first:end] if (c.content.key, c.content.value) not in by_content]
    return Alike(len(copies), len(originals), tuple(matches), tuple(_late(matches)), tuple(aliens))


def _late(matches: Sequence[CopyMatch]) -> Iterator[TailRecord]:
    """Yield copies after one of a later original, unless their original came before or is older than the first.

    A mirror that goes back resends records. What it sent before the first copy here is unknown: errs to in order.
    """
    seen, latest = set[int](), -1
    for copy, original in matches:
        offset = original.content.offset
        if matches[0].original.content.offset < offset < latest and offset not in seen:
            yield copy
        latest = max(latest, offset)
        seen.add(offset)
