"""An installation with a topic whose logs cross, and the contents of these: for offsets kept elsewhere."""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from broker.crafted_logs import Clusters, Headers, Stamp, create_topics, write_log
from broker.installation import Installation, install
from broker.log_contents import Record, read_records
from offset_sync.config import load_config
from offset_sync.jobs.runner import job_arguments
from offset_sync.jobs.translate import add_arguments, translate
from oracles.translation import LogRecord

PARTITIONS = 2
ORIGINS = {"dc1": "dc1", "dc2": "dc2"}


def crossed_logs(seed: int, steps: int = 60) -> dict[str, list[LogRecord]]:
    """Two logs, each with the records of both clusters, the other's a while later."""
    rng, logs = random.Random(seed), {"dc1": list[LogRecord](), "dc2": list[LogRecord]()}
    waiting = {"dc1": list[LogRecord](), "dc2": list[LogRecord]()}
    for step in range(steps):
        alias = rng.choice(("dc1", "dc2"))
        other = "dc2" if alias == "dc1" else "dc1"
        if step < steps * 2 // 3 and rng.random() < 0.6:
            logs[alias].append(LogRecord(len(logs[alias]), alias, len(logs[alias])))
            waiting[other].append(logs[alias][-1])
        elif waiting[alias]:
            copied = waiting[alias].pop(0)
            logs[alias].append(LogRecord(len(logs[alias]), copied.origin, copied.origin_offset))
    return logs


class PlainStamp(Stamp):
    """Headers that a plain reader understands."""

    def decorated(self, headers: Headers, number: int) -> Headers:
        """Return them as they are."""
        return headers

    def native(self, number: int) -> Headers:
        """Return none."""
        return []


@dataclass(frozen=True)
class Kept:
    """*logs* are the true contents of the crossed topic's logs, by cluster and partition."""

    topic: str
    clusters: Clusters
    installation: Installation
    logs: Mapping[tuple[str, int], list[Record]]

    def log(self, alias: str, partition: int) -> list[Record]:
        """Return the contents of a log."""
        return self.logs[alias, partition]

    def run(self, *words: str, source: str = "dc1", target: str = "dc2") -> list[str]:
        """Run the command in this process; return its failures."""
        parser = add_arguments(job_arguments("translate", has_once=False))
        arguments = parser.parse_args(["--conf", "x", "--from", source, "--to", target, *words])
        return list(translate(load_config(self.installation.config_file), arguments, threading.Event()))

    def first_unread(self, partition: int, offset: int, source: str, target: str) -> int:
        """Return the offset of the first record that was not read below *offset*, by contents."""
        read = {each.identity for each in self.log(source, partition) if each.offset < offset}
        there = self.log(target, partition)
        end = there[-1].offset + 1
        return next((each.offset for each in there if each.identity not in read), end)


def every_offset(kept: Kept, source: str) -> list[tuple[int, int]]:
    """Return partition and offset of every position that there is at *source*."""
    return [(number, offset) for number in range(PARTITIONS) for offset in range(len(kept.log(source, number)) + 1)]


def install_kept(clusters: Clusters, folder: Path, topic: str) -> Kept:
    """Write the topic's logs and index them; *topic* with ``-only-on-dc1`` behind it is not at dc2."""
    only_there = f"{topic}-only-on-dc1"
    logs = [crossed_logs(seed) for seed in range(PARTITIONS)]
    for alias in ("dc1", "dc2"):
        create_topics(clusters[alias], {topic: PARTITIONS})
        write_log(clusters[alias], {(topic, number): logs[number][alias] for number in range(PARTITIONS)}, PlainStamp())
    create_topics(clusters["dc1"], {only_there: 1})
    write_log(clusters["dc1"], {(only_there, 0): [LogRecord(0, "dc1", 0)]})
    installation = install(folder, clusters, [f"{topic}.*"])
    assert installation.index() == []
    places = [(alias, number) for alias in ORIGINS for number in range(PARTITIONS)]
    return Kept(
        topic,
        clusters,
        installation,
        {(alias, number): read_records(clusters[alias], (topic, number), ORIGINS) for alias, number in places},
    )
