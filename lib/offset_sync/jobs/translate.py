"""The command ``translate``: translates offsets that no group has committed to another cluster; CSV in, CSV out."""

from __future__ import annotations

import argparse
import csv
import io
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TextIO

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

from offset_sync.config import Config
from offset_sync.jobs.runner import check_direction, open_tables
from offset_sync.kafka.requests import is_topic_name
from offset_sync.model.errors import ConfigError
from offset_sync.model.reasons import Reason
from offset_sync.model.text import escaped, one_line
from offset_sync.model.values import ABSENT, CLOCKS_APART_MS, State
from offset_sync.offsets.kept_offsets import KeptAnswers, KeptOffsets, OffsetTranslation
from offset_sync.state.cluster_clock import system_now_ms
from offset_sync.status.live_state import LiveState

GIVEN = ("topic", "partition", "offset")
ANSWERED = ("target_topic", "target_offset", "state", "duplicates", "duplicates_at_most", "lost", "reason")
_TYPES = {"topic": pa.string(), "partition": pa.int32(), "offset": pa.int64()}
_SERIAL = arrow_csv.ReadOptions(use_threads=False)
"""So errors have the number of a row."""
_CONVERSION = arrow_csv.ConvertOptions(column_types=_TYPES, include_columns=GIVEN, null_values=[])


def add_arguments(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add the command's arguments, and return *parser*."""
    parser.add_argument("--from", dest="source", required=True, metavar="CLUSTER", help="where the offsets are from")
    parser.add_argument("--to", dest="target", required=True, metavar="CLUSTER", help="where the consumer continues")
    parser.add_argument("--topic", metavar="T", help="one offset: its topic")
    parser.add_argument("--partition", type=int, metavar="P", help="one offset: its partition")
    parser.add_argument("--offset", type=int, metavar="O", help="one offset: the next to read")
    parser.add_argument(
        "--file",
        metavar="CSV",
        help="a CSV file with header topic,partition,offset, one offset a line; -: standard input",
    )
    parser.add_argument(
        "--taken-at",
        metavar="TIME",
        type=_time,
        default=ABSENT,
        help="all offsets were read from the log at this time or later, as 2026-01-31T12:00:00Z",
    )
    parser.add_argument("--disaster", action="store_true", help="the source is lost, and is not queried")
    return parser


def translate(config: Config, arguments: argparse.Namespace, stop: threading.Event) -> Sequence[str]:
    """Translate the offsets that *arguments* name and print them; return one line if any is withheld."""
    source, target = pair = (arguments.source, arguments.target)
    check_direction(config, *pair)
    offsets, names = _read(arguments), config.names
    streams = [names.inside(source, topic) for topic in offsets.topics]
    with open_tables(config, "offset-sync translate") as tables:
        live = LiveState(config, tables, [source] if arguments.disaster else [])
        translation = OffsetTranslation(config, live.state, live.clusters)
        answers = translation.translate(pair, replace(offsets, topics=streams), is_source_lost=arguments.disaster)
    print_answers(offsets, answers, [names.topic(target, stream) for stream in streams], sys.stdout)
    return summary(answers)


def _read(arguments: argparse.Namespace) -> KeptOffsets:
    """Return the offsets that *arguments* name; raises ConfigError."""
    one = [getattr(arguments, name) for name in GIVEN]
    is_one = any(each is not None for each in one)
    if is_one == (arguments.file is not None) or (is_one and None in one):
        raise ConfigError(["name the offsets: --topic, --partition and --offset, or --file"])
    if is_one:
        text = io.StringIO()
        csv.writer(text).writerows([GIVEN, one])
        return read_csv(text.getvalue().encode(), "arguments", arguments.taken_at)
    path = "/dev/stdin" if arguments.file == "-" else arguments.file
    try:
        return read_csv(Path(path).read_bytes(), path, arguments.taken_at)
    except OSError as error:
        raise ConfigError([f"--file {arguments.file}: {error.strerror}"]) from None


def read_csv(content: bytes, place: str, taken_at_ms: int) -> KeptOffsets:
    """Return the offsets in *content* of *place*; raises ConfigError.

    The header names ``topic``, ``partition`` and ``offset`` in any order; other columns and empty lines are ignored.
    """
    try:
        header = arrow_csv.open_csv(pa.BufferReader(content), _SERIAL).schema.names
        if [header.count(name) for name in GIVEN] != [1, 1, 1]:
            raise pa.ArrowInvalid(f"expected a header with topic,partition,offset; found {','.join(header)}")
        rows = arrow_csv.read_csv(pa.BufferReader(content), _SERIAL, convert_options=_CONVERSION)
    except (pa.ArrowException, UnicodeError) as error:
        raise ConfigError([f"{place}: {escaped(one_line(error))}"]) from None
    partition, offset = (rows[name].to_numpy().astype(np.int64) for name in GIVEN[1:])
    topics = rows["topic"].to_pylist()
    bad = [name for name in dict.fromkeys(topics) if not is_topic_name(name)]
    problems = [f"topic {escaped(name[:60])!r} is no topic's name" for name in bad]
    if min(partition.min(initial=0), offset.min(initial=0)) < 0:
        problems.append("a partition or an offset is below 0")
    if problems:
        raise ConfigError([f"{place}: {each}" for each in problems])
    return KeptOffsets(topics, partition, offset, taken_at_ms)


def _time(text: str) -> int:
    """Return an ISO 8601 time with its zone in milliseconds since the epoch.

    Without a zone it may be off by hours, and a time that is too late could accept an offset wrongly.
    """
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise argparse.ArgumentTypeError(f"{text!a} is no time with its zone, as 2026-01-31T12:00:00Z")
    at_ms = int(at.timestamp() * 1000 // 1)
    if at_ms > system_now_ms() + CLOCKS_APART_MS:
        raise argparse.ArgumentTypeError(f"{text!a} is in the future")
    return max(at_ms, 0)


def print_answers(offsets: KeptOffsets, answers: KeptAnswers, target_topics: Sequence[str | None], out: TextIO) -> None:
    """Print a header and a line per offset, in their order; a withheld answer has no offset and counts, but a reason.

    *target_topics* has the name of each one's topic at the target.
    """
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow([*GIVEN, *ANSWERED])
    given = (offsets.partition, offsets.offset, answers.state, answers.reason)
    found = (answers.target_offset, answers.duplicates, answers.duplicates_at_most, answers.lost)
    columns = [offsets.topics, target_topics, *(column.tolist() for column in (*given, *found))]
    for topic, named, partition, offset, state, reason, *numbers in zip(*columns, strict=True):
        to, *costs = numbers if reason is None else [None] * len(found)
        lines.writerow([topic, partition, offset, named, to, State(state).name, *costs, reason])
    out.flush()


def summary(answers: KeptAnswers) -> list[str]:
    """Return one line with how many offsets have no answer, and why; nothing if all have one."""
    withheld = Counter(answers.state[answers.is_withheld].tolist())
    if not withheld:
        return []
    told = ", ".join(f"{State(state).name} {withheld[state]:,}" for state in sorted(withheld))
    return [Reason.OFFSETS_WITHHELD(withheld.total(), len(answers.state), told)]
