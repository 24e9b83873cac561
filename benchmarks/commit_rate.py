"""How many groups a second are committed: the offset writer against an AdminClient that only writes, on a broker.

    .venv/bin/python benchmarks/commit_rate.py [--groups 2000] [--rounds 5]

Every round writes new offsets of 8 partitions per group, in turn by each way, so that all of them meet the same
machine; the median of the rounds counts. The writer also reads, decides and looks at every partition's error, which
the plain AdminClient does not: that one is what broker and client could do at best. The driver reads by Kafka's Java
client, many groups a request; a task on an executor, and commands without a JVM, by librdkafka, one group a request.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from results import save

from offset_sync.config import parse_config
from offset_sync.ingest.polled_commits import CommitPoller, NewCommit
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.group_offsets import IN_FLIGHT
from offset_sync.model.values import OffsetWrite, Outcome
from offset_sync.spark.jvm import start_jvm
from offset_sync.state.lease import OpenFence
from offset_sync.state.record_index import RecordIndex
from offset_sync.state.sync_state import SyncState
from offset_sync.sync.groups_at_once import GroupsAtOnce
from offset_sync.sync.offset_writer import write_offsets
from offset_sync.tables.store import TableStore
from offset_sync_demo.kafka.brokers import running_clusters

REPOSITORY = Path(__file__).resolve().parent.parent
TOPIC = "committed"
PARTITIONS = 8
BASELINE = "AdminClient, alter only"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    jars = ",".join(str(jar) for jar in sorted((REPOSITORY / "jars" / "spark").glob("*.jar")))
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", f"--jars {jars} --driver-memory 1g pyspark-shell")
    start_jvm()
    with (
        tempfile.TemporaryDirectory() as directory,
        running_clusters(["target"], Path(directory)) as clusters,
    ):
        ways = ways_to_commit(clusters["target"].bootstrap_servers, given.groups)
        rates = measure(ways, given.groups, given.rounds)
    rows = [
        {"what": way, "groups_per_s": round(rate), "of_the_limit": round(rate / rates[BASELINE], 2)}
        for way, rate in rates.items()
    ]
    save("commit_rate", vars(given) | {"partitions": PARTITIONS}, rows)


def ways_to_commit(bootstrap_servers: str, groups: int) -> dict[str, Callable[[int], None]]:
    client = AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})
    client.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(30)
    options = {"bootstrap.servers": bootstrap_servers}
    admin = ClusterAdmin("target", options)
    at_once = GroupsAtOnce("target", lambda: options)
    drivers = ClusterAdmin("target", options, at_once=at_once)
    names = [f"group-{number}" for number in range(groups)]
    admin.committed_offsets(names)  # the cluster makes its topic of offsets

    def alter(offset: int) -> None:
        answered(start_altering(client, names, offset))

    # The NUL that AdminClient adds to the tag makes its values another client's, so this comes between it and the sink.
    def write(offset: int) -> None:
        answers = admin.write_offsets({name: wanted(name, offset) for name in names}, deadline=120)
        assert not any(error for errors in answers.values() for error in errors.values())  # type: ignore[union-attr]

    def read(by: ClusterAdmin, _: int) -> None:
        assert all(isinstance(each, dict) for each in by.committed_offsets(names, deadline=120).values())

    def sink(by: ClusterAdmin, offset: int) -> None:
        writes = [each for name in names for each in wanted(name, offset)]
        outcomes = write_offsets(writes, by, fence=OpenFence(), dry_run=False, deadline=120)
        assert {each.outcome for each in outcomes} == {Outcome.COMMITTED}

    both = {alias: {"kafka": options, "commits": "admin"} for alias in ("target", "other")}
    config = parse_config({"clusters": both, "topics": {"include": [TOPIC]}}, {})
    state = SyncState(config, RecordIndex(TableStore(tempfile.mkdtemp())))
    poller = CommitPoller(drivers, state, config.is_group_included, nullcontext())

    def check_all(found: list[NewCommit]) -> None:
        assert len(found) == groups * PARTITIONS  # the state takes in none of them, so all are new

    while len(at_once.read(names, 120)) < groups:  # warm
        time.sleep(10)
    return {
        BASELINE: alter,
        "write_offsets": write,
        "committed_offsets, one by one": partial(read, admin),
        "committed_offsets, at once": partial(read, drivers),
        "a poll of commits (reads, compares)": lambda _: check_all(poller.poll()),
        "offset writer of a task (reads, writes)": partial(sink, admin),
        "offset writer of the driver (reads, writes)": partial(sink, drivers),
    }


def measure(ways: dict[str, Callable[[int], None]], groups: int, rounds: int) -> dict[str, float]:
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for number in range(rounds + 1):
        for place, (way, commit) in enumerate(ways.items()):
            started = time.perf_counter()
            commit(1 + number * len(ways) + place)
            seconds[way].append(time.perf_counter() - started)
    return {way: groups / statistics.median(each[1:]) for way, each in seconds.items()}  # the first one warms up


def wanted(group: str, offset: int) -> list[OffsetWrite]:
    first = OffsetWrite(group, TOPIC, 0, offset, None, None, moves_forward=True)
    return [replace(first, partition=number) for number in range(PARTITIONS)]


def start_altering(client: AdminClient, names: Iterable[str], offset: int) -> Iterator[Future[Any]]:
    for name in names:
        places = [TopicPartition(TOPIC, number, offset) for number in range(PARTITIONS)]
        request = [ConsumerGroupTopicPartitions(name, places)]
        yield client.alter_consumer_group_offsets(request, request_timeout=60)[name]


def answered(futures: Iterable[Future[Any]]) -> None:
    waiting: deque[Future[Any]] = deque()
    for future in futures:
        waiting.append(future)
        if len(waiting) >= IN_FLIGHT:
            waiting.popleft().result()
    for future in waiting:
        future.result()


if __name__ == "__main__":
    main()
