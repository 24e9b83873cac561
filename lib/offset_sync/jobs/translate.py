"""The command ``translate``: what offsets that are kept elsewhere than in a group are at another cluster."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console

from offset_sync.config import Config
from offset_sync.jobs.directions import check_direction
from offset_sync.jobs.open_tables import open_tables
from offset_sync.jobs.translation.answers import summary, to_answer_table
from offset_sync.jobs.translation.csv_offsets import read_csv
from offset_sync.jobs.translation.offset_table import REQUIRED, OffsetTable, parse_time, to_offsets
from offset_sync.jobs.translation.print_answers import print_csv, print_json, print_spark
from offset_sync.jobs.translation.progress import told_progress
from offset_sync.jobs.translation.show_answers import show_answers
from offset_sync.jobs.translation.spark_checkpoint import read_checkpoint
from offset_sync.model.errors import ConfigError
from offset_sync.model.text import escaped, visible
from offset_sync.state.clock_offset import system_now_ms
from offset_sync.status.index_catch_up import IndexCatchUp
from offset_sync.status.kept_offsets import KeptAnswers
from offset_sync.status.live_state import LiveState
from offset_sync.status.offset_translation import OffsetTranslation

logger = logging.getLogger(__name__)
SPARK = "spark"


def translate_arguments(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add what the command takes, and return *parser*."""
    parser.add_argument("--from", dest="source", required=True, metavar="CLUSTER", help="where the offsets are from")
    parser.add_argument("--to", dest="target", required=True, metavar="CLUSTER", help="where to go on")
    for name, metavar, says in zip(
        REQUIRED, ("T", "P", "O"), ("its topic", "its partition", "next to read"), strict=True
    ):
        parser.add_argument(f"--{name}", metavar=metavar, help=f"one offset: {says}")
    parser.add_argument("--file", metavar="CSV", help="topic,partition,offset and a line each; -: standard input")
    parser.add_argument("--spark-checkpoint", metavar="DIR", help="the checkpoint folder of a streaming query")
    parser.add_argument(
        "--taken-at", metavar="TIME", help="the offsets were read off the log then or later, as 2026-01-31T12:00:00Z"
    )
    parser.add_argument("--disaster", action="store_true", help="the source is lost: it is not asked")
    parser.add_argument(
        "--format",
        choices=("table", "json", "csv", SPARK),
        help="what is printed (default: table; of a checkpoint: spark)",
    )
    return parser


def translate(config: Config, arguments: argparse.Namespace, stop: threading.Event) -> Sequence[str]:
    """Translate what *arguments* name and print it; return one line where something is withheld."""
    pair = (arguments.source, arguments.target)
    check_direction(config, *pair)
    table, remarks = _read(arguments, system_now_ms())
    logger.info("read %s offsets", f"{len(table.offsets):,}")
    for remark in remarks:
        print(escaped(remark), file=sys.stderr, flush=True)
    answers = translate_table(config, pair, table, is_source_lost=arguments.disaster, stop=stop)
    found = to_answer_table(table, answers, target_names(config, pair, table))
    _print(found, arguments.format or (SPARK if arguments.spark_checkpoint else "table"), pair)
    return summary(answers)


def target_names(config: Config, pair: tuple[str, str], table: OffsetTable) -> list[str | None] | None:
    """Return what the topics of *table*, as the source calls them, are called at the target; None: the same."""
    names = config.names
    if names.is_same:
        return None
    return [names.topic(pair[1], names.inside(pair[0], topic)) for topic in table.offsets.topics]


def translate_table(
    config: Config, pair: tuple[str, str], table: OffsetTable, *, is_source_lost: bool, stop: threading.Event
) -> KeptAnswers:
    """Return the answers to *table* from source to target (*pair*), by the tables and by what the clusters say now."""
    with (
        _live_state(config, [pair[0]] if is_source_lost else []) as live,
        told_progress(len(table.offsets), stop) as told,
    ):
        translation = OffsetTranslation(config, live.state, live.clusters, IndexCatchUp(live.state))
        streams = [config.names.inside(pair[0], topic) for topic in table.offsets.topics]
        offsets = replace(table.offsets, topics=streams)
        return translation.translate(pair, offsets, is_source_lost=is_source_lost, tell=told.add)


@contextmanager
def _live_state(config: Config, given_up: Sequence[str]) -> Iterator[LiveState]:
    """Yield what the tables and the clusters say."""
    with open_tables(config, "offset-sync translate") as tables:
        yield LiveState(config, tables, given_up)


def _read(arguments: argparse.Namespace, now_ms: int) -> tuple[OffsetTable, list[str]]:
    """Return the offsets that *arguments* name, and what there is to say about them; raises ConfigError."""
    one = [getattr(arguments, name) for name in REQUIRED]
    is_one = any(each is not None for each in one)
    if sum((is_one, arguments.file is not None, arguments.spark_checkpoint is not None)) != 1 or (
        is_one and None in one
    ):
        raise ConfigError(["name the offsets: --topic, --partition and --offset, or --file, or --spark-checkpoint"])
    if arguments.format == SPARK and arguments.spark_checkpoint is None:
        raise ConfigError(["--format spark goes with --spark-checkpoint only"])
    try:
        taken_at_ms = None if arguments.taken_at is None else parse_time(arguments.taken_at, now_ms)
    except ValueError as error:
        raise ConfigError([f"--taken-at {arguments.taken_at!a} {error}"]) from None
    if arguments.spark_checkpoint is not None:
        found = read_checkpoint(arguments.spark_checkpoint, now_ms)
        return found.table.all_taken_at(taken_at_ms), found.remarks
    if arguments.file is not None:
        return read_csv(arguments.file, now_ms).taken_at(taken_at_ms), []
    return _one_offset(one, now_ms).taken_at(taken_at_ms), []


def _one_offset(values: Sequence[str], now_ms: int) -> OffsetTable:
    columns = pa.table({name: pa.array([value], pa.string()) for name, value in zip(REQUIRED, values, strict=True)})
    try:
        return to_offsets(columns, np.zeros(1, np.int64), now_ms)
    except ConfigError as error:
        raise ConfigError([problem.replace("line 0: ", "--", 1) for problem in error.problems]) from None


def _print(answers: pa.Table, wanted: str, pair: tuple[str, str]) -> None:
    """Print to standard output; whoever reads it may have had enough."""
    try:
        if wanted == "table":
            show_answers(answers, f"{visible(pair[0])} → {visible(pair[1])}", Console())
        else:
            {"csv": print_csv, "json": print_json, SPARK: print_spark}[wanted](answers, sys.stdout)
        sys.stdout.flush()
        if wanted == SPARK:
            _tell_left_out(answers)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains when it ends


def _tell_left_out(answers: pa.Table) -> None:
    withheld = answers.filter(pc.is_null(answers.column("target_offset")))
    for row in withheld.select(["topic", "partition", "state", "reason"]).to_pylist():
        place = f"{row['topic']}-{row['partition']}"
        print(escaped(f"{place} is left out: {row['state']}: {row['reason']}"), file=sys.stderr)
    if withheld.num_rows:
        print("Spark starts only if every partition is named; -2 reads one from its beginning", file=sys.stderr)
