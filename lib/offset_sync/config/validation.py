"""Rules between several values, checked on the plain tree before it is validated section by section.

The tree may be wrong in other ways too; checking it first lets these problems be reported together with the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from posixpath import normpath
from typing import Any

from offset_sync.config.client_options import bootstrap_problem, kerberos_problem, login_problem, option_problems
from offset_sync.config.contents import identity_problems
from offset_sync.config.name_rules import name_problems
from offset_sync.config.presets import preset_of, preset_problems
from offset_sync.config.problem import KeyPath, Problem
from offset_sync.config.sections import Cluster, Section, Security, Tables
from offset_sync.config.security_options import said_twice, security_problems

_ALIAS = re.compile(r"[A-Za-z0-9._-]{1,64}")


def rule_problems(tree: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a problem for every rule that *tree* breaks; parts of a wrong type are skipped, pydantic refuses them."""
    clusters = _mapping(tree.get("clusters"))
    if isinstance(tree.get("clusters"), Mapping) and len(clusters) < 2:
        yield Problem(("clusters",), "fewer than two clusters, so there is nothing to sync to; add another")
    for alias, cluster in clusters.items():
        yield from _alias_problems(alias)
        if isinstance(cluster, (Mapping, Cluster)):
            yield from _option_map_problems(alias, _mapping(cluster))
            yield from _security_problems(alias, _mapping(cluster))
    mirror, origins = _mapping(tree.get("mirror")), {each: _mapping(clusters[each]).get("origin") for each in clusters}
    yield from _origin_problems(origins, is_asked=preset_of(mirror).asks_ids)
    yield from _direction_problems(tree.get("directions", "all"), list(clusters))
    yield from _header_problems(mirror)
    yield from preset_problems(mirror, len(clusters))
    yield from identity_problems(mirror, _mapping(tree.get("topics")), list(clusters))
    yield from name_problems(mirror, {alias: _mapping(each) for alias, each in clusters.items()})
    are_named = mirror.get("names") == "mm2"
    yield from _original_problems(_mapping(tree.get("topics")), list(clusters), are_named=are_named)
    yield from _path_problems(_mapping(tree.get("tables")))


def _mapping(value: object) -> Mapping[str, Any]:
    if isinstance(value, Section):
        return dict(value)
    return value if isinstance(value, Mapping) else {}


def _alias_problems(alias: str) -> Iterator[Problem]:
    # An alias becomes the name of a folder below the checkpoints, and "." and ".." would lead out of it.
    if not _ALIAS.fullmatch(alias) or alias in (".", ".."):
        yield Problem(("clusters", alias), "not an alias; use 1 to 64 of A-Z a-z 0-9 . _ -")


def _option_map_problems(alias: str, cluster: Mapping[str, Any]) -> Iterator[Problem]:
    path: KeyPath = ("clusters", alias)
    for stack in ("kafka", "spark", "admin"):
        for name, reason in option_problems(_mapping(cluster.get(stack)), stack):
            yield Problem((*path, stack, name), reason)
    kafka, admin = _mapping(cluster.get("kafka")), _mapping(cluster.get("admin"))
    for problem in (login_problem, kerberos_problem):
        if text := problem({**kafka, **admin}):
            yield Problem((*path, "admin"), text)
    servers = kafka.get("bootstrap.servers")
    if "bootstrap.servers" not in kafka and isinstance(cluster.get("kafka", kafka), Mapping):
        yield Problem((*path, "kafka"), "missing bootstrap.servers; add the cluster's brokers as host:port")
    elif isinstance(servers, (str, int, float)) and (text := bootstrap_problem(str(servers))):
        yield Problem((*path, "kafka", "bootstrap.servers"), text)


def _security_problems(alias: str, cluster: Mapping[str, Any]) -> Iterator[Problem]:
    defaults = dict(Security())
    security = {name: each for name, each in _mapping(cluster.get("security")).items() if each != defaults.get(name)}
    if not security:
        return
    path: KeyPath = ("clusters", alias)
    for name, text in security_problems(security):
        yield Problem((*path, "security", name), text)
    for stack in ("kafka", "spark", "admin"):
        for name, text in said_twice(_mapping(cluster.get(stack))):
            yield Problem((*path, stack, name), text)


def _origin_problems(origins: Mapping[str, object], *, is_asked: bool) -> Iterator[Problem]:
    """Yield what could mean two clusters; one that *is_asked* for its origin may have any where none is given."""
    owners: dict[str, str] = {}
    for alias, given in origins.items():
        origin = given or (None if is_asked else alias)
        if not isinstance(origin, str):
            continue
        path = ("clusters", alias, "origin")
        if origin != alias and origin in origins:
            yield Problem(path, f"{origin!r} is the alias of another cluster; correct it or rename that alias")
        elif origin in owners:
            yield Problem(path, f"{origin!r} is the origin of clusters.{owners[origin]} too; give each its own")
        else:
            owners[origin] = alias


def _direction_problems(directions: object, aliases: Sequence[str]) -> Iterator[Problem]:
    if directions == "all":
        return
    if not isinstance(directions, (list, tuple)) or not directions:
        yield Problem(("directions",), "not a list of directions; write all, or [[source, target], …]")
        return
    seen: set[tuple[str, str]] = set()
    for index, direction in enumerate(directions):
        path: KeyPath = ("directions", index)
        is_pair = isinstance(direction, (list, tuple)) and len(direction) == 2
        if not is_pair or not all(isinstance(alias, str) for alias in direction):
            yield Problem(path, "not a direction; write [source, target]")
            continue
        source, target = direction
        unknown = sorted({alias for alias in direction if alias not in aliases})
        if unknown and aliases:
            yield Problem(path, f"no cluster {' or '.join(map(repr, unknown))}; use aliases below clusters")
        elif source == target:
            yield Problem(path, "source and target are the same cluster; name two")
        elif (source, target) in seen:
            yield Problem(path, "stands twice; remove one")
        seen.add((source, target))


def _header_problems(mirror: Mapping[str, Any]) -> Iterator[Problem]:
    defaults, named = {"place_header": "", **preset_of(mirror).defaults()}, dict[str, str]()
    for key in ("origin_header", "offset_header", "place_header"):
        name = mirror.get(key, defaults[key])
        if name and name in named:
            yield Problem(("mirror", key), f"is the same as mirror.{named[name]}; name the other header")
        named[str(name)] = key


def _original_problems(topics: Mapping[str, Any], aliases: Sequence[str], *, are_named: bool) -> Iterator[Problem]:
    """Yield where strategy ``identity`` has no original, and where an original is named for nothing.

    Where all streams *are_named* for their homes these are the originals.
    """
    overrides = topics.get("overrides")
    listed = list(overrides) if isinstance(overrides, (list, tuple)) else []
    sections = [_mapping(each) for each in (topics, *listed)]
    is_used = any(each.get("strategy") == "identity" for each in sections)
    for number, each in enumerate(sections):
        path: KeyPath = ("topics", "overrides", number - 1, "origin") if number else ("topics", "origin")
        given = each.get("origin", "")
        if given and not (each.get("strategy") == "identity" or (is_used and not number)):
            yield Problem(path, "goes with strategy identity only; remove it")
        elif given and are_named:
            yield Problem(path, "is what the names say where mirror.names is mm2; remove it")
        elif given and isinstance(given, str) and given not in aliases:
            yield Problem(path, f"no cluster {given!r}; use an alias below clusters")
        elif each.get("strategy") == "identity" and not (given or topics.get("origin") or are_named):
            text = "is needed by strategy identity; name the cluster of which the others hold copies, byte for byte"
            yield Problem(path, text)


def _path_problems(tables: Mapping[str, Any]) -> Iterator[Problem]:
    defaults = Tables()
    root, checkpoints = tables.get("root", defaults.root), tables.get("checkpoints", defaults.checkpoints)
    is_text = isinstance(root, str) and isinstance(checkpoints, str) and root and checkpoints
    if is_text and normpath(root) == normpath(checkpoints):
        yield Problem(("tables", "checkpoints"), "is the same as tables.root; choose a folder of its own")
