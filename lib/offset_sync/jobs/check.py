"""The command ``check``: can this installation run, seen from this machine."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from offset_sync.config import Config
from offset_sync.config.configuration import same_ids
from offset_sync.config.problems import path_text
from offset_sync.config.rules import cautions
from offset_sync.jobs.checks.asking import Cluster, answers, ask_cluster, look_at_logs, side_by_side
from offset_sync.jobs.checks.copies import check_copies
from offset_sync.jobs.checks.facts import (
    LIST_GROUP,
    MARK_GROUP,
    OWN_GROUP,
    judge_clock,
    judge_id,
    judge_rights,
    judge_settings,
)
from offset_sync.jobs.checks.headers import judge_headers
from offset_sync.jobs.checks.stamps import stamped_records
from offset_sync.jobs.checks.topics import check_mirror_maker, judge_topics, recognised_mirrors
from offset_sync.kafka.librdkafka import check_client
from offset_sync.kafka.own_rights import OwnRights
from offset_sync.model.errors import ClusterError, PlatformError
from offset_sync.model.finding import Finding, Level, Lines, in_order
from offset_sync.model.text import escaped, one_line
from offset_sync.state.cluster_clock import system_now_ms
from offset_sync.status.waiting import waiting
from offset_sync.tables.files import Files, files_of
from offset_sync.tables.storage_check import check_storage

logger = logging.getLogger(__name__)
_MOST_GROUPS = 100
_SLOW_S = 0.5
"""A request to the tables' storage that takes longer is told."""
_STYLES = {Level.OK: "green", Level.SKIP: "dim", Level.WARN: "yellow", Level.FAIL: "bold red"}


def check_arguments(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add the command's arguments, and return *parser*."""
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.set_defaults(tells_cautions=True)
    return parser


def check(config: Config, arguments: argparse.Namespace, stop: threading.Event) -> Sequence[str]:
    """Check everything and show it; return one line if a check fails. Nothing is changed at a cluster."""
    with waiting(f"the tables and clusters {', '.join(config.clusters)}"):
        findings = find_all(config)
    if arguments.json:
        print_json(findings, sys.stdout)
    else:
        show_findings(findings, Console())
    failed = sum(each.level is Level.FAIL for each in findings)
    return [f"{failed} of {len(findings)} checks failed"] if failed else []


def find_all(config: Config) -> list[Finding]:
    """Return the findings: on the client, cluster by cluster, then between clusters, then for the tables' places."""
    findings = [Finding(Level.FAIL, "confluent-kafka", "version", each) for each in check_client()]
    rights = {alias: OwnRights(alias, config.admin_options(alias)) for alias in config.clusters}
    asked = side_by_side(lambda alias: ask_cluster(config, rights[alias]), rights)
    clusters = answers(asked)
    ids = {**config.ids, **{alias: each.cluster_id for alias, each in clusters.items()}}
    known = config.with_ids({alias: found for found, alias in {found: alias for alias, found in ids.items()}.items()})
    # Each cluster is asked about the groups of all: at a new target synced groups do not exist yet.
    listed = {group for each in clusters.values() for group in each.groups}
    examples = {each.replace(".*", "any-group") for each in config.groups.include}  # without Describe none is listed
    there = [*filter(config.is_group_included, listed)] or [*filter(config.is_group_included, examples)]
    of_lists = [LIST_GROUP, MARK_GROUP] if config.sync.read_lists.groups else []
    groups = [*sorted(there)[:_MOST_GROUPS], OWN_GROUP, *of_lists]
    of_groups = answers(side_by_side(lambda alias: rights[alias].of_groups(groups), clusters))
    same = (line.partition(": ") for line in same_ids(ids))
    findings += [Finding(Level.FAIL, place, "cluster id", text) for place, _, text in same]
    for alias, each in asked.items():
        if isinstance(each, ClusterError):
            findings.append(Finding(Level.FAIL, f"clusters.{alias}", "connection", each.message))
        else:
            findings += _judged(known, replace(each, group_rights=of_groups.get(alias, {})))
    findings += judge_mirrors(known, clusters)
    findings += [Finding(Level.WARN, path_text(each.path), "configuration", each.text) for each in cautions(config)]
    return in_order([*findings, *check_places(config)])


def _judged(config: Config, cluster: Cluster) -> Iterator[Finding]:
    """Yield the findings about one cluster."""
    protocol = config.admin_options(cluster.alias).get("security.protocol", "PLAINTEXT")
    number = "1 broker" if cluster.brokers == 1 else f"{cluster.brokers} brokers"
    servers = config.clusters[cluster.alias].kafka["bootstrap.servers"]
    yield Finding(Level.OK, cluster.place, "connection", f"{number} at {servers}, {protocol}")
    for problem in cluster.clashes:
        place, _, text = problem.partition(": ")
        yield Finding(Level.FAIL, place, "names", text)
    yield from judge_rights(config, cluster)
    yield from judge_settings(config, cluster)
    yield judge_clock(config, cluster, system_now_ms())
    yield from judge_id(config, cluster)


def judge_mirrors(config: Config, clusters: Mapping[str, Cluster]) -> Iterator[Finding]:
    """Yield findings about the mirror from the topics of *clusters* and their newest records."""
    yield from judge_topics(config, clusters)
    seen = look_at_logs(config, clusters)
    stamped = {alias: stamped_records(config, alias, each) for alias, each in seen.items()}
    yield from judge_headers(config, seen, stamped)
    there = [alias for alias, each in seen.items() if not each.error]
    copies = side_by_side(lambda alias: check_copies(config, seen, stamped[alias], alias), there)
    makers = (check_mirror_maker(config, clusters[alias]) for alias in there)
    others = (recognised_mirrors(config, clusters[alias], seen[alias]) for alias in there)
    yield from chain.from_iterable((*answers(copies).values(), *makers, *others))


def check_places(config: Config) -> Iterator[Finding]:
    """Yield whether tables and checkpoints can be written: a file is written at each place and deleted again."""
    files = files_of(config)
    for key, path in (("root", config.tables.root), ("checkpoints", config.tables.checkpoints)):
        lines, own = Lines("tables", key), files.local(path)
        try:
            found = _tried_storage(path, files, key == "root") if own is None else (Level.OK, _tried_folder(own))
            yield lines.of(*found)
        except PlatformError as error:
            yield lines.of(Level.FAIL, str(error))
        except OSError as error:
            remedy = (
                "see tables.storage in conf/reference.yaml"
                if own is None
                else f"give uid {os.getuid()} the right to write there"
            )
            yield lines.of(Level.FAIL, f"{path} cannot be written ({one_line(error)[:300]}); {remedy}")


def _tried_folder(folder: Path) -> str:
    # A missing folder is left to the jobs to create: only test that its parent is writable.
    there = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
    with tempfile.NamedTemporaryFile(dir=there, prefix=".offset-sync-check-") as file:
        file.write(b"check")
        file.flush()
    return str(folder) if there == folder.absolute() else f"{folder}, which the jobs will create in {there}"


def _tried_storage(path: str, files: Files, is_root: bool) -> tuple[Level, str]:
    name = f"{path.rstrip('/')}/.offset-sync-check-{uuid.uuid4()}"
    files.write_text(name, "check")
    began = time.monotonic()
    files.delete(name)  # one request
    seconds = time.monotonic() - began
    if is_root:
        check_storage(path, files)
    if seconds < _SLOW_S:
        return Level.OK, path
    later = "a driver starts, takes over and moves groups some hundred requests later; nothing is lost"
    return Level.WARN, f"{path} is slow, {seconds:.1f} s for each request: {later}"


def show_findings(findings: Sequence[Finding], console: Console) -> None:
    """Print a line for each, place by place, and the count of each level."""
    width = max((len(each.check) for each in findings), default=0)
    for place, found in groupby(findings, key=lambda each: each.place):
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column(width=4, no_wrap=True)
        table.add_column(width=width, no_wrap=True)
        table.add_column(ratio=1, overflow="fold")
        for each in found:
            level = Text(each.level.value, _STYLES[each.level])
            table.add_row(level, Text(each.check), Text(escaped(each.text)))
        console.print(Text(escaped(place), "bold"))
        console.print(Padding(table, (0, 0, 1, 2)))
    counts = Counter(each.level for each in findings)
    sums = [Text(f"{counts[level]} {level.value}", _STYLES[level]) for level in Level if counts[level]]
    console.print(Text(", ").join(sums))


def print_json(findings: Sequence[Finding], out: TextIO) -> None:
    """Print one JSON object: whether all checks pass, and all findings."""
    is_ok = not any(each.level is Level.FAIL for each in findings)
    print(json.dumps({"ok": is_ok, "findings": [each.to_json() for each in findings]}), file=out, flush=True)
