"""Consumers of any version of kafka-clients with the interceptor, in one JVM: ``ConsumerHost.java``.

Those of ``consumer/python`` are in this process: ``python_consumer_host.py``.
"""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from broker.installation import until
from consumer.python_log import logging_to
from consumer.skip_read_jar import class_path, client_jars, compiled, jar_or_skip
from offset_sync_demo.kafka.broker_files import find_java, write_log_configuration

_JAVA = ("-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
SKIP_READ = "offsetsync.consumer.SkipRead"
NEWEST, PYTHON = "newest", "in Python"
MISLED = "offsetsync.consumer.MisledSkipRead"


@dataclass(frozen=True)
class Delivered:
    """A record that an application got, by what its producer wrote."""

    partition: int
    offset: int
    value: str


@dataclass
class Reader:
    """What one consumer has said so far."""

    records: list[Delivered] = field(default_factory=list)
    positions: dict[int, int] = field(default_factory=dict)
    metrics: dict[str, int] = field(default_factory=dict)
    is_closed: bool = False
    sought_at: int | None = None
    failure: str | None = None


def _has_ended(reader: Reader) -> bool:
    return reader.is_closed or reader.failure is not None


class ConsumerHost:
    """Tells the JVM what to do, and hears what its consumers say. A name is used once."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process, self._log = process, log
        self._readers: dict[str, Reader] = {}
        self._hearing = threading.Thread(target=self._hear, daemon=True)
        self._hearing.start()

    def start(
        self,
        name: str,
        topic: str,
        settings: dict[str, str],
        *,
        interceptor: str | None = SKIP_READ,
        commits: str = "auto",
        pause_ms: int = 0,
    ) -> Reader:
        """Start a consumer; *commits* is ``auto``, ``batch``, ``record`` or ``none``; it pauses after each poll."""
        defaults = {
            "client.id": name,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": str(commits == "auto").lower(),
            "auto.commit.interval.ms": "100",
            "isolation.level": "read_committed",
            "max.poll.records": "25",
        }
        if interceptor is not None:
            defaults["interceptor.classes"] = interceptor
        self._readers[name] = Reader()
        self._tell(name, "start", topic=topic, settings=defaults | settings, commits=commits, pause=pause_ms)
        return self._readers[name]

    def stop(self, *names: str) -> None:
        """End consumers as an application would, and return when they have left."""
        for name in names:
            self._tell(name, "stop")
        for reader in map(self._readers.__getitem__, names):
            until(partial(_has_ended, reader), 120)
            assert reader.failure is None, reader.failure

    def hurry(self, *names: str) -> None:
        """Let consumers pause no more."""
        for name in names:
            self._tell(name, "hurry")

    def pause(self, seconds: float) -> None:
        """Stop the whole process for a while (SIGSTOP)."""
        self._process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End all consumers by SIGKILL; return when all that they have said is heard."""
        self._process.kill()
        self._hearing.join()

    def seek(self, name: str, topic: str, partition: int, offset: int) -> None:
        """Let a consumer go on at another offset; return when it does, ``sought_at`` records after its start."""
        self._readers[name].sought_at = None
        self._tell(name, "seek", topic=topic, partition=partition, offset=offset)
        until(lambda: self._readers[name].sought_at is not None, 120)

    def logged(self, *words: str) -> list[str]:
        """Return the lines of the log that have all of these words."""
        return [line for line in self._log.read_text().splitlines() if all(word in line for word in words)]

    def _tell(self, name: str, what: str, **more: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"name": name, "do": what} | more) + "\n")
        self._process.stdin.flush()

    def _hear(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if not line.endswith("\n"):
                return  # it was killed in the middle of a line
            said = json.loads(line)
            reader = self._readers[said["name"]]
            reader.records += [Delivered(*each) for each in said.get("records", ())]
            reader.positions |= {int(place): at for place, at in said.get("positions", {}).items()}
            reader.metrics |= said.get("metrics", {})
            reader.failure = said.get("failed", reader.failure)
            if "sought" in said:
                reader.sought_at, reader.positions = len(reader.records), {}
            reader.is_closed |= "closed" in said


@contextmanager
def consumer_host(folder: Path, jar: Path, client: Path) -> Iterator[ConsumerHost]:
    """Start the JVM with this jar of the interceptor and of kafka-clients; classes and log go to *folder*."""
    sources = [Path(__file__).with_name(f"{name}.java") for name in ("ConsumerHost", "MisledSkipRead")]
    classes = compiled(sources, [jar], folder / "classes")
    write_log_configuration(folder, "consumers.log", "offsetsync")
    log = folder / "consumers.log"
    log.touch()
    words = [*_JAVA, f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}"]
    command = [find_java(), *words, "-cp", class_path(client, jar, classes), "ConsumerHost"]
    with (folder / "console.log").open("wb") as console:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=console, text=True)
    try:
        yield ConsumerHost(process, log)
    finally:
        process.kill()
        process.wait()


Hosts = Callable[[str], ConsumerHost]


@contextmanager
def consumer_hosts(folders: pytest.TempPathFactory) -> Iterator[Hosts]:
    """Return what starts a host once: for a version of kafka-clients, or PYTHON; it skips what is not installed."""
    with ExitStack() as started:
        jar = cache(lambda: jar_or_skip(folders.mktemp("dist")))

        @cache
        def of(version: str) -> ConsumerHost:
            if version == PYTHON:
                from consumer.python_consumer_host import PythonConsumerHost

                log = folders.mktemp("host") / "consumers.log"
                started.enter_context(logging_to(log))
                return PythonConsumerHost(log)
            clients = client_jars()
            wanted = [*clients][-1] if version == NEWEST else version
            if wanted not in clients:
                pytest.skip(f"no kafka-clients {wanted}; run 'make test-broker'")
            return started.enter_context(consumer_host(folders.mktemp("host"), jar(), clients[wanted]))

        yield of
