"""The log lines of ``sync_offsets`` that sum up: once it has caught up, every minute, and at the end."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping

from offset_sync.jobs.metrics.positions import Positions
from offset_sync.jobs.metrics.sync import SyncMetrics
from offset_sync.model.text import to_count, to_duration
from offset_sync.model.values import Outcome
from offset_sync.state.sync_state import SyncState

logger = logging.getLogger(__name__)


class SyncSummary:
    """Formats the counts of *metrics* and the state of *positions*."""

    def __init__(self, state: SyncState, metrics: SyncMetrics, positions: Positions) -> None:
        self._state, self._metrics, self._positions = state, metrics, positions
        self._before: Counter[str] = Counter()

    def caught_up(self) -> str:
        """Return the line for when every log has been read to its end."""
        with self._state.lock:
            keys = len(self._state.offsets.keys)
            groups = len({key.group_id for key in self._state.offsets.keys})
        return f"every commit log is read to its end: syncing {to_count(keys)} partitions of {to_count(groups)} groups"

    def log(self) -> None:
        """Log the counts since the last call, the withheld keys, and the worst staleness per pair."""
        counts = self._metrics.totals()
        since, self._before = counts - self._before, counts
        stale = {pair.pair: int(pair.stale_ms.max(initial=0)) for pair in self._positions.by_pair()}
        worst = [f"{source} to {target} {to_duration(ms)}" for (source, target), ms in stale.items()]
        staleness = f"worst staleness: {', '.join(worst) or 'nothing to sync'}"
        logger.info("since the last summary: %s; %s; %s; %s", _work(since), self._withheld(), staleness, self._index())

    def ended(self) -> str:
        """Return the totals of a run with ``--once``."""
        return f"done: {_work(self._metrics.totals())}; {self._withheld()}; {self._index()}"

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


def _work(counts: Mapping[str, int]) -> str:
    outcomes = {outcome.name: counts[outcome.name] for outcome in Outcome if counts.get(outcome.name)}
    detail = f" ({_list(outcomes)})" if outcomes else ""
    return f"{to_count(counts.get('genuine', 0))} commits read, {to_count(sum(outcomes.values()))} answers{detail}"


def _list(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {to_count(count)}" for name, count in sorted(counts.items(), key=lambda item: -item[1]))
