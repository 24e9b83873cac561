"""What a case on a :class:`~broker.stage.Stage` does and sees: by commands, tables and what coordinators hold."""

from __future__ import annotations

import contextlib
import io
import os
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from unittest import mock

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import NewPartitions

from broker.committed_offsets import Partition, commit, committed
from broker.crafted_logs import Clusters, Stamp, copied_log, create_topics, delete_topic, native_log, write_log
from broker.group_member import member
from broker.installation import Installation, Row, until
from broker.log_contents import read_commit_records
from offset_sync.config import load_config
from offset_sync.decode.consumer_offsets import coordinator_partition
from offset_sync.jobs.cutover import add_arguments
from offset_sync.jobs.cutover import cutover as cutover_groups
from offset_sync.jobs.report_status import report_status
from offset_sync.jobs.runner import job_arguments
from offset_sync.kafka.requests import Committed
from offset_sync.model.errors import ConfigError
from offset_sync.status.outputs import status_arguments
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import admin_of, client_options

CANARY = "canary"
LOG_PARTITIONS = 8
"""Of ``__consumer_offsets`` on the brokers of the tests."""
BEGAN_MS = int(time.time() * 1000) - 600_000
"""When the first record was produced; originals and copies bear the same times, as a mirror keeps them."""
PATIENCE_S = 300.0
_EVERY_S = 1.0


def fill_topic(clusters: Clusters, topic: str, partitions: int, records: int, first: int = 0) -> None:
    """Create a topic everywhere, with records of the first cluster that all others hold at the same offsets."""
    for cluster in clusters.values():
        create_topics(cluster, {topic: partitions})
    write_records(clusters, topic, range(first, partitions), records)


def write_records(clusters: Clusters, topic: str, partitions: range, records: int) -> None:
    """Let the first cluster produce and the others hold the copies, until each log has so many *records*."""
    origin = next(iter(clusters))
    for alias, cluster in clusters.items():
        entries = native_log(alias, records) if alias == origin else copied_log(origin, range(records))
        write_log(cluster, {(topic, number): entries for number in partitions}, Stamp(since_ms=BEGAN_MS))


def apart(group: str, *, is_alone: bool = False) -> str:
    """Return the id of a group whose commits share no partition of the log with a group that *is_alone*."""
    names = (f"{group}-{number}" for number in range(1000))
    return next(name for name in names if (coordinator_partition(name, LOG_PARTITIONS) == 0) is is_alone)


@dataclass(frozen=True)
class Said:
    """What a command ended with, a line per problem, and all that it printed."""

    failures: list[str]
    printed: str

    def __str__(self) -> str:
        """Return all of it."""
        return "\n".join([*self.failures, self.printed])


class Reader:
    """A client that has assigned itself partitions and commits without being a member, again and again."""

    def __init__(self, cluster: EmbeddedCluster, group_id: str, place: Partition, offset: int, every: float) -> None:
        self.offset = offset
        options = client_options(cluster.bootstrap_servers, group_id=group_id, enable_auto_commit=False)
        self._consumer, self._place, self._every = Consumer(options), place, every
        self._over, self.problems = threading.Event(), list[str]()
        self._commit()
        self._thread = threading.Thread(target=self._go_on, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Commit no more."""
        if not self._over.is_set():
            self._over.set()
            self._thread.join()
            self._consumer.close()

    def _go_on(self) -> None:
        while not self._over.wait(self._every):
            try:
                self._commit()
            except Exception as problem:
                self.problems.append(str(problem))

    def _commit(self) -> None:
        self._consumer.commit(offsets=[TopicPartition(*self._place, self.offset)], asynchronous=False)


class Performer:
    """One case, with a group and a topic that bear its name."""

    def __init__(self, clusters: Clusters, installation: Installation, name: str) -> None:
        self.clusters, self.installation = clusters, installation
        name = name.replace("_", "-")
        self.topic, self.group = name, apart(f"group-{name}")
        self._stack = ExitStack()
        self._act, self._reports = 0, _reports_of(installation)

    def close(self) -> None:
        """Let the case's clients go."""
        self._stack.close()

    def begin_act(self, number: int) -> None:
        """Forget what was reported before."""
        self._act = number

    # What the case does.

    def fill(self, records: int = 110, partitions: int = 1) -> None:
        """Create the topic; see :func:`fill_topic`."""
        fill_topic(self.clusters, self.topic, partitions, records)

    def add_partitions(self, alias: str, total: int) -> None:
        """Let the topic have more partitions at a cluster."""
        admin = admin_of(self.clusters[alias])  # held until the answer is there
        admin.create_partitions([NewPartitions(self.topic, total)])[self.topic].result(120)

    def commit(self, alias: str, offset: int, metadata: str = "", partition: int = 0) -> None:
        """Commit for the group as a client without membership or ``kafka-consumer-groups`` does."""
        commit(self.clusters[alias], {self.group: {(self.topic, partition): (offset, metadata)}})

    def named(self, other: str) -> str:
        """Return the id of another group of the case."""
        return apart(f"{self.group}-{other}")

    def commit_for(self, other: str, alias: str, offset: int) -> None:
        """Commit for another group of the case."""
        commit(self.clusters[alias], {self.named(other): {(self.topic, 0): offset}})

    def keep_committing(self, alias: str, offset: int, partition: int = 0, every: float = _EVERY_S) -> Reader:
        """Let a client without membership commit at a cluster until the case is over or it is stopped."""
        reader = Reader(self.clusters[alias], self.group, (self.topic, partition), offset, every)
        self._stack.callback(reader.stop)
        return reader

    @contextmanager
    def member(self, alias: str) -> Iterator[None]:
        """Let the group have a member at a cluster, for ``with`` or by :meth:`join`."""
        with member(self.clusters[alias], self.group, self.topic):
            yield

    def join(self, alias: str, offset: int) -> ExitStack:
        """Commit, and let the group have a member there that does nothing; it leaves when the stack is closed."""
        self.commit(alias, offset)
        leaving = self._stack.enter_context(ExitStack())
        leaving.enter_context(self.member(alias))
        return leaving

    def delete_topic(self, alias: str) -> None:
        """Delete the topic; the coordinator deletes the offsets with it."""
        delete_topic(self.clusters[alias], self.topic)

    def cutover(self, action: str, source: str, target: str, *options: str, group: str = "") -> Said:
        """Run ``cutover`` for the group."""
        words = [action, "--conf", "x", "--from", source, "--to", target, "--groups", group or self.group, *options]
        if action == "apply" and "--timeout" not in options:
            words += ["--timeout", "15s"]
        config = load_config(self.installation.config_file)
        with _printed() as printed:
            try:
                arguments = add_arguments(job_arguments("cutover")).parse_args(words)
                failures = list(cutover_groups(config, arguments, threading.Event()))
            except (ConfigError, SystemExit) as refused:
                failures = [f"exit code 2: {refused}"]
        return Said(failures, printed.getvalue())

    # What the case sees.

    def held(self, alias: str, partition: int = 0, group: str = "") -> Committed | None:
        """Return what the coordinator of a cluster holds, past transactions that are open."""
        with contextlib.suppress(AssertionError):
            chosen = group or self.group
            return committed(self.clusters[alias], [chosen])[chosen].get((self.topic, partition))
        place = TopicPartition(self.topic, partition)
        asked = ConsumerGroupTopicPartitions(group or self.group, [place])
        admin = admin_of(self.clusters[alias])  # held until the answer is there
        (answer,) = admin.list_consumer_group_offsets([asked], require_stable=False).values()
        (found,) = answer.result(60).topic_partitions
        assert found.error is None, found.error
        return Committed(found.offset, found.metadata or "") if found.offset >= 0 else None

    def offset(self, alias: str, partition: int = 0, group: str = "") -> int | None:
        """Return only the offset."""
        value = self.held(alias, partition, group)
        return None if value is None else value.offset

    def offsets(self, partition: int = 0) -> dict[str, int | None]:
        """Return the offset at every cluster."""
        return {alias: self.offset(alias, partition) for alias in self.clusters}

    def becomes(self, partition: int = 0, **wanted: int | None) -> None:
        """Assert that clusters have these offsets; the jobs may take their time."""
        with contextlib.suppress(AssertionError):
            until(lambda: self._some(wanted, partition) == wanted, PATIENCE_S)
        assert self._some(wanted, partition) == wanted, f"partition {partition}: {self.said()}"

    def _some(self, wanted: dict[str, int | None], partition: int) -> dict[str, int | None]:
        return {alias: self.offset(alias, partition) for alias in wanted}

    def commits_at(self, alias: str) -> int:
        """Return how many records about the group's offsets the log of a cluster holds."""
        records, _ = read_commit_records(self.clusters[alias])
        return sum(record.key[0] == self.group for record in records)

    def said(self, **wanted: object) -> list[tuple[str, str, int | None, str, str]]:
        """Return of each row of offset_translations source, target, target offset, state and outcome."""
        rows = self.installation.translations(group_id=self.group, **wanted)
        names = ("source_cluster", "target_cluster", "target_offset", "state", "outcome")
        return [tuple(row[name] for name in names) for row in rows]  # type: ignore[misc]

    def states(self, **wanted: object) -> set[str]:
        """Return the states of all answers about the group so far."""
        return {row["state"] for row in self.installation.translations(group_id=self.group, **wanted)}

    def report(self, **wanted: object) -> list[Row]:
        """Return what ``report_status --once`` says of the group now; one report serves all cases of an act."""
        self._reported()
        return self.installation.rows("sync_status", group_id=self.group, **wanted)

    def report_of(self, other: str) -> list[Row]:
        """Return the same of another group of the case."""
        self._reported()
        return self.installation.rows("sync_status", group_id=self.named(other))

    def report_printed(self) -> str:
        """Return all that the report of this act prints."""
        return self._reported().printed

    def _reported(self) -> Said:
        if self._act not in self._reports:
            self._reports.clear()
            words = ["--conf", "x", "--once"]
            arguments = status_arguments(job_arguments("report")).parse_args(words)
            with _printed() as printed:
                failures = list(report_status(load_config(self.installation.config_file), arguments, threading.Event()))
            self._reports[self._act] = Said(failures, printed.getvalue())
        return self._reports[self._act]


_shared_reports: dict[Installation, dict[int, Said]] = {}


def _reports_of(installation: Installation) -> dict[int, Said]:
    return _shared_reports.setdefault(installation, {})


@contextmanager
def _printed() -> Iterator[io.StringIO]:
    """Catch what a command prints; as wide as it likes."""
    caught = io.StringIO()
    with (
        mock.patch.dict(os.environ, {"COLUMNS": "400"}),
        contextlib.redirect_stdout(caught),
        contextlib.redirect_stderr(caught),
    ):
        yield caught
