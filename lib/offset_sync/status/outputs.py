"""The outputs of a report: the terminal or JSON, and the page."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable
from datetime import timedelta
from typing import TextIO

from rich.console import Console

from offset_sync.config import Config
from offset_sync.status.page import render_page
from offset_sync.status.report import Report
from offset_sync.status.terminal import render_table
from offset_sync.tables.files import Files

logger = logging.getLogger(__name__)
ReportOutput = Callable[[Report], None]
"""Shows a report somewhere."""


def status_arguments(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add the arguments of report_status, and return *parser*."""
    by_default = "text with --once, else nothing"
    parser.add_argument("--format", choices=["text", "json"], help=f"what to print (default: {by_default})")
    parser.add_argument("--group", action="append", default=[], metavar="PATTERN", help="only these groups")
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

    def print_it(report: Report) -> None:
        asked = report.select(arguments.group)
        if arguments.format == "json":
            print(asked.to_json(), file=out, flush=True)
        else:
            render_table(asked, Console(file=out), most=arguments.most, details=arguments.details)

    def put_page(report: Report) -> None:
        page = render_page(report, timedelta() if arguments.once else config.status.interval)
        if serve is not None:
            serve(report, page)
        try:
            Files().write_text(config.status.page, page)
        except OSError as error:
            logger.error("status.page: cannot write %s: %s", config.status.page, error)

    return [print_it, put_page] if arguments.once or arguments.format else [put_page]
