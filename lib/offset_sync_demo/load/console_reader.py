"""A consumer group of one ``kafka-console-consumer``, with or without the interceptor."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient

from offset_sync_demo.kafka.broker_files import find_jars, find_java, write_log_configuration
from offset_sync_demo.kafka.clients import Endpoint, Partition, client_options
from offset_sync_demo.load.records import RecordLog, Records, log_of, value_id

SKIP_READ = "offsetsync.consumer.SkipRead"
_MAIN = "org.apache.kafka.tools.consumer.ConsoleConsumer"
# It runs for a minute, too short for the optimising compiler.
_JAVA = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_STOP_S = 30.0


def build_interceptor(scripts: Path) -> Path | None:
    """Build the interceptor, and return its jar; None without a Java compiler."""
    command = [sys.executable, str(scripts / "consumer_jar.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    return Path(done.stdout.split()[-1]) if done.returncode == 0 else None


class ConsoleReader:
    """One consumer of a group, in a process of its own, started at once; with *jar* it has the interceptor."""

    def __init__(
        self, cluster: Endpoint, group_id: str, topic: str, protocol: str, directory: Path, jar: Path | None
    ) -> None:
        self._cluster, self._group_id, self._topic = cluster, group_id, topic
        self._logs: dict[Partition, RecordLog] = {}
        folder = directory / f"{group_id}-at-{cluster.alias}"
        folder.mkdir(parents=True)
        write_log_configuration(folder, "consumer.log", "offsetsync")
        settings = {
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": "500",
            **({"interceptor.classes": SKIP_READ} if jar is not None else {}),
        }
        shown = ("print.partition=true", "print.offset=true", "print.value=true")
        jars = ":".join([f"{find_jars()}/*", *([str(jar)] if jar is not None else [])])
        command = [
            *(find_java(), *_JAVA, f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}", "-cp", jars, _MAIN),
            *("--bootstrap-server", cluster.bootstrap_servers, "--topic", topic, "--group", group_id),
            *(word for name, value in settings.items() for word in ("--command-property", f"{name}={value}")),
            *(word for each in shown for word in ("--formatter-property", each)),
        ]
        with (folder / "console.log").open("wb") as console:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=console, start_new_session=True)
        self._printing = threading.Thread(target=self._take_printed, daemon=True)
        self._printing.start()

    def records(self) -> dict[Partition, Records]:
        """Return every record printed so far, in order."""
        return {place: log.to_records() for place, log in self._logs.items()}

    def committed(self) -> dict[Partition, int]:
        """Return the offsets that the group has committed at this cluster."""
        return committed(self._cluster, self._group_id)

    def wait_until(self, ends: Mapping[Partition, int], timeout: float = 60.0) -> None:
        """Return when the group has committed each of *ends*; the TimeoutError names those that it has not."""
        deadline = time.monotonic() + timeout
        while behind := {place: end for place, end in ends.items() if self.committed().get(place, 0) < end}:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self._group_id} at {self._cluster.alias} is behind: {behind}")
            time.sleep(0.2)

    def stop(self) -> None:
        """Stop it by SIGTERM: it commits, and leaves the group."""
        self._process.terminate()
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._printing.join(_STOP_S)

    def _take_printed(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            partition, offset, value = line.rstrip(b"\n").split(b"\t", 2)
            place = self._topic, int(partition.removeprefix(b"Partition:"))
            log_of(self._logs, place).add(value_id(value), int(offset.removeprefix(b"Offset:")), 0)


def committed(cluster: Endpoint, group_id: str) -> dict[Partition, int]:
    """Return the offsets that a group has committed at a cluster."""
    admin: Any = AdminClient(client_options(cluster.bootstrap_servers))
    (future,) = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group_id)]).values()
    found = future.result(30)
    return {(each.topic, each.partition): each.offset for each in found.topic_partitions if each.offset >= 0}


def stop_all(readers: Sequence[ConsoleReader]) -> None:
    """Stop all at the same time."""
    threads = [threading.Thread(target=each.stop) for each in readers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
