"""Members of groups that librdkafka cannot be a member of: a Kafka Streams application, and a share consumer."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from offset_sync_demo.kafka.broker_files import find_jars, java_command, write_log_configuration
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.connect_transform import compile_java

_SHARE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
_SOURCE = Path(__file__).with_name("StreamsApplication.java")


@contextmanager
def streams_application(cluster: EmbeddedCluster, group_id: str, topic: str, folder: Path) -> Iterator[None]:
    """Run an application with ``group.protocol=streams`` that has committed; it leaves the group at the end.

    *folder* is for what it writes. Skips where ``make install`` has not fetched Kafka Streams.
    """
    jars = sorted((find_jars().parent / "streams").glob("kafka-streams-*.jar"))
    if not jars:
        pytest.skip("no jars of Kafka Streams; run 'make install'")
    classes = folder / "classes"
    if not classes.exists():
        classes.mkdir(parents=True)
        compile_java(_SOURCE, [*find_jars().glob("kafka-clients-*.jar"), *jars], classes)
    words = ("StreamsApplication", cluster.bootstrap_servers, group_id, topic, str(folder / "state"))
    with _running(folder, words, [classes, *jars]):
        yield


@contextmanager
def share_consumer(cluster: EmbeddedCluster, group_id: str, topic: str, folder: Path) -> Iterator[None]:
    """Run a member of a share group that reads *topic*; it leaves the group at the end."""
    words = ("--bootstrap-server", cluster.bootstrap_servers, "--topic", topic, "--group", group_id)
    with _running(folder, (_SHARE_CONSUMER, *words), []):
        yield


@contextmanager
def _running(folder: Path, words: tuple[str, ...], more: list[Path]) -> Iterator[None]:
    """Run a Java program until its input is closed, or it is told to end."""
    folder.mkdir(parents=True, exist_ok=True)
    write_log_configuration(folder, "client.log", "org.apache.kafka.clients")
    command = java_command(folder, *words)
    paths = command.index("-cp") + 1
    command[paths] = ":".join([command[paths], *map(str, more)])
    with (folder / "console.log").open("wb") as console:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=console, stderr=console)
    try:
        yield
        assert process.poll() is None, (folder / "console.log").read_text()[-4000:]
    finally:
        assert process.stdin is not None
        process.stdin.close()
        if not more:
            process.terminate()
        try:
            process.wait(60)
        finally:
            process.kill()
