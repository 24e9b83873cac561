"""What ``sync_offsets`` says while it works: what it knows when it has caught up, and a summary every minute."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Mapping

from offset_sync.jobs.metrics.positions import Positions
from offset_sync.jobs.metrics.sync import SyncMetrics
from offset_sync.model.values import Outcome
from offset_sync.state.sync_state import SyncState
from offset_sync.status.format import to_count, to_duration

logger = logging.getLogger(__name__)
EVERY_S = 60.0


class SyncSummary:
    """Puts into words what *metrics* have counted and how *positions* stand."""

    def __init__(self, state: SyncState, metrics: SyncMetrics, positions: Positions) -> None:
        self._state = state
        self._metrics = metrics
        self._positions = positions
        self._before: Counter[str] = Counter()

    def caught_up(self) -> str:
        """Return what is known now that every log has been read to its end."""
        with self._state.lock:
            keys = len(self._state.offsets.keys)
            groups = len({key.group_id for key in self._state.offsets.keys})
        return f"every log is read up to its end: syncing {to_count(keys)} partitions of {to_count(groups)} groups"

    def minute(self) -> str:
        """Return what has happened since the last call, what is withheld now, and the worst staleness per pair."""
        counts = self._metrics.totals()
        since, self._before = counts - self._before, counts
        return f"since the last summary: {_work(since)}; {self._withheld()}; {self._staleness()}; {self._index()}"

    def ended(self) -> str:
        """Return what a run with ``--once`` has done."""
        return f"done: {_work(self._metrics.totals())}; {self._withheld()}; {self._index()}"

    def run(self, stop: threading.Event, is_ready: threading.Event) -> None:
        """Say it every minute until *stop* is set, once *is_ready* is."""
        while not stop.wait(EVERY_S):
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
    answers = sum(counts.get(outcome.name, 0) for outcome in Outcome)
    outcomes = {outcome.name: counts.get(outcome.name, 0) for outcome in Outcome}
    detail = _list({name: count for name, count in outcomes.items() if count})
    return f"{to_count(counts.get('genuine', 0))} commits read, {to_count(answers)} answers" + (
        f" ({detail})" if detail else ""
    )


def _list(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {to_count(count)}" for name, count in sorted(counts.items(), key=lambda item: -item[1]))
