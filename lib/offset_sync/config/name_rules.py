"""What ``mirror.names`` may say: a word, or rules that can be read backwards. Checked on the plain tree."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from offset_sync.config.name_patterns import pattern_problem
from offset_sync.config.prefix_names import PrefixNames, ambiguous_aliases
from offset_sync.config.problem import KeyPath, Problem
from offset_sync.config.rule_names import RuleNames, irreversible, to_renaming
from offset_sync.config.stream_names import SAME_NAMES, MirroredNames, Names

WORDS = ("same", "mm2")
_KEYS = ("from", "to", "topics", "name")
_LEGAL = re.compile(r"[A-Za-z0-9._-]*")
_PATH: KeyPath = ("mirror", "names")


def to_names(word_or_rules: object, separator: str, aliases: Mapping[str, str]) -> Names:
    """Return the names that the configuration means; *aliases* are the mirror's, by ours."""
    if word_or_rules == "same":
        return SAME_NAMES
    if word_or_rules == "mm2":
        return MirroredNames(PrefixNames(dict(aliases), separator))
    assert isinstance(word_or_rules, Sequence)
    return MirroredNames(RuleNames(tuple(to_renaming(each, aliases) for each in word_or_rules), tuple(aliases)))


def mirror_aliases(clusters: Mapping[str, Any]) -> dict[str, str]:
    """Return what the mirror calls each cluster: by default its alias."""
    return {alias: str(each.get("mirror_alias") or alias) for alias, each in clusters.items()}


def name_problems(mirror: Mapping[str, Any], clusters: Mapping[str, Mapping[str, Any]]) -> Iterator[Problem]:
    """Yield what is wrong with the names of copies."""
    wanted, separator = mirror.get("names", "same"), mirror.get("separator", ".")
    if isinstance(separator, str) and not _LEGAL.fullmatch(separator):
        yield Problem(("mirror", "separator"), "stands in no name of a topic; use A-Z a-z 0-9 . _ -")
        return
    aliases = mirror_aliases(clusters)
    if wanted == "same":
        return
    yield from _alias_problems(aliases)
    if wanted == "mm2":
        if isinstance(separator, str) and separator:
            yield from _prefix_problems(aliases, separator)
    elif isinstance(wanted, (list, tuple)) and wanted:
        problems = [each for number, rule in enumerate(wanted) for each in _rule_problems(number, rule, clusters)]
        yield from problems
        if not problems:
            names = RuleNames(tuple(to_renaming(each, aliases) for each in wanted), tuple(aliases))
            internal = [number for number, each in enumerate(names.rules) if each.prefix.startswith("__")]
            for number in internal:
                yield Problem((*_PATH, number, "name"), "begins with __, as a cluster's own topics do; begin otherwise")
            yield from (Problem((*_PATH, number), text) for number, text in irreversible(names))
    else:
        yield Problem(_PATH, "is none of its values; use same, mm2 or a list of rules {from, to, topics, name}")


def _alias_problems(aliases: Mapping[str, str]) -> Iterator[Problem]:
    owners: dict[str, str] = {}
    for cluster, alias in aliases.items():
        path = ("clusters", cluster, "mirror_alias")
        if not _LEGAL.fullmatch(alias) or alias.startswith("__"):
            yield Problem(path, f"{alias!r} begins no name of a topic; use A-Z a-z 0-9 . _ - and no __ in front")
        elif alias in owners:
            yield Problem(path, f"{alias!r} is what the mirror calls clusters.{owners[alias]} too; correct one of them")
        owners.setdefault(alias, cluster)


def _prefix_problems(aliases: Mapping[str, str], separator: str) -> Iterator[Problem]:
    for cluster, alias in aliases.items():
        if f"{alias}{separator}".startswith("__") and not alias.startswith("__"):
            text = f"copies begin with {alias}{separator}, as a cluster's own topics do; choose another separator"
            yield Problem(("clusters", cluster, "mirror_alias"), text)
    for one, other in ambiguous_aliases(aliases, separator):
        if aliases[one] != aliases[other]:
            first, second = f"{aliases[one]}{separator}", f"{aliases[other]}{separator}"
            text = f"{second!r} begins as copies of {one} do ({first!r}), so nobody can tell them apart; rename one"
            yield Problem(("clusters", other, "mirror_alias"), text)


def _rule_problems(number: int, rule: object, clusters: Mapping[str, Any]) -> Iterator[Problem]:
    path: KeyPath = (*_PATH, number)
    if not isinstance(rule, Mapping):
        yield Problem(path, "is no rule; write {from: dc1, to: dc2, topics: 'pay-.*', name: '{topic}-replica'}")
        return
    if unknown := sorted(map(str, rule.keys() - {*_KEYS})):
        yield Problem((*path, unknown[0]), f"unknown key; remove it, known here: {', '.join(_KEYS)}")
    for key in _KEYS:
        if not isinstance(rule.get(key), str) or not rule[key]:
            yield Problem((*path, key), "is missing or no text; add it as in conf/reference.yaml")
            return
    for key in ("from", "to"):
        if rule[key] not in clusters:
            yield Problem((*path, key), f"no cluster {rule[key]!r}; use aliases below clusters")
    if rule["from"] == rule["to"]:
        yield Problem((*path, "to"), "is the same cluster as from; name two")
    if problem := pattern_problem(rule["topics"]):
        yield Problem((*path, "topics"), f"{rule['topics']!r} {problem}")
    rest = rule["name"].replace("{from}", "").replace("{to}", "")
    if rest.count("{topic}") != 1:
        yield Problem((*path, "name"), "has not {topic} once, so nobody could tell what it was called; write it once")
    elif not _LEGAL.fullmatch(rest.replace("{topic}", "")):
        yield Problem((*path, "name"), "is no name of a topic; use {topic}, {from}, {to} and A-Z a-z 0-9 . _ -")
