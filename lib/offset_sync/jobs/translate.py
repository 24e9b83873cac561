"""The command ``translate``: translates offsets that no group has committed to another cluster."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.console import Console

from offset_sync.config import Config, load_config
from offset_sync.jobs.open_tables import check_direction, open_tables
from offset_sync.jobs.translation.answers import (
    print_csv,
    print_json,
    show_answers,
    summary,
    to_answer_table,
)
from offset_sync.jobs.translation.offsets import (
    REQUIRED,
    TAKEN_AT,
    OffsetTable,
    check_columns,
    parse_time,
    read_csv,
    to_offsets,
)
from offset_sync.model.errors import ConfigError, OffsetSyncError
from offset_sync.model.text import visible
from offset_sync.state.cluster_clock import system_now_ms
from offset_sync.status.job_progress import IndexCatchUp
from offset_sync.status.kept_offsets import OffsetTranslation
from offset_sync.status.live_state import LiveState
from offset_sync.status.waiting import Wait, waiting

logger = logging.getLogger(__name__)
_SCHEMA = pa.schema([("topic", pa.string()), ("partition", pa.int64()), ("offset", pa.int64())])
ByTopic = Mapping[str, Mapping[Any, int]]


def translate_arguments(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add the command's arguments, and return *parser*."""
    parser.add_argument("--from", dest="source", required=True, metavar="CLUSTER", help="where the offsets are from")
    parser.add_argument("--to", dest="target", required=True, metavar="CLUSTER", help="where the consumer continues")
    parser.add_argument("--topic", metavar="T", help="one offset: its topic")
    parser.add_argument("--partition", metavar="P", help="one offset: its partition")
    parser.add_argument("--offset", metavar="O", help="one offset: the next to read")
    parser.add_argument(
        "--file",
        metavar="CSV",
        help="a CSV file with header topic,partition,offset, one offset a line; -: standard input",
    )
    parser.add_argument(
        "--taken-at",
        metavar="TIME",
        help="the offsets were read from the log at this time or later, as 2026-01-31T12:00:00Z",
    )
    parser.add_argument("--disaster", action="store_true", help="the source is lost, and is not queried")
    parser.add_argument(
        "--format", choices=("table", "json", "csv"), default="table", help="output format (default: table)"
    )
    return parser


def translate(config: Config, arguments: argparse.Namespace, stop: threading.Event) -> Sequence[str]:
    """Translate the offsets that *arguments* name and print them; return one line if any is withheld."""
    pair = (arguments.source, arguments.target)
    check_direction(config, *pair)
    table = _read(arguments, system_now_ms())
    logger.info("read %s offsets", f"{len(table.offsets):,}")
    with waiting("translations", total=len(table.offsets)) as wait:
        answers = translate_table(config, pair, table, arguments.disaster, _telling(wait, stop))
    _print(answers, arguments.format, pair)
    return summary(answers)


def translate_offsets(
    conf: str | Path | Config,
    pair: tuple[str, str],
    offsets: ByTopic | Iterable[Mapping[str, object]] | Any,
    *,
    taken_at: datetime | None = None,
    disaster: bool = False,
) -> pa.Table:
    """Translate offsets that no group has committed from source to target, the aliases in *pair*.

    *conf* is the configuration or its file. *offsets* are each the next to read: ``{"orders": {0: 7}}`` as Spark writes
    them, or rows as mappings, or anything with an Arrow stream (a table, a DataFrame of pandas) with the columns
    ``topic``, ``partition``, ``offset`` and, if known, ``taken_at`` (with its zone). *taken_at*: offsets without a time
    of their own were read off the log then or later. *disaster*: the source is lost.

    Returns the same columns and ``target_offset``, ``state``, ``duplicates``, ``duplicates_at_most``, ``lost`` and
    ``reason``, a row per offset in their order; if copies have other names also ``target_topic``. For a withheld answer
    ``target_offset`` is null, ``state`` and ``reason`` say why: such a row must not be ignored. Raises ConfigError for
    invalid offsets (rows are counted from 1), TableError and PlatformError if the tables cannot be read. Errs to
    earlier answers and to withholding.
    """
    config = conf if isinstance(conf, Config) else load_config(str(conf))
    check_direction(config, *pair)
    given, now_ms = _to_table(offsets), system_now_ms()
    check_columns(given.column_names)
    known = [name for name in (*REQUIRED, TAKEN_AT) if name in given.column_names]
    texts = pa.table({name: given.column(name).cast(pa.string()).fill_null("") for name in known})
    rows = to_offsets(texts, range(1, given.num_rows + 1), now_ms)
    if taken_at is not None:
        try:
            rows = rows.taken_at(parse_time(taken_at.isoformat(), now_ms))
        except ValueError as error:
            raise ConfigError([f"taken_at {taken_at} {error}"]) from None
    return translate_table(config, pair, replace(rows, given=given), disaster)


def _to_table(offsets: Any) -> pa.Table:
    if isinstance(offsets, Mapping):
        rows = [(topic, int(number), offset) for topic, by in offsets.items() for number, offset in by.items()]
        return pa.Table.from_pylist([dict(zip(REQUIRED, row, strict=True)) for row in rows], _SCHEMA)
    if hasattr(offsets, "__arrow_c_stream__"):
        return pa.table(offsets)
    rows = list(offsets)
    return pa.Table.from_pylist(rows) if rows else _SCHEMA.empty_table()


def translate_table(
    config: Config,
    pair: tuple[str, str],
    table: OffsetTable,
    is_source_lost: bool,
    tell: Callable[[int], None] = lambda done: None,
) -> pa.Table:
    """Return the answers to *table* from source to target (*pair*), by the tables and present cluster metadata.

    *tell* is called with the number of each new part.
    """
    source, target = pair
    names = config.names
    streams = [names.inside(source, topic) for topic in table.offsets.topics]
    given_up = [source] if is_source_lost else []
    with open_tables(config, "offset-sync translate") as tables:
        live = LiveState(config, tables, given_up)
        translation = OffsetTranslation(config, live.state, live.clusters, IndexCatchUp(live.state))
        offsets = replace(table.offsets, topics=streams)
        answers = translation.translate(pair, offsets, is_source_lost=is_source_lost, tell=tell)
    called = None if names.is_same else [names.topic(target, stream) for stream in streams]
    return to_answer_table(table, answers, called)


def _telling(wait: Wait, stop: threading.Event) -> Callable[[int], None]:
    """Return a function that shows the progress; it raises OffsetSyncError once *stop* is set."""

    def tell(more: int) -> None:
        if stop.is_set():
            raise OffsetSyncError("stopped; nothing was printed")
        wait.advance(more)

    return tell


def _read(arguments: argparse.Namespace, now_ms: int) -> OffsetTable:
    """Return the offsets that *arguments* name; raises ConfigError."""
    one = {name: getattr(arguments, name) for name in REQUIRED}
    is_one = any(each is not None for each in one.values())
    if is_one == (arguments.file is not None) or (is_one and None in one.values()):
        raise ConfigError(["name the offsets: --topic, --partition and --offset, or --file"])
    try:
        taken_at_ms = None if arguments.taken_at is None else parse_time(arguments.taken_at, now_ms)
    except ValueError as error:
        raise ConfigError([f"--taken-at {arguments.taken_at!a} {error}"]) from None
    if arguments.file is not None:
        return read_csv(arguments.file, now_ms).taken_at(taken_at_ms)
    try:
        table = to_offsets(pa.table({name: [each] for name, each in one.items()}), [0], now_ms)
    except ConfigError as error:
        raise ConfigError([problem.replace("line 0: ", "--", 1) for problem in error.problems]) from None
    return table.taken_at(taken_at_ms)


def _print(answers: pa.Table, wanted: str, pair: tuple[str, str]) -> None:
    """Print to standard output; its reader may close it early."""
    try:
        if wanted == "table":
            show_answers(answers, f"{visible(pair[0])} → {visible(pair[1])}", Console())
        else:
            {"csv": print_csv, "json": print_json}[wanted](answers, sys.stdout)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains when it ends
