"""What a broker needs on disk before it can start: Java, jars, ports, its properties and its log configuration."""

from __future__ import annotations

import os
import random
import re
import shutil
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

from offset_sync.model.errors import OffsetSyncError

JARS_VARIABLE = "OFFSET_SYNC_BROKER_JARS"
VERSIONS_VARIABLE = "OFFSET_SYNC_BROKER_VERSIONS"
"""Of the brokers of dc1, dc2, …, such as ``3.6,4.4``; in turn, where there are more clusters than versions."""
CLASS_ARCHIVE = "classes.jsa"
"""Beside the jars: written by ``scripts/class_archives.py``; it saves a third of the work of a broker's start."""
_JARS = Path(__file__).resolve().parents[3] / "jars" / "broker"
_VERSIONS = _JARS.parent / "versions"

_FIRST_PORT, _PORTS_END = 15000, 32000
_PORT_STEP = 64
_MOST_KEPT = 200
_given: list[int] = []
"""The ports that this process has returned last: their brokers may not have bound them yet."""
_JAVA_FLAGS = (
    *("-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Djava.awt.headless=true"),
    # Verifying the classes of a release again would take a fifth of a start.
    *("-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote"),
)

_LOG_CONFIGURATION = """\
status = off
appender.file.type = File
appender.file.name = file
appender.file.fileName = {log}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{ISO8601}} %p %c{{1}} %m%n
rootLogger.level = WARN
rootLogger.appenderRef.file.ref = file
logger.startup.name = {logger}
logger.startup.level = INFO
"""

# One node, 2 cores shared with everything else: few threads, small buffers, no replicas, no wait for more members.
_SETTINGS: dict[str, object] = {
    "process.roles": "broker,controller",
    "node.id": 1,
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "auto.create.topics.enable": "false",
    "default.replication.factor": 1,
    "min.insync.replicas": 1,
    # A killed broker may register again only after its old session has expired (default 9 s).
    "broker.session.timeout.ms": 3000,
    "broker.heartbeat.interval.ms": 500,
    "metadata.max.idle.interval.ms": 10000,  # by default an idle controller writes a record every half second
    "num.network.threads": 2,
    "num.io.threads": 4,
    "background.threads": 2,
    "group.coordinator.threads": 1,
    "offsets.topic.replication.factor": 1,
    "offsets.topic.segment.bytes": 16 << 20,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "transaction.state.log.num.partitions": 2,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000,
    "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.min.isr": 1,
    "share.coordinator.state.topic.num.partitions": 1,
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 1000,
    "group.consumer.min.session.timeout.ms": 1000,
    "group.consumer.session.timeout.ms": 10000,
    "group.consumer.min.heartbeat.interval.ms": 200,
    "group.consumer.heartbeat.interval.ms": 500,
    "log.initial.task.delay.ms": 1000,
    "log.retention.ms": -1,  # only topics set it: tests write records with timestamps of other days
    "log.retention.check.interval.ms": 2000,
    "log.segment.delete.delay.ms": 1000,
    "log.index.size.max.bytes": 1 << 20,
    "log.cleaner.threads": 1,
    "log.cleaner.dedupe.buffer.size": 4 << 20,
    "log.cleaner.io.buffer.size": 128 << 10,
    "log.cleaner.backoff.ms": 2000,
}


class BrokerPartsMissing(OffsetSyncError):
    """Java or the broker's jars are missing; the message says how to install them."""


def find_java() -> str:
    """Return the Java launcher, ``$JAVA_HOME`` first; raises BrokerPartsMissing."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin") if home else None
    java = java or shutil.which("java")
    if java is None:
        raise BrokerPartsMissing("java: not found; install Java 17 or set JAVA_HOME")
    return java


def find_jars() -> Path:
    """Return the folder of the broker's jars: the one of the environment variable, else the one of ``make install``."""
    jars = Path(os.environ.get(JARS_VARIABLE) or _JARS)
    if not any(jars.glob("kafka_2.13-*.jar")):
        raise BrokerPartsMissing(f"{jars}: no Kafka broker jars; run 'make install' or set {JARS_VARIABLE}")
    return jars


def broker_jars(alias: str) -> Path:
    """Return the folder with the jars of cluster *alias*: those of its version, if versions are chosen."""
    versions = os.environ.get(VERSIONS_VARIABLE)
    if not versions:
        return find_jars()
    chosen, number = versions.split(","), re.search("[0-9]+$", alias)
    folder = _VERSIONS / f"broker-{chosen[(int(number[0]) - 1 if number else 0) % len(chosen)]}"
    if not folder.is_dir():
        raise BrokerPartsMissing(f"{folder}: no Kafka broker jars; run 'scripts/jars.py versions'")
    return folder


def java_command(directory: Path, *arguments: str, jars: Path | None = None, more: Sequence[Path] = ()) -> list[str]:
    """Return the command line of a Kafka main class with the log configuration of *directory*.

    It uses the archive of the broker's classes if there is one. *jars* are by default those of :func:`find_jars`; what
    a program needs *more* comes behind them on the class path, as else the archive would not fit.
    """
    jars = jars or find_jars()
    logging = f"-Dlog4j2.configurationFile={directory / 'log4j2.properties'}"
    archive = jars / CLASS_ARCHIVE
    classes = [f"-XX:SharedArchiveFile={archive}", "-Xlog:cds*=off"] if archive.is_file() else []
    # In the order in which the archive has them.
    paths = ":".join(map(str, [*sorted(jars.glob("*.jar")), *more]))
    return [find_java(), *_JAVA_FLAGS, *classes, logging, "-cp", paths, *arguments]


def free_ports(count: int) -> list[int]:
    """Return free ports below the range from which the system takes ports for connections.

    A broker that is killed and started again finds such a port still free; one from the system's range may by then be
    the local port of another process's connection. Until the broker binds it, another process may take the port:
    so this process does not return it again soon, and processes started one after the other choose from different
    ports.
    """
    ports: list[int] = []
    while len(ports) < count:
        port = _any_port(os.getpid())
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            is_free = port not in _given[-_MOST_KEPT:] and probe.connect_ex(("127.0.0.1", port)) != 0
        if is_free and _can_bind(port):
            ports.append(port)
            _given.append(port)
    return ports


def write_broker_files(directory: Path, port: int, controller_port: int, settings: Mapping[str, str]) -> None:
    """Write ``server.properties`` and ``log4j2.properties`` into *directory*; *settings* win over the defaults."""
    directory.mkdir(parents=True, exist_ok=True)
    places = {
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
        "log.dirs": str(directory / "logs"),
    }
    properties = {**_SETTINGS, **places, **settings}
    lines = [f"{name}={value}\n" for name, value in properties.items()]
    (directory / "server.properties").write_text("".join(lines), encoding="utf-8")
    write_log_configuration(directory, "broker.log", "kafka.server")


def write_log_configuration(directory: Path, log: str, logger: str) -> None:
    """Write ``log4j2.properties`` into *directory*: warnings, and all lines of *logger*, go to file *log*."""
    content = _LOG_CONFIGURATION.format(log=directory / log, logger=logger)
    (directory / "log4j2.properties").write_text(content, encoding="utf-8")


def _any_port(process: int) -> int:
    """Return one of the ports of *process*; by the system's random numbers, which a seed does not make the same."""
    return random.SystemRandom().randrange(_FIRST_PORT + process % _PORT_STEP, _PORTS_END, _PORT_STEP)


def _can_bind(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
