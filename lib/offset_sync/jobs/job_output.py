"""Progress output of jobs.

``sync_offsets`` logs a line when it has caught up, and a summary every minute; ``index_records`` logs how far it is now
and then, and at the end.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Mapping

from offset_sync.ingest.index_parts import Backfill, IndexProgress
from offset_sync.jobs.metrics.positions import Positions
from offset_sync.jobs.metrics.sync import SyncMetrics
from offset_sync.model.text import to_count, to_duration
from offset_sync.model.values import Outcome
from offset_sync.state.sync_state import SyncState
from offset_sync.status.waiting import LINE_EVERY_S

logger = logging.getLogger(__name__)

SUMMARY_EVERY_S = 60.0


class SyncSummary:
    """Formats the counts of *metrics* and the state of *positions*."""

    def __init__(self, state: SyncState, metrics: SyncMetrics, positions: Positions) -> None:
        self._state = state
        self._metrics = metrics
        self._positions = positions
        self._before: Counter[str] = Counter()

    def caught_up(self) -> str:
        """Return the line for when every log has been read to its end."""
        with self._state.lock:
            keys = len(self._state.offsets.keys)
            groups = len({key.group_id for key in self._state.offsets.keys})
        return f"every commit log is read to its end: syncing {to_count(keys)} partitions of {to_count(groups)} groups"

    def minute(self) -> str:
        """Return the counts since the last call, the withheld keys, and the worst staleness per pair."""
        counts = self._metrics.totals()
        since, self._before = counts - self._before, counts
        return f"since the last summary: {_work(since)}; {self._withheld()}; {self._staleness()}; {self._index()}"

    def ended(self) -> str:
        """Return the totals of a run with ``--once``."""
        return f"done: {_work(self._metrics.totals())}; {self._withheld()}; {self._index()}"

    def run(self, stop: threading.Event, is_ready: threading.Event) -> None:
        """Log the summary every minute until *stop* is set, once *is_ready* is."""
        while not stop.wait(SUMMARY_EVERY_S):
            if is_ready.is_set():
                logger.info("%s", self.minute())

    def _index(self) -> str:
        with self._state.lock:
            logs = self._state.index.all_logs()
            runs = sum(log.run_count for log in logs.values())
        return f"the index has {to_count(runs)} runs of {to_count(len(logs))} logs"

    def _withheld(self) -> str:
        reasons: Counter[str] = Counter()
        for pair in self._positions.by_pair():
            reasons.update({state.name: count for state, count in pair.states().items() if state.is_withheld and count})
        return f"withheld: {_list(reasons) or 'none'}"

    def _staleness(self) -> str:
        stale = {pair.pair: int(pair.stale_ms.max(initial=0)) for pair in self._positions.by_pair()}
        worst = [f"{source} to {target} {to_duration(ms)}" for (source, target), ms in stale.items()]
        return f"worst staleness: {', '.join(worst) or 'nothing to sync'}"


def _work(counts: Mapping[str, int]) -> str:
    outcomes = {outcome.name: counts[outcome.name] for outcome in Outcome if counts.get(outcome.name)}
    detail = f" ({_list(outcomes)})" if outcomes else ""
    return f"{to_count(counts.get('genuine', 0))} commits read, {to_count(sum(outcomes.values()))} answers{detail}"


def _list(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {to_count(count)}" for name, count in sorted(counts.items(), key=lambda item: -item[1]))


def progress_line(now: Backfill) -> str:
    """Return the progress of a backfill in one line."""
    left = "unknown" if now.seconds_left is None else to_duration(now.seconds_left * 1000)
    counts = f"{to_count(now.records)} records, {to_count(round(now.records_per_s))} records/s"
    return f"{counts}, {now.share:.0%} of the records present at the start, time left {left}"


class IndexOutput:
    """Logs *progress* in a thread of its own until it is ended, or *stop* is set: more often until it has caught up."""

    def __init__(self, progress: IndexProgress, stop: threading.Event) -> None:
        self._progress, self._stop = progress, stop
        self._is_caught_up, self._ended = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="progress", daemon=True)

    def start(self) -> None:
        """Start reporting."""
        self._thread.start()

    def caught_up(self) -> None:
        """Log once that the index has reached the log ends of the start."""
        if not self._is_caught_up.is_set():
            self._is_caught_up.set()
            self._log("caught up after")

    def end(self) -> None:
        """Log the totals, and stop reporting."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        self._log("ended after")

    def _log(self, what: str) -> None:
        lasted = to_duration(self._progress.seconds * 1000)
        logger.info("%s %s: %s", what, lasted, progress_line(self._progress.backfill()))

    def _run(self) -> None:
        while not self._ended.wait(SUMMARY_EVERY_S if self._is_caught_up.is_set() else LINE_EVERY_S):
            if self._stop.is_set():
                return
            self._log("indexing for")
