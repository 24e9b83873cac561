"""Where a report goes: the terminal or JSON, the page, the metrics."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TextIO

import pyarrow as pa
from rich.console import Console

from offset_sync.config import Config
from offset_sync.status.filters import select_drift, select_status
from offset_sync.status.health import Limits, find_problems
from offset_sync.status.render.json_report import to_json
from offset_sync.status.render.page import render_page, write_page
from offset_sync.status.render.terminal import render_table

logger = logging.getLogger(__name__)
ReportOutput = Callable[[pa.Table, pa.Table, datetime], None]
"""Shows a report: its rows of sync_status, those of sync_drift within the window, and when it was made."""


def status_arguments(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add what report_status takes, and return *parser*."""
    parser.add_argument("--format", choices=["table", "json", "none"], help="what is printed (default: table, once)")
    parser.add_argument("--group", action="append", default=[], metavar="PATTERN", help="only these groups")
    parser.add_argument("--topic", action="append", default=[], metavar="PATTERN", help="only these topics")
    parser.add_argument("--status", action="append", default=[], metavar="WORD", help="only rows of this status")
    parser.add_argument("--most", type=int, default=20, metavar="N", help="print at most so many groups (default 20)")
    parser.add_argument("--details", action="store_true", help="print the partitions of these groups too")
    return parser


def open_outputs(config: Config, arguments: argparse.Namespace, out: TextIO) -> list[ReportOutput]:
    """Return everything that a report is shown to; the page is last, for it takes longest."""
    printed = arguments.format or ("table" if arguments.once else "none")
    limits = limits_of(config)

    def chosen(status: pa.Table, drift: pa.Table) -> tuple[pa.Table, pa.Table]:
        rows = select_status(status, arguments.group, arguments.topic, arguments.status)
        return rows, select_drift(drift, rows, arguments.group)

    def print_table(status: pa.Table, drift: pa.Table, at: datetime) -> None:
        console = Console(file=out)
        shown = chosen(status, drift)
        render_table(
            *shown, console, reported_at=at, limits=limits, most=arguments.most, details=arguments.details
        )  # fmt: skip

    def print_json(status: pa.Table, drift: pa.Table, at: datetime) -> None:
        print(to_json(*chosen(status, drift), reported_at=at, limits=limits), file=out, flush=True)

    def write_html(status: pa.Table, drift: pa.Table, at: datetime) -> None:
        interval = None if arguments.once else config.status.interval
        page = render_page(status, drift, reported_at=at, limits=limits, reload_every=interval)
        try:
            write_page(config.status.page, page)
        except OSError as error:
            # The tables, the metrics and whoever reads the terminal have the report all the same.
            logger.error("status.page: %s cannot be written: %s", config.status.page, error)

    shows: dict[str, list[ReportOutput]] = {"table": [print_table], "json": [print_json], "none": []}
    return [*shows[printed], write_html]


def limits_of(config: Config) -> Limits:
    """Return from when on a delay is unhealthy."""
    return Limits(behind=config.status.stalled_after)


def unhealthy(
    config: Config, status: pa.Table, drift: pa.Table, arguments: argparse.Namespace
) -> Sequence[str]:  # fmt: skip
    """Return one line per problem among the rows that were asked for; none: all is well."""
    rows = select_status(status, arguments.group, arguments.topic, arguments.status)
    return [
        problem.text for problem in find_problems(rows, select_drift(drift, rows, arguments.group), limits_of(config))
    ]
