"""Rules between values of a configuration that are valid by themselves."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import permutations
from posixpath import normpath

from offset_sync.config.client_options import option_problems
from offset_sync.config.configuration import Config
from offset_sync.config.extensions import load_part
from offset_sync.config.mirror import REDPANDA, Mirror, is_part_of_name
from offset_sync.config.problems import KeyPath, Problem, repeated

_ALIAS = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,64}")


def rule_problems(config: Config) -> Iterator[Problem]:
    """Yield a problem for every rule that *config* breaks."""
    if len(config.clusters) < 2:
        yield Problem(("clusters",), "fewer than two clusters, so there is nothing to sync to; add another")
    for alias, cluster in config.clusters.items():
        # An alias is the name of a folder below the checkpoints, and "." and ".." would lead out of it.
        if not _ALIAS.fullmatch(alias):
            yield Problem(("clusters", alias), "not an alias; use 1 to 64 of A-Z a-z 0-9 . _ -")
        for path, text in option_problems(cluster):
            yield Problem(("clusters", alias, *path), text)
    yield from _origin_problems({alias: cluster.origin for alias, cluster in config.clusters.items()})
    yield from _direction_problems(config.directions, config.clusters)
    yield from _header_problems(config.mirror, len(config.clusters))
    yield from _extension_problems(config)
    yield from _name_problems(config)
    if config.polled() and timedelta(0) < config.sync.home_silence < 2 * config.sync.poll_interval:
        text = "is less than twice sync.poll_interval: a group that commits would count as silent; make it longer"
        yield Problem(("sync", "home_silence"), text)
    if normpath(config.tables.root) == normpath(config.tables.checkpoints):
        yield Problem(("tables", "checkpoints"), "is the same as tables.root; choose a folder of its own")


def cautions(config: Config) -> Iterator[Problem]:
    """Yield what *config* leaves unverified, though it works. Refuses no start."""
    is_copied_on = config.mirror.names == "mm2" and len(config.clusters) > 2
    if config.mirror.place_header or not config.is_stamped or not is_copied_on:
        return
    text = (
        f"is empty, and with mirror.names mm2 and {len(config.clusters)} clusters a copy may come by way of another "
        "cluster: whether its offset is that at its origin cannot be verified then; have the mirror stamp the place "
        "(docs/mirrors.md), and name that header here"
    )
    yield Problem(("mirror", "place_header"), text)


def _origin_problems(origins: Mapping[str, str]) -> Iterator[Problem]:
    """Yield origins that could mean two clusters; a cluster whose id is not known yet has none."""
    twice = repeated({alias: each for alias, each in origins.items() if each == alias or each not in origins})
    for alias, origin in origins.items():
        path = ("clusters", alias, "origin")
        if origin != alias and origin in origins:
            yield Problem(path, f"{origin!r} is the alias of another cluster; correct it or rename that alias")
        elif alias in twice:
            yield Problem(path, f"{origin!r} is the origin of clusters.{twice[alias]} too; give each its own")


def end_problem(ends: tuple[str, str], clusters: Collection[str]) -> str:
    """Return what is wrong with the *ends* of a direction; empty where nothing is."""
    if unknown := sorted({*ends} - {*clusters}):
        return f"no cluster {' or '.join(map(repr, unknown))}; use aliases below clusters"
    return "source and target are the same cluster; name two" if ends[0] == ends[1] else ""


def _direction_problems(directions: Sequence[tuple[str, str]], clusters: Collection[str]) -> Iterator[Problem]:
    for number, direction in enumerate(directions):
        if text := end_problem(direction, clusters):
            yield Problem(("directions", number), text)


def _header_problems(mirror: Mirror, cluster_count: int) -> Iterator[Problem]:
    for key, first in repeated(mirror.header_columns()).items():
        yield Problem(("mirror", key), f"is the same as mirror.{first}; name the other header")
    if mirror.is_closed and cluster_count > 2:
        text = (
            f"{REDPANDA} needs two clusters, and there are {cluster_count}: at every hop it keeps the id of the first "
            "cluster and overwrites the offset, so a copy that came by way of a third one has an offset of another "
            "cluster than it says; leave two clusters, or use a mirror that keeps both"
        )
        yield Problem(("mirror", "preset"), text)


def _extension_problems(config: Config) -> Iterator[Problem]:
    for name in config.extensions:
        path: KeyPath = ("extensions", name)
        try:
            yield from load_part(name, "checks").problems(config)
        except LookupError:
            yield Problem(path, "no such extension is installed; correct the name, or install its package")
    if len(config.extensions) > 1:
        yield Problem(("extensions",), "are several, and one alone tells copies; leave one")


def _name_problems(config: Config) -> Iterator[Problem]:
    """Yield problems of the names of copies, from which those of the originals have to follow."""
    if config.mirror.names == "same":
        return
    aliases = config.mirror_aliases()
    prefixes = {cluster: f"{alias}{config.mirror.separator}" for cluster, alias in aliases.items()}
    for cluster, alias in aliases.items():
        path = ("clusters", cluster, "mirror_alias")
        if not is_part_of_name(alias) or prefixes[cluster].startswith("__"):
            yield Problem(path, f"{alias!r} cannot begin the name of a topic; use A-Z a-z 0-9 . _ - and no __ in front")
    for (one, first), (other, second) in permutations(prefixes.items(), 2):
        if second.startswith(first):
            text = f"{second!r} begins as copies of {one} do ({first!r}), so they are ambiguous; rename one"
            yield Problem(("clusters", other, "mirror_alias"), text)
