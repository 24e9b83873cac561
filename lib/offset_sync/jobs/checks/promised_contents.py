"""Whether a mirror does what ``mirror.identity: fingerprint`` relies on, as far as the newest records tell. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from offset_sync.config import Config
from offset_sync.config.presets import PRESETS
from offset_sync.jobs.checks.alike import Alike, Match, added_headers
from offset_sync.jobs.checks.stamped_copies import TIMES
from offset_sync.model.finding import Finding, Level, Lines
from offset_sync.model.values import TopicPartition

_ENOUGH = 5
"""So many copies and their originals have to be alike before more is promised than the file does."""
Found = Mapping[TopicPartition, Alike]
"""By the log of the copies."""
_Topics = Mapping[str, Sequence[Alike]]


def judge_contents(config: Config, alias: str, found: Found, silent: Mapping[str, str]) -> Iterator[Finding]:
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
        yield lines.of(Level.SKIP, [name for name, why in silent.items() if why == reason], reason)
    wrong = {name for each in findings for name in each.topics}
    if right := topics.keys() - none.keys() - wrong:
        count = sum(len(_matches(topics[name])) for name in right)
        says = " and ".join(("order", *config.mirror.keeps)) if config.mirror.order == "kept" else "keeps"
        yield lines.of(Level.OK, right, f"{count} copies have originals, and {says} hold as the file says")


def _keeps(config: Config, topics: _Topics, lines: Lines) -> Iterator[Finding]:
    keeps = config.mirror.keeps
    if "timestamps" in keeps and (bad := _where(topics, lambda each: not each.keeps_time)):
        is_appended = any(each.copy.is_appended for some in bad.values() for each in some)
        others = TIMES if is_appended else "have other times than their originals"
        text = f"{_share(bad, topics)} {others}, so none is told by contents; leave timestamps out of mirror.keeps"
        remedy = ", or set it to CreateTime, and begin" if is_appended else " and begin"
        yield lines.of(Level.FAIL, bad, f"{text}{remedy} with new tables")
    if "headers" in keeps and (bad := _where(topics, lambda each: not each.keeps_headers)):
        added = added_headers([each for some in bad.values() for each in some])
        names = f" ({', '.join(added)} added)" if added else ""
        text = f"{_share(bad, topics)} have other headers than their originals{names}; leave headers out of"
        yield lines.of(Level.FAIL, bad, f"{text} mirror.keeps and begin with new tables{_of_preset(added)}")


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
        yield lines.of(Level.WARN, topics, f"{text} them, with new tables, and more answers are exact")


def _order(config: Config, topics: _Topics, lines: Lines) -> Iterator[Finding]:
    bad = {name: [each for one in some for each in one.disordered] for name, some in topics.items()}
    bad = {name: each for name, each in bad.items() if each}
    if bad and config.mirror.order == "kept":
        first = next(iter(bad.values()))[0].copy.content.offset
        text = f"{_share(bad, topics)} come behind later ones, first at offset {first}; set mirror.order: any, or have"
        yield lines.of(Level.WARN, bad, f"{text} the mirror keep the order (one request in flight, or idempotence)")


def _aliens(topics: _Topics, lines: Lines) -> Iterator[Finding]:
    bad = {name: [each for one in some for each in one.aliens] for name, some in topics.items()}
    bad = {name: each for name, each in bad.items() if each}
    if bad:
        count, of_all = sum(map(len, bad.values())), sum(one.copies for name in bad for one in topics[name])
        first = next(iter(bad.values()))[0].content.offset
        text = f"{count} of {of_all} have key and value of no original, first at offset {first}: unread by everyone"
        yield lines.of(Level.WARN, bad, f"{text}; find out what changes records, or who writes to the copy")


def _nothing_found(none: _Topics, lines: Lines) -> Iterator[Finding]:
    alike = {name for name, some in none.items() if any(each.are_alike for each in some)}
    if alike:
        text = "hardly any has a key and value of its own, so nothing shows of order and keeps, and answers are early"
        yield lines.of(Level.WARN, alike, f"{text} or withheld as AMBIGUOUS; have the mirror stamp headers")
    if other := none.keys() - alike:
        copies = sum(each.copies for name in other for each in none[name])
        originals = sum(each.originals for name in other for each in none[name])
        text = f"none of {copies} copies has key and value of one of {originals} originals of that time"
        yield lines.of(Level.WARN, other, f"{text}; find out whether this is a copy, and what changes its records")


def _where(topics: _Topics, is_one: Callable[[Match], bool]) -> dict[str, list[Match]]:
    found = {name: [each for each in _matches(some) if is_one(each)] for name, some in topics.items()}
    return {name: each for name, each in found.items() if each}


def _share(bad: Mapping[str, Sequence[Match]], topics: _Topics) -> str:
    return f"{sum(map(len, bad.values()))} of {sum(len(_matches(topics[name])) for name in bad)}"


def _matches(some: Sequence[Alike]) -> list[Match]:
    return [each for one in some for each in one.matches]
