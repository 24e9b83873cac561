"""Resources of a run of ``sync_offsets``: the job's lease, readers and writers, and its summary in the log."""

from __future__ import annotations

import argparse
import logging
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from offset_sync.config import Config
from offset_sync.ingest.checkpoint import Checkpoint
from offset_sync.ingest.commit_batch import CommitReader
from offset_sync.ingest.commit_ingester import CommitIngester, Ingester, Reading
from offset_sync.ingest.commit_log_check import CommitLogCheck
from offset_sync.ingest.incarnation_check import IncarnationCheck
from offset_sync.ingest.polled_commits import CommitPoller, CoordinatorCheck, PollIngester
from offset_sync.jobs.metrics.positions import Positions
from offset_sync.jobs.metrics.sync import SyncMetrics
from offset_sync.kafka.cluster_admin import DEADLINE_S, ClusterAdmin
from offset_sync.kafka.leader_epochs import LeaderEpochs
from offset_sync.model.text import to_count, to_duration
from offset_sync.model.values import Outcome
from offset_sync.state.cluster_metadata import MetadataFetcher
from offset_sync.state.commit_log_incarnations import CommitLogIncarnations
from offset_sync.state.highest_indexed import highest_captured
from offset_sync.state.last_known import is_over
from offset_sync.state.lease import Lease, NoLease, held
from offset_sync.state.sync_state import SyncState
from offset_sync.sync.distributed_writer import TaskWrites
from offset_sync.sync.groups_at_once import GroupsAtOnce
from offset_sync.sync.offset_writer import TargetWriter
from offset_sync.sync.reconciliation import OffsetWriter
from offset_sync.tables.store import TableStore

logger = logging.getLogger(__name__)

SUMMARY_EVERY_S = 60.0
RENEWAL_EVERY_S = 24 * 3600.0
"""How often memory is checked; a key is over a week after its group was deleted, and a renewal takes some seconds."""
WORTH_WHILE = 10_000
"""The least number of keys that are over, beside more than half of all: some megabytes."""


@dataclass(frozen=True)
class Run:
    """The mode of a run: a dry run has no lease, and *checkpoints* in another place.

    Unless *is_writing*, no cluster is written to; all but a dry run record commits and answers in the tables.
    """

    lease: Lease
    checkpoints: str
    is_dry: bool
    is_writing: bool


@contextmanager
def opened(config: Config, tables: TableStore, arguments: argparse.Namespace, stop: threading.Event) -> Iterator[Run]:
    """Claim the job for as long as it runs; a dry run claims nothing."""
    if not arguments.dry_run:
        with held(Lease(tables, "sync_offsets", stop)) as lease:
            yield Run(lease, config.tables.checkpoints, is_dry=False, is_writing=not arguments.no_writes)
        return
    # Only this process reads or writes them, wherever the tables are stored and the tasks run.
    with tempfile.TemporaryDirectory(prefix="offset-sync-dry-run-") as folder:
        yield Run(NoLease(stop), Path(folder).as_uri(), is_dry=True, is_writing=False)


class TargetWriters:
    """One client for each cluster of *config*, in *admins*, and one writer that uses it, in *by_alias*."""

    def __init__(self, config: Config, spark: SparkSession, run: Run) -> None:
        self._at_once = {
            alias: GroupsAtOnce(alias, partial(config.java_options, alias), cluster_id=config.ids.get(alias, ""))
            for alias in config.clusters
        }
        self.admins, self.by_alias = dict[str, ClusterAdmin](), dict[str, OffsetWriter]()
        for alias, at_once in self._at_once.items():
            options = config.admin_options(alias)
            admin = ClusterAdmin(alias, options, config.names, at_once=at_once)
            self.admins[alias] = admin
            self.by_alias[alias] = TargetWriter(
                alias,
                options,
                not run.is_writing,
                fence=run.lease,
                admin=admin,
                by_tasks=TaskWrites(spark, run.lease),
                names=config.names,
            )

    def close(self) -> None:
        """Close the clients in the JVM."""
        for each in self._at_once.values():
            each.close()


class CommitReading:
    """The parts for every cluster of *config*; they write to the tables *seen*.

    They are kept when a query fails and is restarted: they know what the current batch has already done. Logs are read,
    except those of clusters with *polls*.
    """

    def __init__(
        self,
        config: Config,
        seen: TableStore,
        admins: Mapping[str, ClusterAdmin],
        checkpoints: Mapping[str, Checkpoint],
        state: SyncState,
        polls: Mapping[str, CommitPoller],
    ) -> None:
        self.incarnations = incarnations = CommitLogIncarnations(seen, config.polled())
        options = {alias: config.admin_options(alias) for alias in config.clusters if alias not in polls}
        self.commits = {alias: CommitReader(alias, each) for alias, each in options.items()}
        # One for each cluster, so that none waits for a slow one.
        self._checks = {
            a: IncarnationCheck(
                seen, {a: LeaderEpochs(a, each)}, lambda: highest_captured(seen, incarnations), of_commits=True
            )
            for a, each in options.items()
        }
        self.ingesters, self.coordinators = dict[str, Ingester](), dict[str, PollIngester]()
        for alias, checkpoint in checkpoints.items():
            if alias in polls:
                self.ingesters[alias] = PollIngester(alias, seen, checkpoint, polls[alias], state, incarnations)
                continue
            asked = MetadataFetcher({alias: admins[alias]}, DEADLINE_S)
            logs = CommitLogCheck(alias, checkpoint, asked, self._checks[alias])
            reading = Reading(logs, incarnations, config.names)
            log = CommitIngester(alias, seen, checkpoint, self.commits[alias], len(options), reading)
            check = CoordinatorCheck(admins[alias], state, config.is_group_included, log)
            self.ingesters[alias] = log
            self.coordinators[alias] = PollIngester(alias, seen, checkpoint, check, state, incarnations)

    def begin_after(self, captured_ms: int) -> None:
        """Have new incarnations of logs begin after the last row of previous drivers."""
        for check in self._checks.values():
            check.begin_after(captured_ms)


class Renewal:
    """Sets *over* when many of the keys in *state* are over: then the job restarts in the same process.

    Rows of keys are never reused while they may be referenced. A restarted job has no references, and restores no keys
    that are over (``state/last_known.py``): so memory follows the number of existing groups.
    """

    def __init__(self, state: SyncState, over: threading.Event) -> None:
        self._state, self._over = state, over

    def run(self, stop: threading.Event, is_ready: threading.Event) -> None:
        """Check periodically until *stop* is set."""
        while not stop.wait(RENEWAL_EVERY_S):
            with self._state.lock:
                known, gone = len(self._state.offsets.keys), int(is_over(self._state.offsets).sum())
            if is_ready.is_set() and gone >= WORTH_WHILE and gone > known // 2:
                logger.info("%d of %d keys belong to deleted groups: restarting the job without them", gone, known)
                self._over.set()


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
