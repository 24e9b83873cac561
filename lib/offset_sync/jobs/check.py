"""The command ``check``: can this installation run, seen from this machine."""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path

from rich.console import Console
from rich.text import Text

from offset_sync.check.judge import judge
from offset_sync.check.sample import found_ids, take_sample
from offset_sync.config import Config
from offset_sync.config.configuration import same_ids
from offset_sync.config.problems import path_text
from offset_sync.config.rules import cautions
from offset_sync.kafka.librdkafka import check_client
from offset_sync.model.errors import PlatformError
from offset_sync.model.finding import Finding, Level, about
from offset_sync.model.text import escaped, one_line
from offset_sync.status.text_tables import Column, print_table, say, text_column
from offset_sync.status.waiting import waiting
from offset_sync.tables.files import Files, check_storage, files_of

_SLOW_S = 0.5
"""A request to the tables' storage that takes longer is told."""
_STYLES = {Level.OK: "green", Level.SKIP: "dim", Level.WARN: "yellow", Level.FAIL: "bold red"}


def add_arguments(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add the command's arguments, and return *parser*."""
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.set_defaults(tells_cautions=True)
    return parser


def check(config: Config, arguments: argparse.Namespace, stop: threading.Event) -> Sequence[str]:
    """Check everything and show it; return one line if a check fails. Nothing is changed at a cluster."""
    with waiting(f"the tables and clusters {', '.join(config.clusters)}"):
        findings = find_all(config)
    if arguments.json:
        is_ok = not any(each.level is Level.FAIL for each in findings)
        print(json.dumps({"ok": is_ok, "findings": [each.to_json() for each in findings]}), flush=True)
    else:
        show_findings(findings, Console())
    failed = sum(each.level is Level.FAIL for each in findings)
    return [f"{failed} of {len(findings)} checks failed"] if failed else []


def find_all(config: Config) -> list[Finding]:
    """Return the findings: on the client, cluster by cluster, then between clusters, then for the tables' places."""
    findings = [Finding(Level.FAIL, "confluent-kafka", "version", each) for each in check_client()]
    sample = take_sample(config)
    same = (each.partition(": ") for each in same_ids(found_ids(config, sample.clusters)))
    findings += [Finding(Level.FAIL, place, "cluster id", text) for place, _, text in same]
    findings += [Finding(Level.FAIL, f"clusters.{a}", "connection", each.message) for a, each in sample.silent.items()]
    findings += judge(sample)
    findings += [Finding(Level.WARN, path_text(each.path), "configuration", each.text) for each in cautions(config)]
    return sorted([*findings, *check_places(config)], key=lambda each: each.place)


def check_places(config: Config) -> Iterator[Finding]:
    """Yield whether tables and checkpoints can be written: a file is written at each place and deleted again."""
    files = files_of(config)
    for key, path in (("root", config.tables.root), ("checkpoints", config.tables.checkpoints)):
        line, own = partial(about, "tables", key), files.local(path)
        try:
            found = _tried_storage(path, files, key == "root") if own is None else (Level.OK, _tried_folder(own))
            yield line(*found)
        except PlatformError as error:
            yield line(Level.FAIL, str(error))
        except OSError as error:
            remedy = "see tables.storage in conf/reference.yaml, or who may write to the folder"
            yield line(Level.FAIL, f"{path} cannot be written ({one_line(error)[:300]}); {remedy}")


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
    columns = [
        Column("", lambda row: Text(row["level"].value, _STYLES[row["level"]])),
        text_column("check"),
        Column("finding", lambda row: Text(escaped(row["text"])), ratio=1),
    ]
    for place, found in groupby(findings, key=lambda each: each.place):
        print_table(console, escaped(place), columns, [vars(each) for each in found])
    counts = Counter(each.level for each in findings)
    say(console, Text("\n" + ", ".join(f"{counts[level]} {level.value}" for level in Level if counts[level])))
