"""The command ``init``: a first configuration file, from what the clusters show of themselves and of their mirror.

It holds what differs from the defaults and what a newcomer looks for. Nothing is changed at a cluster, and a file that
is there already is left alone. Errs to the default: what the newest records do not show is not written; ``check``,
which runs on the new file, says what is wrong with it.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from offset_sync.check import rules
from offset_sync.check.sample import take_sample
from offset_sync.check.stamps import Stamped
from offset_sync.config import parse_config
from offset_sync.config.load import to_yaml
from offset_sync.config.prefix_names import HEARTBEATS
from offset_sync.jobs.check import add_arguments, check
from offset_sync.jobs.runner import DONE, code_of, job_arguments, run_job
from offset_sync.model.errors import ConfigError, OffsetSyncError
from offset_sync.state.known_names import open_clusters

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
        return code_of(problem)
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
    config, lines = parse_config(tree), list[str]()
    clusters = {alias: admin.topics() for alias, admin in open_clusters(config).items()}
    if renamed := prefixed(clusters, config.is_topic_included):
        (alias, prefix), count = renamed.most_common(1)[0]
        tree["mirror"]["names"] = "mm2"
        lines.append(f"{alias} has {count:,} of {prefix}'s topics with the prefix {prefix}.: mirror.names is mm2")
    return lines + note_origins(tree["clusters"], take_sample(parse_config(tree)).stamped)


def prefixed(clusters: Mapping[str, Collection[str]], is_included: Callable[[str], bool]) -> Counter[tuple[str, str]]:
    """Return, by cluster and prefix, how many topics are called ``dc1.orders`` where cluster dc1 has ``orders``.

    Only topics whose original is included count: others may be mirrored by another tool.
    """
    found = Counter[tuple[str, str]]()
    for alias, topics in clusters.items():
        for topic in topics:
            prefix, _, original = topic.partition(".")
            is_there = prefix != alias and original in clusters.get(prefix, ())
            if original != HEARTBEATS and is_there and is_included(original):
                found[alias, prefix] += 1
    return found


def note_origins(clusters: Tree, stamped: Mapping[str, Sequence[Stamped]]) -> list[str]:
    """Fill in what the headers call the other one of two clusters where that is not its alias; return why."""
    lines = list[str]()
    for alias, records in stamped.items():
        unknown = sorted({each.said for each in records if each.rule is rules.UNKNOWN})
        others = [each for each in clusters if each != alias]
        if len(unknown) == len(others) == 1:
            clusters[others[0]]["origin"] = unknown[0]
            lines.append(f"{alias}: headers call {others[0]} {unknown[0]!r}: clusters.{others[0]}.origin")
    return lines


def to_text(tree: Tree, path: Path) -> str:
    """Return the text of the file *path*; without the wheel, editors find its keys by the first line."""
    schema = Path(__file__).resolve().parents[3] / "conf" / "schema.json"
    modeline = f"# yaml-language-server: $schema={os.path.relpath(schema, path.parent)}\n" if schema.exists() else ""
    written = {name: to_yaml({name: each}) for name, each in tree.items()}
    return _FILE.format(modeline=modeline, **written)


def write(path: Path, text: str) -> None:
    """Write a file that must not be there yet; raises ConfigError where it cannot be written."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as problem:
        raise ConfigError([f"{path}: cannot be written ({problem.strerror}); name another file"]) from None
