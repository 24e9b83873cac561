"""The real MirrorMaker 2 between clusters that all produce into the same topics; it may be killed and started again.

It runs the recipe for users in ``conf/mirrors/``, with the transform of ``connect/``: this stamps records produced at a
cluster, and does not copy copies.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import permutations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from offset_sync_demo.kafka.clients import Endpoint, Partition, list_partitions
from offset_sync_demo.kafka.connect_transform import compile_transform
from offset_sync_demo.kafka.log_dump import dump_all_ids
from offset_sync_demo.kafka.mirror_maker import START_QUICKLY, UNREPLICATED, MirrorMaker2

Ids = NDArray[np.uint64]
_RECIPES = Path(__file__).resolve().parents[3] / "conf" / "mirrors"
_FILES = {2: "two-clusters.properties", 3: "three-clusters.properties"}
_WORKER = {
    # A killed worker is detected soon, and its tasks are assigned to the next one at once.
    "session.timeout.ms": "6000",
    "heartbeat.interval.ms": "2000",
    "scheduled.rebalance.max.delay.ms": "0",
    # After a crash records copied since the last flush are copied again.
    "offset.flush.interval.ms": "5000",
    **START_QUICKLY,
}


def mirror_settings(clusters: Mapping[str, Endpoint], topics: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the recipe for *clusters* (dc1, dc2 and, with three, dc3) as MirrorMaker 2 reads it.

    *topics* are those that are copied from each cluster to all others. Differs from the recipe in addresses, topics,
    the jar, which is on the class path instead, one replica, and shorter times.
    """
    lines = (line.strip() for line in (_RECIPES / _FILES[len(clusters)]).read_text().splitlines())
    pairs = (line.partition(" = ") for line in lines if line and not line.startswith("#"))
    recipe = {name: value for name, _, value in pairs if name != "topics" and not name.endswith(".plugin.path")}
    return {
        **recipe,
        **{f"{alias}.bootstrap.servers": each.bootstrap_servers for alias, each in clusters.items()},
        **{f"{one}->{other}.topics": ", ".join(topics[one]) for one, other in permutations(clusters, 2)},
        **{f"{alias}.{name}": value for alias in clusters for name, value in _WORKER.items()},
        **START_QUICKLY,
        # MirrorMaker refuses a connector with settings of offset syncs, which the recipe does not have.
        **{name: value for name, value in UNREPLICATED.items() if not name.startswith("offset-syncs.")},
    }


class StampingMirror:
    """The process; each start is a new one, which continues at the offsets that Connect has stored."""

    def __init__(
        self,
        clusters: Mapping[str, Endpoint],
        topics: Mapping[str, Sequence[str]],
        directory: Path,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Topics as for :func:`mirror_settings`; *settings* replace the recipe's; processes write to *directory*."""
        directory.mkdir(parents=True, exist_ok=True)
        self._directory, self._settings = directory, {**mirror_settings(clusters, topics), **(settings or {})}
        self._clusters, self._topics = clusters, topics
        self._classes = compile_transform(directory / "transform")
        self._started = 0
        self._process: MirrorMaker2 | None = None

    def start(self, settings: Mapping[str, str] | None = None) -> None:
        """Start it, with *settings* in place of those of the recipe; it copies some 15 seconds later."""
        self._started += 1
        told = {**self._settings, **(settings or {})}
        text = "".join(f"{name} = {value}\n" for name, value in told.items())
        self._process = MirrorMaker2(self._directory / f"mirror-{self._started}", text, self._classes)

    def kill(self) -> None:
        """End it by SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the running process (SIGSTOP) while the context is open."""
        assert self._process is not None, "it was started"
        os.kill(self._process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self._process.pid, signal.SIGCONT)

    def stop(self) -> None:
        """Stop it by SIGTERM."""
        if self._process is not None:
            self._process.stop()
            self._process = None

    def drain(self, timeout: float = 120.0) -> None:
        """Return when the records that each cluster has now are at all others too, by their values.

        Raises TimeoutError with the end of the mirror's log, and OffsetSyncError if a broker or the mirror is dead.
        """
        deadline = time.monotonic() + timeout
        wanted = self._to_be_copied(timeout)
        while wanted := {alias: left for alias, all_ in wanted.items() if (left := self._not_at(alias, all_))}:
            self.check()
            if time.monotonic() > deadline:
                raise TimeoutError(f"not copied: {_named(wanted)}; MirrorMaker's log ends:\n{self.log_tail()}")
            time.sleep(0.2)

    def _to_be_copied(self, timeout: float) -> dict[str, dict[Partition, Ids]]:
        """Return the ids of the records to be copied, by the cluster to which they are copied."""
        found: dict[str, dict[Partition, Ids]] = {alias: {} for alias in self._clusters}
        for source, cluster in self._clusters.items():
            logs = dump_all_ids(cluster, list_partitions(cluster, self._topics[source]), timeout)
            for target in self._clusters.keys() - {source}:
                mine = found[target]
                mine |= {place: np.union1d(mine.get(place, log.ids), log.ids) for place, log in logs.items()}
        return found

    def _not_at(self, alias: str, wanted: Mapping[Partition, Ids]) -> dict[Partition, Ids]:
        logs = dump_all_ids(self._clusters[alias], list(wanted))
        left = {place: np.setdiff1d(ids, logs[place].ids) for place, ids in wanted.items()}
        return {place: ids for place, ids in left.items() if len(ids)}

    def check(self) -> None:
        """Raise OffsetSyncError with the end of its log if it has ended by itself."""
        if self._process is not None:
            self._process.check()

    def log_tail(self) -> str:
        """Return the last lines that it logged or printed."""
        return self._process.log_tail() if self._process is not None else ""


def _named(missing: Mapping[str, Mapping[Partition, Ids]]) -> str:
    return ", ".join(
        f"{len(ids)} of {topic}-{number} to {alias}"
        for alias, by in missing.items()
        for (topic, number), ids in by.items()
    )
