"""Groups with the interceptor that move to and fro while producers write at both clusters, and what each got."""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from broker.committed_offsets import Partition, committed
from broker.installation import Installation, until
from consumer.consumer_host import ConsumerHost, Reader
from offset_sync.config import load_config
from offset_sync.jobs.cutover import add_arguments
from offset_sync.jobs.cutover import cutover as cutover_groups
from offset_sync.jobs.runner import job_arguments
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import stable_ends
from offset_sync_demo.load.records import describe_id, value_id
from offset_sync_demo.load.workload import Producers


class Judged(NamedTuple):
    """What a group got: *delivered* records in all, those *repeated*, and those *lost*, as ``alias:number``.

    Two kinds are between a group and a cluster, and no move answers for them: what it got *again* before it moved on,
    as members join and leave, and what it got and had not committed when it was moved, *uncommitted*.
    """

    delivered: int
    repeated: list[str]
    lost: list[str]
    again: list[str]
    uncommitted: list[str]


@dataclass
class MovingGroups:
    """*members* consumers of each of the *groups*, whose protocols these are; all read one *topic*."""

    clusters: Mapping[str, EmbeddedCluster]
    host: ConsumerHost
    topic: str
    partitions: int
    groups: Mapping[str, str]
    members: int = 2
    commits: str = "auto"
    """As :meth:`ConsumerHost.start` has it."""
    home: str = ""
    readers: dict[str, list[tuple[str, int, Reader]]] = field(default_factory=dict)
    """By group, each with the cluster where it read, and after how many moves."""
    moves: int = 0
    _running: dict[str, list[str]] = field(default_factory=dict)
    _number: itertools.count[int] = field(default_factory=itertools.count)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def start(self, alias: str) -> None:
        """Start all consumers at a cluster."""
        with self._lock:
            self.moves += self.home not in ("", alias)
            self.home = alias
            for group in self.groups:
                for _ in range(self.members):
                    self._start_member(group)

    def _start_member(self, group: str) -> None:
        name = f"{group}-{next(self._number)}"
        settings = {"bootstrap.servers": self.clusters[self.home].bootstrap_servers, "group.id": group}
        settings["group.protocol"] = self.groups[group]
        reader = self.host.start(name, self.topic, settings, commits=self.commits)
        self.readers.setdefault(group, []).append((self.home, self.moves, reader))
        self._running.setdefault(group, []).append(name)

    def stop(self) -> None:
        """End all consumers as an application would."""
        with self._lock:
            self.host.stop(*itertools.chain.from_iterable(self._running.values()))
            self._running.clear()

    def wait_until_read(self, seconds: float = 120) -> None:
        """Wait until all groups have committed all present records of their cluster."""
        places = [(self.topic, number) for number in range(self.partitions)]
        ends = stable_ends(self.clusters[self.home], places)
        until(lambda: all(self._is_read(found, ends) for found in self.committed_at(self.home).values()), seconds)

    def committed_at(self, alias: str) -> Mapping[str, Mapping[Partition, int]]:
        """Return what a cluster holds of each group."""
        found = committed(self.clusters[alias], list(self.groups))
        return {group: {place: each.offset for place, each in by.items()} for group, by in found.items()}

    @staticmethod
    def _is_read(held: Mapping[Partition, int], ends: Mapping[Partition, int]) -> bool:
        return all(held.get(place, 0) >= end for place, end in ends.items())

    def judge(self, producers: Producers, installation: Installation) -> dict[str, Judged]:
        """Return what each group got of all that was produced, each record wherever it was."""
        moved = self._committed_when_moved(installation)
        due = set[tuple[int, int]]()
        for alias in self.clusters:
            for (_, number), records in producers.acknowledged(alias).items():
                due |= {(number, int(each)) for each in np.unique(records.ids)}
        found = dict[str, Judged]()
        for group, readers in self.readers.items():
            places, uncommitted = Counter[tuple[int, int, int, int]](), set[tuple[int, int]]()
            for _, moves, one in readers:
                ends = moved[group][moves] if moves < len(moved[group]) else {}
                for each in one.records:
                    record = each.partition, value_id(each.value.encode())
                    places[*record, moves, each.offset] += 1
                    uncommitted |= {record} if each.offset >= ends.get(each.partition, each.offset + 1) else set()
            got = Counter(place[:2] for place in places)
            twice = [each for each, count in got.items() for _ in range(count - 1)]
            again = [place[:2] for place, count in places.items() for _ in range(count - 1)]
            repeated = [each for each in twice if each not in uncommitted]
            late = [each for each in twice if each in uncommitted]
            lost = due - got.keys()
            found[group] = Judged(places.total(), *map(self._named, (repeated, lost, again, late)))
        return found

    def _committed_when_moved(self, installation: Installation) -> dict[str, list[dict[int, int]]]:
        """Return what each group had committed at its source at each of its moves, by partition."""
        found: dict[str, dict[str, dict[int, int]]] = {group: {} for group in self.groups}
        for row in sorted(installation.rows("cutovers", step="commit"), key=lambda row: row["at"]):
            ends = found[row["group_id"]].setdefault(row["cutover_id"], {})
            ends[row["partition"]] = row["source_offset"]
        return {group: list(by_move.values()) for group, by_move in found.items()}

    def _named(self, records: Iterable[tuple[int, int]]) -> list[str]:
        return sorted(f"{number}/{describe_id(identity, list(self.clusters))}" for number, identity in records)


def cutover(installation: Installation, action: str, source: str, target: str, *options: str) -> list[str]:
    """Run the command here; return its failures."""
    words = [action, "--conf", "x", "--from", source, "--to", target, *options]
    arguments = add_arguments(job_arguments("cutover")).parse_args(words)
    return list(cutover_groups(load_config(installation.config_file), arguments, threading.Event()))


def move(installation: Installation, groups: MovingGroups, target: str, pattern: str, *options: str) -> float:
    """Stop the groups, move them by their read lists and start them at *target*; return the command's seconds."""
    source = groups.home
    groups.stop()
    began = time.monotonic()
    chosen = ("--groups", pattern, "--skip-read", *options)
    failures = cutover(installation, "apply", source, target, "--planned", "--timeout", "60s", *chosen)
    assert failures == [], failures
    took = time.monotonic() - began
    failures = cutover(installation, "verify", source, target, *chosen)
    assert failures == [], failures
    groups.start(target)
    return took
