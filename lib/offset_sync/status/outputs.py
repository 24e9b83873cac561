"""The outputs of a report: the terminal or JSON, and the page."""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from typing import TextIO

import pyarrow as pa
from rich.console import Console

from offset_sync.config import Config
from offset_sync.status.assessment import STALLED_AFTER, STATUS_WORDS
from offset_sync.status.health import find_problems, summarize
from offset_sync.status.page import render_page, write_page
from offset_sync.status.report import Report, Row
from offset_sync.status.terminal import render_table

logger = logging.getLogger(__name__)
ReportOutput = Callable[[Report], None]
"""Shows a report somewhere."""
_DRIFT = ("partitions", "drift", "change", "windowed_change", "is_converged")
_INNER = ("rank", "is_skipping")


def status_arguments(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add the arguments of report_status, and return *parser*."""
    formats, by_default = ["table", "json", "none"], "table with --once, else none"
    parser.add_argument("--format", choices=formats, help=f"what to print (default: {by_default})")
    parser.add_argument("--group", action="append", default=[], metavar="PATTERN", help="only these groups")
    parser.add_argument("--topic", action="append", default=[], metavar="PATTERN", help="only these topics")
    parser.add_argument("--status", action="append", default=[], metavar="WORD", help="only rows of this status")
    parser.add_argument("--most", type=int, default=20, metavar="N", help="print at most N groups (default 20)")
    parser.add_argument("--details", action="store_true", help="print the partitions of these groups too")
    return parser


def open_outputs(
    config: Config, arguments: argparse.Namespace, out: TextIO, serve: Callable[[Report, str], None] | None = None
) -> list[ReportOutput]:
    """Return all outputs of a report: the selected rows are printed, the page has all.

    *serve* gets the page too. The page is last, as it takes longest. A page that cannot be written is logged, after the
    other outputs have the report.
    """
    limit, printed = config.status.stalled_after, arguments.format or ("table" if arguments.once else "none")
    reload_every = timedelta() if arguments.once else config.status.interval

    def print_table(report: Report) -> None:
        asked, console = asked_for(report, arguments), Console(file=out)
        render_table(asked, console, stalled_after=limit, most=arguments.most, details=arguments.details)

    def print_json(report: Report) -> None:
        print(to_json(asked_for(report, arguments), limit), file=out, flush=True)

    def put_page(report: Report) -> None:
        page = render_page(report, limit, reload_every)
        if serve is not None:
            serve(report, page)
        try:
            write_page(config.status.page, page)
        except OSError as error:
            logger.error("status.page: cannot write %s: %s", config.status.page, error)

    return [*{"table": [print_table], "json": [print_json], "none": []}[printed], put_page]


def asked_for(report: Report, arguments: argparse.Namespace) -> Report:
    """Return the rows of *report* that *arguments* select."""
    return report.select(arguments.group, arguments.topic, arguments.status)


def unhealthy(config: Config, report: Report, arguments: argparse.Namespace) -> Sequence[str]:
    """Return one line per problem among the selected rows; none: healthy."""
    asked = asked_for(report, arguments)
    return [problem.text for problem in find_problems(asked.status, asked.drift, config.status.stalled_after)]


def to_json(report: Report, stalled_after: timedelta = STALLED_AFTER) -> str:
    """Return ``{reported_at, healthy, problems, notes, pairs, groups, partitions}``, each list worst first.

    A partition has the columns of sync_status and ``skipped``; a group and a pair those of ``report.roll_up`` with
    the counts by word as ``statuses`` and the newest ``drift``, null for none. Times are ISO 8601 in UTC.
    Keys and their order are the same in every report; names are exactly Kafka's. ASCII, one line.
    """
    summary = summarize(report, stalled_after)
    document = {
        "reported_at": _iso(report.reported_at),
        "healthy": not summary.problems,
        "problems": [{"status": each.status, "text": each.text} for each in summary.problems],
        "notes": summary.notes,
        "pairs": [_rolled(row) for row in summary.pairs],
        "groups": [_rolled(row) for row in summary.groups],
        "partitions": _partitions(summary.partitions),
    }
    return json.dumps(document)


def _rolled(row: Row) -> Row:
    plain = {name: value for name, value in row.items() if name not in (*_INNER, *STATUS_WORDS, "drift")}
    drift = row["drift"] and {name: row["drift"][name] for name in _DRIFT}
    return {**plain, "statuses": {word: row[word] for word in STATUS_WORDS}, "drift": drift}


def _partitions(ranked: pa.Table) -> list[Row]:
    rows: list[Row] = ranked.drop_columns(list(_INNER)).to_pylist()
    for row in rows:
        row["origin_share"] = row["origin_share"] and json.loads(row["origin_share"])
        row |= {name: _iso(row[name]) for name in ("reported_at", "source_committed_at")}
    return rows


def _iso(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(timezone.utc).isoformat(timespec="milliseconds")
