"""Real Kafka brokers on this machine: one KRaft node per cluster, started from jars on free ports."""

from __future__ import annotations

import base64
import contextlib
import functools
import os
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import KafkaException

from offset_sync.model.errors import ClusterError, OffsetSyncError
from offset_sync_demo.kafka.broker_files import broker_jars, free_ports, java_command, write_broker_files
from offset_sync_demo.kafka.clients import admin_of

_START_SECONDS = 180.0
_IDENTITY = "meta.properties"


@dataclass
class EmbeddedCluster:
    """One broker that is its own controller; a restart keeps its ports, its cluster id and its logs.

    The broker never outlives this Python process, however that ends.
    """

    alias: str
    directory: Path
    port: int
    process: subprocess.Popen[bytes] | None = None
    java_options: Sequence[str] = ()
    _watchdog: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def bootstrap_servers(self) -> str:
        """The address for clients; a restart keeps it."""
        return f"127.0.0.1:{self.port}"

    @property
    def is_running(self) -> bool:
        """True while the broker's process exists, also while it is paused."""
        return self.process is not None and self.process.poll() is None

    def start(self) -> None:
        """Start the broker and wait until it answers; raises ClusterError with the end of its log."""
        self.launch()
        self.wait_until_ready()

    def launch(self) -> None:
        """Start the broker's process and return at once."""
        if self.is_running:
            return
        properties = str(self.directory / "server.properties")
        self.process = _spawn(self.command(*self.java_options, "kafka.Kafka", properties), self.directory)
        self._watchdog = _watch(self.process, self.directory)

    def command(self, *arguments: str) -> list[str]:
        """Return the command line of a main class of this cluster's version of Kafka."""
        return java_command(self.directory, *arguments, jars=broker_jars(self.alias))

    def wait_until_ready(self, timeout: float = _START_SECONDS) -> None:
        """Return once the broker answers a metadata request; raises ClusterError."""
        admin = admin_of(self)
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline and self.is_running:
            with contextlib.suppress(KafkaException):
                # If the port was taken, another process may answer while this one is about to end.
                if admin.list_topics(timeout=0.5).brokers and self.is_running:
                    return
        died = "" if self.is_running else " (its process ended)"
        self.kill()
        raise ClusterError(
            self.alias, f"the broker did not start{died}; its logs in {self.directory} end:\n{self.log_tail()}"
        )

    def stop(self, timeout: float = 20.0) -> None:
        """Stop the broker by SIGTERM; kill it if it has not ended after *timeout* seconds."""
        if self.process is not None and self.is_running:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout)
        self.kill()

    def kill(self) -> None:
        """Kill the broker (SIGKILL); also works on a paused one."""
        # The watchdog first: once the broker is reaped, its process id may be reused.
        for process in (self._watchdog, self.process):
            if process is not None:
                process.kill()
                process.wait()
        if self._watchdog is not None and self._watchdog.stdin is not None:
            self._watchdog.stdin.close()
        self._watchdog = None

    def pause(self) -> None:
        """Freeze the broker (SIGSTOP): its connections stay open, and no request is answered once this returns."""
        self._signal(signal.SIGSTOP)
        if self.process is not None and hasattr(os, "waitid"):
            # The signal stops one thread, which stops the others: on a busy machine they may still answer for a while.
            os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self) -> None:
        """Continue a paused broker (SIGCONT)."""
        self._signal(signal.SIGCONT)

    def restart(self) -> None:
        """Stop the broker if it runs, and start it again with its logs."""
        self.stop()
        self.start()

    def log_tail(self, lines: int = 25) -> str:
        """Return the last lines that the broker logged or printed."""
        return "\n".join(_tail(self.directory / name, lines) for name in ("console.log", "broker.log"))

    def _signal(self, number: signal.Signals) -> None:
        if self.process is None or not self.is_running:
            raise ClusterError(self.alias, f"the broker is not running, so it cannot get {number.name}; start it")
        self.process.send_signal(number)


def start_clusters(
    aliases: Sequence[str],
    directory: Path,
    *,
    offsets_partitions: int = 8,
    extra: Mapping[str, str] | None = None,
    java_options: Sequence[str] = (),
) -> dict[str, EmbeddedCluster]:
    """Start one cluster per alias, all at the same time, below *directory*; return when all answer.

    *extra* are broker settings that win over the defaults, *java_options* more options of Java. If one does not
    start, all are killed and ClusterError is raised.
    """
    settings = {"offsets.topic.num.partitions": str(offsets_partitions), **(extra or {})}
    ports = free_ports(2 * len(aliases))
    clusters = {
        alias: EmbeddedCluster(alias, directory.absolute() / alias, port, java_options=java_options)
        for alias, port in zip(aliases, ports[::2], strict=True)
    }
    for cluster, controller_port in zip(clusters.values(), ports[1::2], strict=True):
        write_broker_files(cluster.directory, cluster.port, controller_port, settings)
    try:
        for cluster in clusters.values():
            format_storage(cluster, new_id())
            cluster.launch()
        for cluster in clusters.values():
            cluster.wait_until_ready()
    except BaseException:
        kill_clusters(clusters)
        raise
    return clusters


@contextlib.contextmanager
def running_clusters(
    aliases: Sequence[str], directory: Path, *, offsets_partitions: int = 8, extra: Mapping[str, str] | None = None
) -> Iterator[dict[str, EmbeddedCluster]]:
    """Like :func:`start_clusters`; brokers that still run at the end are killed."""
    clusters = start_clusters(aliases, directory, offsets_partitions=offsets_partitions, extra=extra)
    try:
        yield clusters
    finally:
        kill_clusters(clusters)


def kill_clusters(clusters: Mapping[str, EmbeddedCluster]) -> None:
    """Kill every broker that still runs."""
    for cluster in clusters.values():
        cluster.kill()


def format_storage(cluster: EmbeddedCluster, cluster_id: str, node: int = 1) -> None:
    """Write a node's identity and feature levels, as Kafka's own tool does; raises OffsetSyncError where that fails.

    The tool takes a second of a processor, so it is run once for each version of Kafka.
    """
    own, logs = {"cluster.id": cluster_id, "node.id": str(node), "directory.id": new_id()}, cluster.directory / "logs"
    for name, written in _written_by_the_tool(broker_jars(cluster.alias)).items():
        if name == _IDENTITY:
            named = [line.partition("=") for line in written.decode().splitlines() if "=" in line]
            written = "".join(f"{key}={own.get(key, value)}\n" for key, _, value in named).encode()
        (logs / name).parent.mkdir(parents=True, exist_ok=True)
        (logs / name).write_bytes(written)


def new_id() -> str:
    """Return a random id of a cluster, as Kafka writes it."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


@functools.cache
def _written_by_the_tool(jars: Path) -> dict[str, bytes]:
    """Return the files that Kafka's tool writes into the storage of a node: its identity, and its feature levels.

    Since 4.4 these are in the log of the cluster's metadata (KIP-1170).
    """
    with tempfile.TemporaryDirectory() as folder:
        directory, (port, controller_port) = Path(folder), free_ports(2)
        write_broker_files(directory, port, controller_port, {})
        # A cluster id may begin with a dash, which the tool would take for an option: hence '='.
        words = ("format", f"--cluster-id={new_id()}", "--config", str(directory / "server.properties"))
        command = java_command(directory, "kafka.tools.StorageTool", *words, jars=jars)
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise OffsetSyncError(f"the storage of a broker could not be formatted:\n{done.stdout}")
        logs = directory / "logs"
        return {str(each.relative_to(logs)): each.read_bytes() for each in logs.rglob("*") if each.is_file()}


def _spawn(command: list[str], directory: Path) -> subprocess.Popen[bytes]:
    """Start *command* in a session of its own, so that Ctrl-C reaches Python and not the brokers."""
    with (directory / "console.log").open("ab") as console:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=console, stderr=console, cwd=directory, start_new_session=True
        )


def _watch(process: subprocess.Popen[bytes], directory: Path) -> subprocess.Popen[bytes]:
    """Start a shell that kills *process* when this Python ends, even by SIGKILL.

    It reads a pipe whose other end only this process has. PR_SET_PDEATHSIG would not do: it fires when the *thread*
    that started the broker ends. The command line is compared first: the process id of a broker that ended long ago may
    have been reused.
    """
    is_ours = '[ ! -d /proc/self ] || grep -qsF "$1" "/proc/$0/cmdline"'
    script = ["/bin/sh", "-c", f'read -r _; {{ {is_ours}; }} && kill -9 "$0"', str(process.pid), str(directory)]
    return subprocess.Popen(script, stdin=subprocess.PIPE, start_new_session=True)


def _tail(path: Path, lines: int) -> str:
    if not path.exists():
        return f"({path.name} was not written: is log4j-slf4j-impl among the jars?)"
    return "\n".join(path.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
