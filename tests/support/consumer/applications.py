"""Frameworks, most with the interceptor in their consumers; each prints the values that it gets."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from consumer.crossing import Crossing
from consumer.skip_read_jar import compiled
from offset_sync_demo.kafka.broker_files import find_jars, java_command, write_log_configuration
from offset_sync_demo.kafka.brokers import EmbeddedCluster


@dataclass(frozen=True)
class Application:
    """A running program; *output* is what it prints."""

    process: subprocess.Popen[bytes]
    output: Path

    def values(self) -> Counter[str]:
        """Return the values that were printed so far, and how often."""
        return Counter(self.output.read_text().splitlines())


@contextmanager
def streams_reader(
    crossing: Crossing, group: str, folder: Path, jar: Path, *, protocol: str, guarantee: str, pause_ms: int = 0
) -> Iterator[Application]:
    """Run an application of Kafka Streams; it ends as an application would."""
    jars = _jars_or_skip("streams", "kafka-streams-*.jar")
    words = ["StreamsReader", crossing.cluster.bootstrap_servers, group, crossing.topic]
    words += [str(folder / "state"), protocol, guarantee, str(pause_ms)]
    with _running(folder, "StreamsReader", words, [jar, *jars]) as application:
        yield application


@contextmanager
def streams_counter(
    cluster: EmbeddedCluster, application: str, topics: tuple[str, str], folder: Path, *, protocol: str, guarantee: str
) -> Iterator[Application]:
    """Run an application of Kafka Streams that counts the records of one topic into another; it ends as usual."""
    jars = _jars_or_skip("streams", "kafka-streams-*.jar")
    words = ["StreamsCounter", cluster.bootstrap_servers, application, *topics]
    with _running(folder, "StreamsCounter", [*words, str(folder / "state"), protocol, guarantee], jars) as running:
        yield running


@contextmanager
def spring_reader(
    crossing: Crossing, group: str, folder: Path, jar: Path, *, protocol: str, ack_mode: str
) -> Iterator[Application]:
    """Run a listener container of Spring with two consumers, whose listener fails now and then."""
    jars = _jars_or_skip("clients/spring", "*.jar")
    words = ["SpringReader", crossing.cluster.bootstrap_servers, group, crossing.topic, protocol, ack_mode]
    with _running(folder, "SpringReader", words, [jar, *jars]) as application:
        yield application


@contextmanager
def _running(folder: Path, source: str, words: Sequence[str], jars: Sequence[Path]) -> Iterator[Application]:
    folder.mkdir(parents=True, exist_ok=True)
    classes = compiled([Path(__file__).with_name(f"{source}.java")], jars, folder / "classes", release=17)
    write_log_configuration(folder, "application.log", "offsetsync")
    command = java_command(folder, *words, more=[*jars, classes])
    output = folder / "values.txt"
    with output.open("ab") as printed, (folder / "console.log").open("ab") as console:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=printed, stderr=console)
    assert process.stdin is not None
    try:
        yield Application(process, output)
        assert process.poll() is None, (folder / "console.log").read_text()[-4000:]
        process.stdin.close()
        process.wait(120)
    finally:
        process.kill()
        process.wait()


def _jars_or_skip(folder: str, pattern: str) -> list[Path]:
    jars = sorted((find_jars().parent / folder).glob(pattern))
    if not jars:
        pytest.skip(f"no jars in {folder}; run 'make install', 'make test-broker'")
    return jars
