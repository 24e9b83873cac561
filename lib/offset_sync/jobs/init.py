"""The command ``init``: a first configuration file, from what the clusters show of themselves and of their mirror.

It holds what differs from the defaults and what a newcomer looks for. Nothing is changed at a cluster, and a file that
is there already is left alone. Errs to the default: what the newest records do not show is not written; ``check``,
which runs on the new file, says what is wrong with it.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from offset_sync.config import Config, parse_config
from offset_sync.config.mirror import PRESETS
from offset_sync.config.prefix_names import HEARTBEATS
from offset_sync.config.written import yaml_key, yaml_value
from offset_sync.jobs.checks.asking import Cluster, answers, ask_cluster, look_at_logs, own_topics, side_by_side
from offset_sync.jobs.checks.stamps import Kind, Stamped, stamped_records
from offset_sync.jobs.log_format import tell
from offset_sync.jobs.runner import BAD_ARGUMENTS, DONE, FAILED
from offset_sync.kafka.own_rights import OwnRights
from offset_sync.model.errors import ClusterError, ConfigError
from offset_sync.model.text import visible

_PORT = 9465
_MOST_NAMED = 8
_ALIASES = ("dc1", "dc2")
Tree = dict[str, Any]
Ask = Callable[[str], str]
"""Asks a person one question and returns the answer."""


@dataclass
class Findings:
    """What is to be written: *mirror* by key, *origins* and a line on each cluster, by alias; *lines* say why.

    *excluded* are patterns of topics.
    """

    clusters: Mapping[str, Cluster]
    mirror: dict[str, str] = field(default_factory=dict)
    excluded: list[str] = field(default_factory=list)
    origins: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)


def init_arguments(prog: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = argparse.ArgumentParser(
        prog=prog, description="Query the clusters, write a first configuration, and check it."
    )
    parser.add_argument("--conf", required=True, metavar="FILE", help="the file to write; must not exist yet")
    parser.add_argument(
        "--cluster", action="append", default=[], metavar="ALIAS=SERVERS", help="a cluster, for example dc1=broker:9092"
    )
    parser.add_argument(
        "--security",
        action="append",
        default=[],
        metavar="[ALIAS:]KEY=VALUE",
        help="a key of the section security, for one cluster or all; secrets as ${ENV} or ${file:/path}",
    )
    parser.add_argument("--topics", action="append", default=[], metavar="PATTERN", help="only these topics")
    return parser


def init(words: Sequence[str] | None = None, prog: str | None = None, ask: Ask | None = None) -> int:
    """Write the file and check it; return the exit code. *ask* is by default the terminal, where there is one."""
    arguments = init_arguments(prog).parse_args(words)
    path = Path(arguments.conf)
    try:
        if path.exists():
            raise ConfigError([f"{path}: exists already; name another file, or check this one: check --conf {path}"])
        tree = _given(arguments, ask or (input if sys.stdin.isatty() else None))
        print(f"querying {', '.join(tree['clusters'])} …", file=sys.stderr, flush=True)
        found = look(tree)
        write(path, modeline(path) + to_yaml(tree, found))
    except ConfigError as problem:
        tell(str(problem), "text")
        return BAD_ARGUMENTS
    except ClusterError as problem:
        tell(str(problem), "text")
        return FAILED
    except (EOFError, KeyboardInterrupt):
        tell("nothing was written", "text")
        return FAILED
    for line in found.lines:
        print(line)
    print(f"written: {path}\n", flush=True)
    return _check(path)


def _check(path: Path) -> int:
    from offset_sync.jobs.check import check, check_arguments
    from offset_sync.jobs.runner import job_arguments, run_job

    code = run_job(check, check_arguments(job_arguments("", has_once=False)), ["--conf", str(path)])
    again = f"./spark-submit.sh check --conf {path}"
    print(f"\nnext: {f'./spark-submit.sh run --conf {path}' if code == DONE else f'correct what failed, then {again}'}")
    return code


def _given(arguments: argparse.Namespace, ask: Ask | None) -> Tree:
    """Return the configuration as far as the command line, or a person, says it."""
    clusters: dict[str, Tree] = {}
    for word in arguments.cluster or _asked(ask):
        alias, is_given, servers = word.partition("=")
        if not (alias and is_given and servers):
            raise ConfigError([f"--cluster {word}: write it as ALIAS=SERVERS, for example dc1=broker:9092"])
        clusters[alias] = {"kafka": {"bootstrap.servers": servers}}
    for word in arguments.security:
        told, is_given, value = word.partition("=")
        alias, of_one, key = told.rpartition(":")
        if not (key and is_given) or (of_one and alias not in clusters):
            raise ConfigError(
                [f"--security {word}: write it as KEY=VALUE or ALIAS:KEY=VALUE, with an alias of --cluster"]
            )
        for each in [clusters[alias]] if of_one else clusters.values():
            each.setdefault("security", {})[key] = value
    return {"clusters": clusters, "topics": {"include": arguments.topics or [".*"]}}


def _asked(ask: Ask | None) -> list[str]:
    if ask is None:
        raise ConfigError(["--cluster is missing; name at least two: --cluster dc1=broker:9092 --cluster dc2=…"])
    found = list[str]()
    for number, default in enumerate(_ALIASES):
        which = "first" if number == 0 else "second"
        alias = ask(f"name of the {which} cluster [{default}]: ").strip() or default
        found.append(f"{alias}={ask(f'bootstrap.servers of {alias}: ').strip()}")
    return found


def look(tree: Tree) -> Findings:
    """Return what the clusters of *tree* show; raises ConfigError, or ClusterError with the first that is silent."""
    config = parse_config(tree)
    clusters = _asked_clusters(config)
    found = Findings(clusters)
    for alias, each in clusters.items():
        counts = {"broker": each.brokers, "topic": len(each.partitions), "group": len(each.groups)}
        listed = (f"{count:,} {what}{'s' * (count != 1)}" for what, count in counts.items())
        found.lines.append(f"{alias}: {', '.join(listed)}")
    if renamed := prefixed(clusters, config.is_topic_included):
        (alias, prefix), count = renamed.most_common(1)[0]
        found.mirror["names"] = "mm2"
        topics = "1 topic named" if count == 1 else f"{count:,} topics named"
        there = "exists" if count == 1 else "exist"
        found.lines.append(
            f"{alias}: {topics} {prefix}.… {there} at {prefix} without the prefix, so mirror.names is mm2"
        )
        config = parse_config({**tree, "mirror": found.mirror})
        found.clusters = clusters = _asked_clusters(config)
    own = sorted({name for each in clusters.values() for name in own_topics(config, each).values()})
    if "names" not in found.mirror and own:
        found.excluded += mirror_makers(clusters)
        named = ", ".join([*map(visible, own[:_MOST_NAMED]), *(["…"] if len(own) > _MOST_NAMED else [])])
        found.lines.append(f"topics.exclude leaves out MirrorMaker's own topics: {named}")
        config = parse_config(_with_excluded(tree, found))
    stamped = _stamped(config, clusters)
    others = (each.stamp for records in stamped.values() for each in records if each.stamp.kind is Kind.OTHER_PRESET)
    if other := next(others, None):
        found.mirror["preset"] = next(name for name in PRESETS if name in other.said.split())
        stamped = _stamped(parse_config({**_with_excluded(tree, found), "mirror": found.mirror}), clusters)
    note_stamps(found, stamped)
    return found


def mirror_makers(aliases: Iterable[str]) -> list[str]:
    """Return patterns of MirrorMaker's own topics; ``mirror.names: mm2`` knows these by itself.

    Errs to too few: groups are not synced on an excluded topic.
    """
    prefix = "|".join(map(re.escape, aliases))
    mm2 = r"mm2-(offset-syncs|configs|offsets|status)[._-].+[._-]internal"
    return [rf"(({prefix})[._-])?heartbeats", mm2, r".+[._-]checkpoints[._-]internal"]


def _with_excluded(tree: Tree, found: Findings) -> Tree:
    return {**tree, "topics": {**tree["topics"], "exclude": found.excluded}}


def _asked_clusters(config: Config) -> dict[str, Cluster]:
    rights = {alias: OwnRights(alias, config.admin_options(alias)) for alias in config.clusters}
    asked = side_by_side(lambda alias: ask_cluster(config, rights[alias]), rights)
    if silent := [each for each in asked.values() if isinstance(each, ClusterError)]:
        raise silent[0]
    return answers(asked)


def prefixed(
    clusters: Mapping[str, Cluster], is_included: Callable[[str], bool] = lambda _: True
) -> Counter[tuple[str, str]]:
    """Return, by cluster and prefix, how many topics are called ``dc1.orders`` where cluster dc1 has ``orders``.

    Only topics whose original is included count: others may be mirrored by another tool.
    """
    found = Counter[tuple[str, str]]()
    for alias, each in clusters.items():
        for topic in each.partitions:
            prefix, _, original = topic.partition(".")
            is_there = prefix != alias and prefix in clusters and original in clusters[prefix].partitions
            if original != HEARTBEATS and is_there and is_included(original):
                found[alias, prefix] += 1
    return found


def _stamped(config: Config, clusters: Mapping[str, Cluster]) -> dict[str, list[Stamped]]:
    """Return the newest records of each cluster, each with what its headers say."""
    known = config.with_ids({alias: each.cluster_id for alias, each in clusters.items()})
    return {alias: stamped_records(known, alias, seen) for alias, seen in look_at_logs(known, clusters).items()}


def note_stamps(found: Findings, stamped: Mapping[str, Sequence[Stamped]]) -> None:
    """Note of which clusters there are copies, and what the headers call a cluster where that is not its alias."""
    aliases, has_copies = [*found.clusters], False
    for alias, records in stamped.items():
        kinds = Counter((each.stamp.kind, each.stamp.origin or each.stamp.said) for each in records)
        unknown = sorted(said for kind, said in kinds if kind is Kind.UNKNOWN)
        others = [each for each in aliases if each != alias]
        if len(unknown) == len(others) == 1:
            found.origins[others[0]] = unknown[0]
            found.lines.append(f"{alias}: headers call {others[0]} {unknown[0]!r}: clusters.{others[0]}.origin")
        for (kind, origin), count in sorted(kinds.items(), key=lambda each: each[0][1]):
            if kind is Kind.STAMPED:
                found.lines.append(
                    f"{alias}: has copies of records of {origin}: {count:,} of {len(records):,} records checked"
                )
            has_copies |= kind not in (Kind.NATIVE, Kind.ELSEWHERE)
    if not has_copies:
        found.lines.append(
            "no copy has headers yet: docs/mirrors.md is the recipe for MirrorMaker 2; docs/mirrors-contents.md says "
            "what is possible without"
        )


def modeline(path: Path) -> str:
    """Return the line by which editors know the keys of the file *path*; empty where the wheel is installed."""
    schema = Path(__file__).resolve().parents[3] / "conf" / "schema.json"
    return f"# yaml-language-server: $schema={os.path.relpath(schema, path.parent)}\n" if schema.exists() else ""


def to_yaml(tree: Tree, found: Findings) -> str:
    """Return the text of the file; values are quoted, so that each arrives as it is."""
    lines = ["# Written by init. conf/reference.yaml has every option with its default.", "clusters:"]
    for alias, each in tree["clusters"].items():
        lines.append(f"  {yaml_key(alias)}:")
        for section, values in each.items():
            lines.append(f"    {section}:")
            lines += [f"      {yaml_key(key)}: {yaml_value(value)}" for key, value in values.items()]
        if alias in found.origins:
            lines.append(f"    origin: {yaml_value(found.origins[alias])}  # what the mirror's headers call it")
    lines += ["# Groups are synced on the topics that match one of these regular expressions.", "topics:"]
    lines.append(f"  include: [{', '.join(map(yaml_value, tree['topics']['include']))}]")
    if found.excluded:
        lines += ["  # MirrorMaker's own.", f"  exclude: [{', '.join(map(yaml_value, found.excluded))}]"]
    if found.mirror:
        lines += ["# The mirror's headers and its names for copies: docs/mirrors.md.", "mirror:"]
        lines += [f"  {key}: {value}" for key, value in found.mirror.items()]
    lines += [
        f"# The status page is at http://localhost:{_PORT}/, for browsers on this machine.",
        "metrics:",
        f"  report_status_port: {_PORT}",
        "# Tables and checkpoints are in data/; in production on HDFS or S3: tables.root, tables.checkpoints.",
    ]
    return "\n".join(lines) + "\n"


def write(path: Path, text: str) -> None:
    """Write a file that must not be there yet, in one step; raises ConfigError where it cannot be written."""
    try:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
            file.write(text)
        try:
            os.link(file.name, path)
        finally:
            os.unlink(file.name)
    except OSError as problem:
        raise ConfigError([f"{path}: cannot be written ({problem.strerror}); name another file"]) from None
