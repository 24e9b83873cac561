"""Where a report goes: the terminal or JSON, and the page."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TextIO

from rich.console import Console

from offset_sync.config import Config
from offset_sync.status.filters import RowFilter
from offset_sync.status.health import find_problems
from offset_sync.status.render.json_report import to_json
from offset_sync.status.render.page import PageOptions, render_page, write_page
from offset_sync.status.render.terminal import render_table
from offset_sync.status.report import Report, ReportOutput
from offset_sync.status.verdict import Limits

logger = logging.getLogger(__name__)


def status_arguments(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add what report_status takes, and return *parser*."""
    parser.add_argument("--format", choices=["table", "json", "none"], help="what is printed (default: table, once)")
    parser.add_argument("--group", action="append", default=[], metavar="PATTERN", help="only these groups")
    parser.add_argument("--topic", action="append", default=[], metavar="PATTERN", help="only these topics")
    parser.add_argument("--status", action="append", default=[], metavar="WORD", help="only rows of this status")
    parser.add_argument("--most", type=int, default=20, metavar="N", help="print at most so many groups (default 20)")
    parser.add_argument("--details", action="store_true", help="print the partitions of these groups too")
    return parser


@dataclass(frozen=True)
class TableOutput:
    """Prints the rows that were asked for as tables; see :func:`render_table`."""

    out: TextIO
    rows: RowFilter
    limits: Limits
    most: int
    details: bool

    def show(self, report: Report) -> None:
        """Print a report."""
        console = Console(file=self.out)
        render_table(self.rows.of(report), console, limits=self.limits, most=self.most, details=self.details)


@dataclass(frozen=True)
class JsonOutput:
    """Prints the rows that were asked for as one line of JSON."""

    out: TextIO
    rows: RowFilter
    limits: Limits

    def show(self, report: Report) -> None:
        """Print a report."""
        print(to_json(self.rows.of(report), self.limits), file=self.out, flush=True)


@dataclass(frozen=True)
class PageOutput:
    """Writes the page, of all rows."""

    path: str
    options: PageOptions

    def show(self, report: Report) -> None:
        """Write a report; where that fails it is logged, for the tables, the metrics and the terminal have it."""
        page = render_page(report, self.options)
        try:
            write_page(self.path, page)
        except OSError as error:
            logger.error("status.page: %s cannot be written: %s", self.path, error)


def open_outputs(config: Config, arguments: argparse.Namespace, out: TextIO) -> list[ReportOutput]:
    """Return everything that a report is shown to; the page is last, for it takes longest."""
    rows, limits = rows_of(arguments), limits_of(config)
    interval = timedelta() if arguments.once else config.status.interval
    printed = arguments.format or ("table" if arguments.once else "none")
    outputs: list[ReportOutput] = []
    if printed == "table":
        outputs.append(TableOutput(out, rows, limits, arguments.most, arguments.details))
    if printed == "json":
        outputs.append(JsonOutput(out, rows, limits))
    return [*outputs, PageOutput(config.status.page, PageOptions(limits=limits, reload_every=interval))]


def rows_of(arguments: argparse.Namespace) -> RowFilter:
    """Return which rows *arguments* ask for."""
    return RowFilter(arguments.group, arguments.topic, arguments.status)


def limits_of(config: Config) -> Limits:
    """Return from when on a delay is unhealthy."""
    return Limits(behind=config.status.stalled_after)


def unhealthy(config: Config, report: Report, arguments: argparse.Namespace) -> Sequence[str]:
    """Return one line per problem among the rows that were asked for; none: all is well."""
    asked = rows_of(arguments).of(report)
    return [problem.text for problem in find_problems(asked.status, asked.drift, limits_of(config))]
