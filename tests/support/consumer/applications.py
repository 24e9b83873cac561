"""Frameworks, most with the interceptor in their consumers; each prints the values that it gets."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from consumer.consumer_host import SKIP_READ
from consumer.crossing import Crossing
from consumer.skip_read_jar import compiled
from offset_sync_demo.kafka.broker_files import find_jars, free_ports, java_command, write_log_configuration

_CONVERTER = "org.apache.kafka.connect.converters.ByteArrayConverter"
_CONNECT = "org.apache.kafka.connect.cli.ConnectStandalone"


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
def spring_reader(
    crossing: Crossing, group: str, folder: Path, jar: Path, *, protocol: str, ack_mode: str
) -> Iterator[Application]:
    """Run a listener container of Spring with two consumers, whose listener fails now and then."""
    jars = _jars_or_skip("clients/spring", "*.jar")
    words = ["SpringReader", crossing.cluster.bootstrap_servers, group, crossing.topic, protocol, ack_mode]
    with _running(folder, "SpringReader", words, [jar, *jars]) as application:
        yield application


@contextmanager
def connect_sink(crossing: Crossing, name: str, folder: Path, jar: Path) -> Iterator[Application]:
    """Run a worker of Kafka Connect with a sink of two tasks, whose group is ``connect-NAME``."""
    folder.mkdir(parents=True, exist_ok=True)
    worker = {
        "bootstrap.servers": crossing.cluster.bootstrap_servers,
        "key.converter": _CONVERTER,
        "value.converter": _CONVERTER,
        "offset.storage.file.filename": str(folder / "offsets"),
        "offset.flush.interval.ms": "300",
        "listeners": f"http://127.0.0.1:{free_ports(1)[0]}",
        "plugin.discovery": "only_scan",
    }
    sink = {
        "name": name,
        "connector.class": "PrintingSink",
        "tasks.max": "2",
        "topics": crossing.topic,
        "consumer.override.interceptor.classes": SKIP_READ,
        "consumer.override.isolation.level": "read_committed",
        "consumer.override.max.poll.records": "10",
    }
    for file, settings in (("worker", worker), ("sink", sink)):
        (folder / f"{file}.properties").write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    words = [_CONNECT, str(folder / "worker.properties"), str(folder / "sink.properties")]
    with _running(folder, "PrintingSink", words, [jar], ends_by_signal=True) as application:
        yield application


@contextmanager
def _running(
    folder: Path, source: str, words: Sequence[str], jars: Sequence[Path], *, ends_by_signal: bool = False
) -> Iterator[Application]:
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
        if ends_by_signal:
            process.terminate()
        process.wait(120)
    finally:
        process.kill()
        process.wait()


def _jars_or_skip(folder: str, pattern: str) -> list[Path]:
    jars = sorted((find_jars().parent / folder).glob(pattern))
    if not jars:
        pytest.skip(f"no jars in {folder}; run 'make install', 'make test-broker'")
    return jars
