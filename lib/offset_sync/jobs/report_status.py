"""The job ``report_status``: the status of every group between every two clusters, and whether the sync is healthy."""

from __future__ import annotations

import argparse
import logging
import sys
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TextIO

import pyarrow as pa
from rich.console import Console

from offset_sync.config import Config
from offset_sync.jobs.runner import open_tables
from offset_sync.model.reasons import Reason
from offset_sync.model.text import visible
from offset_sync.state.cluster_clock import system_now_ms, to_datetime
from offset_sync.status.live_state import LiveState
from offset_sync.status.page import render_page
from offset_sync.status.report import DriftWindow, Report
from offset_sync.status.terminal import render_table
from offset_sync.status.waiting import waiting
from offset_sync.tables.catalog import SYNC_DRIFT, SYNC_STATUS
from offset_sync.tables.files import Files

logger = logging.getLogger(__name__)
ReportOutput = Callable[[Report], None]
"""Shows a report somewhere."""


def add_arguments(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Add the job's arguments, and return *parser*."""
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


class StatusJob:
    """Reports once, or every ``status.interval`` until stopped."""

    def __init__(
        self, config: Config, state: LiveState, stop: threading.Event, outputs: Sequence[ReportOutput]
    ) -> None:
        self._config, self._state, self._stop, self._outputs = config, state, stop, outputs
        self._drift = DriftWindow()

    def make(self) -> Report:
        """Return a report as of now."""
        now_ms = system_now_ms()
        now = to_datetime(now_ms)
        rows = self._state.published(now_ms)
        notes: list[str] = [Reason.DECIDED_HERE()] if self._state.is_decided_here else []
        notes += [visible(str(each)) for each in self._state.silent]
        return Report(rows, self._drift.add(rows, now), now, notes)

    def show(self, report: Report) -> None:
        """Show the newest report and append it to the tables; it is shown even if the append fails."""
        try:
            for output in self._outputs:
                output(report)
        finally:
            self._state.tables.replace(SYNC_STATUS, pa.Table.from_pylist(report.rows, SYNC_STATUS.arrow_schema))
            self._state.tables.append(SYNC_DRIFT, report.newest_drift)

    def run_until_stopped(self) -> None:
        """Report every interval; a failed report is retried at the next one."""
        while True:
            began = time.monotonic()
            try:
                self.show(self.make())
            except Exception:  # keep the loop alive: the next report may succeed
                logger.exception("report failed; retrying at the next interval")
            left = self._config.status.interval.total_seconds() - (time.monotonic() - began)
            if self._stop.wait(max(0.0, left)):
                return


def report_status(config: Config, arguments: argparse.Namespace, stop: threading.Event) -> Sequence[str]:
    """Report until stopped, or with ``--once`` now; return one line per problem of the selected rows."""
    with open_tables(config, "offset-sync report_status") as tables:
        if arguments.once:
            with waiting(f"the tables and clusters {', '.join(config.clusters)}"):
                job = StatusJob(config, LiveState(config, tables), stop, open_outputs(config, arguments, sys.stdout))
                report = job.make()
            job.show(report)
            return [each["text"] for each in report.select(arguments.group).document["problems"]]
        # Imported here: a single report needs no endpoint, and starts faster.
        from offset_sync.jobs.endpoint import Gauges, PageServer, ReportMetrics, is_open_to_others, served

        metrics, pages = ReportMetrics(), PageServer(is_open=is_open_to_others(config.metrics))
        with served("report_status", config.metrics, [Gauges(metrics.gauges)], pages) as port:
            if port is not None:
                logger.info("status page: http://localhost:%d/", port)
            shown = open_outputs(config, arguments, sys.stdout, None if port is None else pages.put)
            StatusJob(config, LiveState(config, tables), stop, [metrics.show, *shown]).run_until_stopped()
    return []
