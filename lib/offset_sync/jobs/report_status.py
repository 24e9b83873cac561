"""The job ``report_status``: the status of every group between every two clusters, and whether the sync is healthy."""

from __future__ import annotations

import argparse
import logging
import sys
import threading
import time
from collections.abc import Sequence
from datetime import datetime, timezone

from offset_sync.config import Config
from offset_sync.jobs.runner import open_tables
from offset_sync.model.reasons import Reason
from offset_sync.model.text import visible
from offset_sync.state.cluster_clock import system_now_ms
from offset_sync.status.live_state import LiveState
from offset_sync.status.outputs import ReportOutput, open_outputs, status_arguments
from offset_sync.status.report import DriftWindow, Report
from offset_sync.status.waiting import waiting
from offset_sync.tables.catalog import SYNC_DRIFT, SYNC_STATUS

logger = logging.getLogger(__name__)
add_arguments = status_arguments


class StatusJob:
    """Reports once, or every ``status.interval`` until stopped."""

    def __init__(
        self, config: Config, state: LiveState, stop: threading.Event, outputs: Sequence[ReportOutput]
    ) -> None:
        self._config, self._state, self._stop, self._outputs = config, state, stop, outputs
        self._drift = DriftWindow()

    def run_once(self) -> Report:
        """Make a report, show it and append it to the tables; it is shown even if the append fails."""
        report = self.make()
        self.show(report)
        return report

    def make(self) -> Report:
        """Return a report as of now."""
        now_ms = system_now_ms()
        now = datetime.fromtimestamp(now_ms / 1000, timezone.utc)
        status = self._state.published(now_ms)
        drift = self._drift.add(status, now)
        notes: list[str] = [Reason.DECIDED_HERE()] if self._state.is_decided_here else []
        notes += [visible(str(each)) for each in self._state.silent]
        return Report(status, drift, now, notes)

    def show(self, report: Report) -> None:
        """Show the newest report and append it to the tables."""
        try:
            for output in self._outputs:
                output(report)
        finally:
            self._state.tables.replace(SYNC_STATUS, report.status)
            self._state.tables.append(SYNC_DRIFT, report.newest_drift)

    def run_until_stopped(self) -> None:
        """Report every interval; a failed report is retried at the next one."""
        while True:
            began = time.monotonic()
            try:
                self.run_once()
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
        from offset_sync.jobs.endpoint import REPORT, Gauges, PageServer, ReportMetrics, is_open_to_others, served

        metrics, pages = ReportMetrics(), PageServer(is_open=is_open_to_others(config.metrics))
        with served("report_status", config.metrics, [Gauges(REPORT, lambda: metrics)], pages) as port:
            if port is not None:
                logger.info("status page: http://localhost:%d/", port)
            shown = open_outputs(config, arguments, sys.stdout, None if port is None else pages.put)
            StatusJob(config, LiveState(config, tables), stop, [metrics.show, *shown]).run_until_stopped()
    return []
