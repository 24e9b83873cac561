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
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from offset_sync.check import rules
from offset_sync.check.sample import Cluster, own_topics, take_sample
from offset_sync.check.stamps import Stamped
from offset_sync.config import parse_config
from offset_sync.config.load import to_yaml
from offset_sync.config.prefix_names import HEARTBEATS
from offset_sync.jobs.check import add_arguments, check
from offset_sync.jobs.log_format import tell
from offset_sync.jobs.runner import DONE, FAILED, code_of, job_arguments, run_job
from offset_sync.model.errors import ConfigError, OffsetSyncError
from offset_sync.model.finding import some

_FILE = """\
{modeline}# Written by init. conf/reference.yaml has every option with its default.
{clusters}
# Groups are synced on the topics that match an expression of include, and none of exclude.
{topics}
# The mirror's headers and its names for copies: docs/mirrors.md.
{mirror}
# The status page is at http://localhost:9465/, for browsers on this machine.
metrics:
  report_status_port: 9465
# Tables and checkpoints are in data/; in production on HDFS or S3: tables.root, tables.checkpoints.
"""
_WITHOUT_HEADERS = (rules.NATIVE, rules.BY_NAME, rules.TWICE, rules.UNSTAMPED)
Tree = dict[str, Any]


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


def init(words: Sequence[str] | None = None, prog: str | None = None) -> int:
    """Write the file and check it; return the exit code."""
    arguments = init_arguments(prog).parse_args(words)
    path = Path(arguments.conf)
    try:
        if path.exists():
            raise ConfigError([f"{path}: exists already; name another file, or check this one: check --conf {path}"])
        tree = _given(arguments)
        print(f"querying {', '.join(tree['clusters'])} …", file=sys.stderr, flush=True)
        lines = fill(tree)
        write(path, to_text(tree, path))
    except OffsetSyncError as problem:
        return code_of(problem, "text")
    except KeyboardInterrupt:
        tell("nothing was written", "text")
        return FAILED
    print(*lines, f"written: {path}\n", sep="\n", flush=True)
    return _check(path)


def _check(path: Path) -> int:
    code = run_job(check, add_arguments(job_arguments("", has_once=False)), ["--conf", str(path)])
    again = f"./spark-submit.sh check --conf {path}"
    print(f"\nnext: {f'./spark-submit.sh run --conf {path}' if code == DONE else f'correct what failed, then {again}'}")
    return code


def _given(arguments: argparse.Namespace) -> Tree:
    """Return the configuration as far as the command line says it."""
    clusters: dict[str, Tree] = {}
    if not arguments.cluster:
        raise ConfigError(["--cluster is missing; name at least two: --cluster dc1=broker:9092 --cluster dc2=…"])
    for word in arguments.cluster:
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
    return {"clusters": clusters, "topics": {"include": arguments.topics or [".*"]}, "mirror": {}}


def fill(tree: Tree) -> list[str]:
    """Fill *tree* with what the clusters show; return why. Raises ConfigError, or ClusterError if one is silent."""
    config, mirror = parse_config(tree), tree["mirror"]
    sample = take_sample(config)
    if sample.silent:
        raise next(iter(sample.silent.values()))
    clusters = sample.clusters
    lines = [
        f"{alias}: brokers: {each.brokers:,}, topics: {len(each.partitions):,}, groups: {len(each.groups):,}"
        for alias, each in clusters.items()
    ]
    if renamed := prefixed(clusters, config.is_topic_included):
        (alias, prefix), count = renamed.most_common(1)[0]
        mirror["names"] = "mm2"
        lines.append(f"{alias} has {count:,} of {prefix}'s topics with the prefix {prefix}.: mirror.names is mm2")
        sample = take_sample(parse_config(tree))
    elif own := sorted({name for each in clusters.values() for name in own_topics(config, each).values()}):
        tree["topics"]["exclude"] = mirror_makers(clusters)
        lines.append(f"topics.exclude leaves out MirrorMaker's own topics: {some(own, 8)}")
    return lines + note_stamps(tree, sample.stamped)


def mirror_makers(aliases: Iterable[str]) -> list[str]:
    """Return patterns of MirrorMaker's own topics; ``mirror.names: mm2`` knows these by itself.

    Errs to too few: groups are not synced on an excluded topic.
    """
    prefix = "|".join(map(re.escape, aliases))
    mm2 = r"mm2-(offset-syncs|configs|offsets|status)[._-].+[._-]internal"
    return [rf"(({prefix})[._-])?heartbeats", mm2, r".+[._-]checkpoints[._-]internal"]


def prefixed(clusters: Mapping[str, Cluster], is_included: Callable[[str], bool]) -> Counter[tuple[str, str]]:
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


def note_stamps(tree: Tree, stamped: Mapping[str, Sequence[Stamped]]) -> list[str]:
    """Fill in what the headers call a cluster where that is not its alias; return lines on the copies."""
    clusters, lines, has_headers = tree["clusters"], list[str](), False
    for alias, records in stamped.items():
        has_headers |= any(each.rule not in _WITHOUT_HEADERS for each in records)
        unknown = sorted({each.said for each in records if each.rule is rules.UNKNOWN})
        others = [each for each in clusters if each != alias]
        if len(unknown) == len(others) == 1:
            clusters[others[0]]["origin"] = unknown[0]
            lines.append(f"{alias}: headers call {others[0]} {unknown[0]!r}: clusters.{others[0]}.origin")
        copies = Counter(each.origin for each in records if each.rule is rules.STAMPED)
        for origin, count in sorted(copies.items()):
            lines.append(f"{alias}: has copies of records of {origin}: {count:,} of {len(records):,} records checked")
    recipe = "no copy has headers yet: docs/mirrors.md is the recipe for MirrorMaker 2; docs/mirrors-contents.md says "
    return lines if has_headers else [*lines, recipe + "what is possible without"]


def to_text(tree: Tree, path: Path) -> str:
    """Return the text of the file *path*; without the wheel, editors find its keys by the first line."""
    schema = Path(__file__).resolve().parents[3] / "conf" / "schema.json"
    modeline = f"# yaml-language-server: $schema={os.path.relpath(schema, path.parent)}\n" if schema.exists() else ""
    written = {name: to_yaml({name: each}) for name, each in tree.items()}
    return _FILE.format(modeline=modeline, **written)


def write(path: Path, text: str) -> None:
    """Write a file that must not be there yet, whole or not at all; raises ConfigError where it cannot be written."""
    try:
        path.touch(exist_ok=False)
        try:
            path.write_text(text, encoding="utf-8")
        except OSError:
            path.unlink()
            raise
    except OSError as problem:
        raise ConfigError([f"{path}: cannot be written ({problem.strerror}); name another file"]) from None
