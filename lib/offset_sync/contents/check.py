"""What ``check`` says of copies without headers: the newest ones beside originals of about the same time.

Which copy is of which original, what copies keep of it, and whether the mirror does what ``mirror.keeps``, ``order``
and ``exclusive`` promise.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from offset_sync.config import Config
from offset_sync.config.mirror import PRESETS
from offset_sync.kafka.range_reader import OffsetRange
from offset_sync.kafka.tail_reader import Pair, SeenLogs, TailRecord
from offset_sync.model.errors import ClusterError
from offset_sync.model.finding import Finding, Level, Lines
from offset_sync.model.values import TopicPartition

_ENOUGH = 5
"""So many copies and their originals have to be alike before more is promised than the file does."""
_AROUND = 200
"""So many originals before the time of the oldest copy that was read are looked at, and twice as many after it."""
_TIMES = "have times of their own (message.timestamp.type=LogAppendTime)"
_NO_RECORD = "no record there yet"
_NO_ORIGIN = "its origin has none of these records any more, or did not answer in time"
_Each = TypeVar("_Each")
_Content = tuple[bytes | None, bytes | None]


@dataclass(frozen=True)
class Alike:
    """What was found of one log of copies; *aliens* stand between matches and have no original among those around.

    *are_alike*: copies have originals with their contents, but each of them several.
    """

    copies: int
    originals: int
    matches: Sequence[Pair]
    aliens: Sequence[TailRecord]
    are_alike: bool

    @property
    def disordered(self) -> Iterator[Pair]:
        """Yield the copies that come behind one of a later original, and for the first time.

        A mirror that goes back sends what it has sent before. What it sent before the first copy here nobody can tell,
        so it errs to in order.
        """
        seen: set[int] = set()
        latest = first = -1
        for each in self.matches:
            offset = each.original.content.offset
            first = offset if first < 0 else first
            if first < offset < latest and offset not in seen:
                yield each
            latest = max(latest, offset)
            seen.add(offset)


_Found = Mapping[TopicPartition, Alike]
"""By the log of the copies."""
_Topics = Mapping[str, Sequence[Alike]]


def judge_contents(config: Config, seen: Mapping[str, SeenLogs], alias: str) -> list[Finding]:
    """Return what the newest copies at *alias* show, beside the originals at other clusters, which are asked."""
    return list(_judged(config, alias, *_compared_logs(config, seen, alias)))


def _judged(config: Config, alias: str, found: _Found, silent: Mapping[str, str]) -> Iterator[Finding]:
    """Yield what the copies at *alias* show of ``keeps``, ``order`` and ``exclusive``.

    *silent* are names of topics at *alias* of which nothing could be compared, and why.
    """
    lines = Lines(f"clusters.{alias}", "copies")
    topics: dict[str, list[Alike]] = {}
    for place, each in found.items():
        topics.setdefault(config.names.outside(alias, place.topic), []).append(each)
    findings = [*_keeps(config, topics, lines), *_order(config, topics, lines), *_aliens(topics, lines)]
    yield from findings
    yield from _more(config, topics, lines)
    none = {name: each for name, each in topics.items() if not _matches(each)}
    yield from _nothing_found(none, lines)
    for reason in sorted(set(silent.values())):
        yield lines.of(Level.SKIP, reason, [name for name, why in silent.items() if why == reason])
    wrong = {name for each in findings for name in each.topics}
    if right := topics.keys() - none.keys() - wrong:
        count = sum(len(_matches(topics[name])) for name in right)
        says = " and ".join(("order", *config.mirror.keeps)) if config.mirror.order == "kept" else "keeps"
        yield lines.of(Level.OK, f"{count} copies have originals, and {says} hold as the file says", right)


def _keeps(config: Config, topics: _Topics, lines: Lines) -> Iterator[Finding]:
    keeps = config.mirror.keeps
    if "timestamps" in keeps and (bad := _where(topics, lambda one: (m for m in one.matches if not m.keeps_time))):
        is_appended = any(each.copy.is_appended for some in bad.values() for each in some)
        others = _TIMES if is_appended else "have other times than their originals"
        text = f"{_share(bad, topics)} {others}, so none is told by contents; leave timestamps out of mirror.keeps"
        remedy = ", or set it to CreateTime, and begin" if is_appended else " and begin"
        yield lines.of(Level.FAIL, f"{text}{remedy} with new tables", bad)
    if "headers" in keeps and (bad := _where(topics, lambda one: (m for m in one.matches if not m.keeps_headers))):
        added = _added_headers([each for some in bad.values() for each in some])
        names = f" ({', '.join(added)} added)" if added else ""
        text = f"{_share(bad, topics)} have other headers than their originals{names}; leave headers out of"
        yield lines.of(Level.FAIL, f"{text} mirror.keeps and begin with new tables{_of_preset(added)}", bad)


def _of_preset(added: Sequence[str]) -> str:
    fits = next((name for name, each in PRESETS.items() if {each.origin_header, each.offset_header} <= {*added}), "")
    return f", or better leave mirror.identity out: these are those of mirror.preset {fits}" if fits else ""


def _more(config: Config, topics: _Topics, lines: Lines) -> Iterator[Finding]:
    """Yield what copies keep and the file does not say: with it more answers would be exact."""
    matches = [each for some in topics.values() for each in _matches(some)]
    kept = {
        "timestamps": len(matches) >= _ENOUGH and all(each.keeps_time for each in matches),
        "headers": sum(bool(each.original.content.headers) for each in matches) >= _ENOUGH
        and all(each.keeps_headers for each in matches),
    }
    for name in (name for name, is_kept in kept.items() if is_kept and name not in config.mirror.keeps):
        text = f"all {len(matches)} copies looked at have {name} of their originals, which mirror.keeps leaves out; add"
        yield lines.of(Level.WARN, f"{text} them, with new tables, and more answers are exact", topics)


def _order(config: Config, topics: _Topics, lines: Lines) -> Iterator[Finding]:
    if config.mirror.order == "kept" and (bad := _where(topics, lambda one: one.disordered)):
        first = next(iter(bad.values()))[0].copy.content.offset
        text = f"{_share(bad, topics)} come behind later ones, first at offset {first}; set mirror.order: any, or have"
        yield lines.of(Level.WARN, f"{text} the mirror keep the order (one request in flight, or idempotence)", bad)


def _aliens(topics: _Topics, lines: Lines) -> Iterator[Finding]:
    if bad := _where(topics, lambda one: one.aliens):
        count, of_all = sum(map(len, bad.values())), sum(one.copies for name in bad for one in topics[name])
        first = next(iter(bad.values()))[0].content.offset
        text = f"{count} of {of_all} have key and value of no original, first at offset {first}: unread by everyone"
        yield lines.of(Level.WARN, f"{text}; find out what changes records, or who writes to the copy", bad)


def _nothing_found(none: _Topics, lines: Lines) -> Iterator[Finding]:
    alike = {name for name, some in none.items() if any(each.are_alike for each in some)}
    if alike:
        text = "hardly any has a key and value of its own, so nothing shows of order and keeps, and answers are early"
        yield lines.of(Level.WARN, f"{text} or withheld as AMBIGUOUS; have the mirror stamp headers", alike)
    if other := none.keys() - alike:
        copies = sum(each.copies for name in other for each in none[name])
        originals = sum(each.originals for name in other for each in none[name])
        text = f"none of {copies} copies has key and value of one of {originals} originals of that time"
        yield lines.of(Level.WARN, f"{text}; find out whether this is a copy, and what changes its records", other)


def _where(topics: _Topics, found_in: Callable[[Alike], Iterable[_Each]]) -> dict[str, list[_Each]]:
    found = {name: [each for one in some for each in found_in(one)] for name, some in topics.items()}
    return {name: each for name, each in found.items() if each}


def _share(bad: Mapping[str, Sequence[Pair]], topics: _Topics) -> str:
    return f"{sum(map(len, bad.values()))} of {sum(len(_matches(topics[name])) for name in bad)}"


def _matches(some: Sequence[Alike]) -> list[Pair]:
    return [each for one in some for each in one.matches]


def _compared_logs(
    config: Config, seen: Mapping[str, SeenLogs], alias: str
) -> tuple[dict[TopicPartition, Alike], dict[str, str]]:
    """Return how the copies at *alias* compare with originals, log by log; of other topics, by name, why not."""
    mine = seen[alias]
    origins = {s: origin for s in mine.partitions if (origin := config.origin_of(s)) not in (None, alias)}
    found, lagging = dict[TopicPartition, Alike](), dict[str, list[TopicPartition]]()
    for stream, origin in origins.items():
        for place, copies in mine.logs_of(stream).items():
            there = seen.get(str(origin))
            if there is not None and place in there.ends:
                found[place] = _compared(copies, there.records.get(place, ()))
                if not found[place].matches:
                    lagging.setdefault(str(origin), []).append(place)
    for origin, places in lagging.items():
        for place, originals in _around(seen[origin], mine, places).items():
            found[place] = _compared(mine.records[place], originals) if originals else found[place]
    found = {place: each for place, each in found.items() if each.originals}
    compared_streams = {place.topic for place in found}
    silent = {
        config.names.outside(alias, stream): _NO_ORIGIN if mine.logs_of(stream) else _NO_RECORD
        for stream in origins.keys() - compared_streams
    }
    return found, silent


def _around(
    there: SeenLogs, mine: SeenLogs, places: list[TopicPartition]
) -> Mapping[TopicPartition, Sequence[TailRecord]]:
    """Return originals around the time of the oldest copies that were read, each log in its order."""
    times = {place: mine.records[place][0].content.timestamp_ms for place in places}
    try:
        near = there.reader.offsets_at(times)
        ranges = {}
        for place, offset in near.items():
            ends = there.ends[place]
            ranges[place] = OffsetRange(max(ends.log_start, offset - _AROUND), min(ends.log_end, offset + 2 * _AROUND))
        return there.reader.read(ranges, is_committed=False).records
    except ClusterError:
        return {}


def _compared(copies: Sequence[TailRecord], originals: Sequence[TailRecord]) -> Alike:
    """Return which of *copies* are of which of *originals*, both of one log each and in its order.

    Only what is certain: an original with the same key and value that has no other one like it, or whose time alone is
    the copy's.
    """
    by_content: dict[_Content, list[TailRecord]] = defaultdict(list)
    for each in originals:
        by_content[each.content.key, each.content.value].append(each)
    matches, rows, is_any = list[Pair](), list[int](), False
    for row, copy in enumerate(copies):
        found = by_content.get((copy.content.key, copy.content.value), [])
        is_any = is_any or bool(found)
        if len(found) > 1:
            found = [each for each in found if each.content.timestamp_ms == copy.content.timestamp_ms]
        if len(found) == 1:
            matches.append(Pair(copy, found[0]))
            rows.append(row)
    aliens = [
        each
        for number, (row, end) in enumerate(pairwise(rows))
        # Where the mirror goes back it may send what is older than all originals around.
        if matches[number].original.content.offset < matches[number + 1].original.content.offset
        for each in copies[row:end]
        if (each.content.key, each.content.value) not in by_content
    ]
    return Alike(len(copies), len(originals), matches, aliens, is_any and not matches)


def _added_headers(matches: Sequence[Pair]) -> list[str]:
    """Return the names of headers that most copies have and their originals lack."""
    counted = Counter(
        name
        for copy, original in matches
        for name in {name for name, _ in copy.content.headers} - {name for name, _ in original.content.headers}
    )
    return sorted(name for name, count in counted.items() if 2 * count > len(matches))
