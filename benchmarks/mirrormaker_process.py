"""MirrorMaker 2 in a process of its own, as ``connect-mirror-maker.sh`` would start it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from offset_sync.model.errors import OffsetSyncError
from offset_sync_demo.kafka.broker_files import BrokerPartsMissing, find_jars, find_java, write_log_configuration
from offset_sync_demo.kafka.clients import Endpoint
from offset_sync_demo.kafka.connect_transform import TRANSFORM

SOURCE, TARGET = "dc1", "dc2"
DEFAULTS: dict[str, str] = {}
"""Run ``default``: nothing is set that Kafka has a default for."""
FASTEST = {
    "emit.checkpoints.interval.seconds": "1",
    "sync.group.offsets.interval.seconds": "1",
    "refresh.topics.interval.seconds": "1",
    "refresh.groups.interval.seconds": "1",
    "offset.lag.max": "0",
    # How often Connect asks for the offset syncs that were put off; an option of the worker, hence of the target.
    f"{TARGET}.offset.flush.interval.ms": "1000",
}
"""Run ``fastest``: whole seconds are the finest that the intervals take."""

# The flags of brokers and jobs: on two cores, for minutes, the optimising compiler does not pay off.
_JAVA = ("-Xmx1g", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Djava.awt.headless=true")


def properties(
    clusters: Mapping[str, Endpoint], topics: Sequence[str], stamped: str, groups: str, timing: Mapping[str, str]
) -> str:
    """Return ``mm2.properties``: *topics* with the groups that match *groups*, headers stamped on topic *stamped*."""
    flow = f"{SOURCE}->{TARGET}"
    settings = {
        "clusters": f"{SOURCE}, {TARGET}",
        **{f"{alias}.bootstrap.servers": clusters[alias].bootstrap_servers for alias in (SOURCE, TARGET)},
        f"{flow}.enabled": "true",
        f"{flow}.topics": ", ".join(topics),
        f"{flow}.groups": groups,
        "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
        "sync.group.offsets.enabled": "true",
        # Without heartbeats there is no second herder, for the way back.
        "emit.heartbeats.enabled": "false",
        "sync.topic.acls.enabled": "false",
        # Classes are found by their jars' manifests, not by a search through all jars: 12 s less at the start.
        "plugin.discovery": "service_load",
        f"{TARGET}.plugin.discovery": "service_load",
        f"{flow}.transforms": "stamp",
        f"{flow}.transforms.stamp.type": TRANSFORM,
        f"{flow}.transforms.stamp.predicate": "stamped",
        f"{flow}.predicates": "stamped",
        f"{flow}.predicates.stamped.type": "org.apache.kafka.connect.transforms.predicates.TopicNameMatches",
        f"{flow}.predicates.stamped.pattern": stamped,
        **{
            f"{kind}.replication.factor": "1"
            for kind in ("checkpoints.topic", "offset-syncs.topic", "heartbeats.topic")
        },
        **{f"{kind}.storage.replication.factor": "1" for kind in ("offset", "status", "config")},
        "replication.factor": "1",
        **timing,
    }
    return "".join(f"{name} = {value}\n" for name, value in settings.items())


class MirrorMaker2:
    """The process; *directory* gets its configuration and its log."""

    def __init__(self, directory: Path, text: str, classes: Path) -> None:
        self._directory = directory
        directory.mkdir()
        (directory / "mm2.properties").write_text(text)
        write_log_configuration(directory, "mm2.log", "org.apache.kafka.connect.mirror")
        with (directory / "console.log").open("wb") as console:
            self._process = subprocess.Popen(
                self._command(classes),
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                cwd=directory,
                start_new_session=True,
            )
        # As for the brokers: a shell that waits on a pipe which only we hold, so it never outlives this Python.
        script = ["/bin/sh", "-c", 'read -r _; kill -9 "$0"', str(self._process.pid)]
        self._watchdog = subprocess.Popen(script, stdin=subprocess.PIPE, start_new_session=True)

    @property
    def pid(self) -> int:
        """The Java process."""
        return self._process.pid

    def check(self) -> None:
        """Raise OffsetSyncError with the end of its log when it has ended by itself."""
        if self._process.poll() is not None:
            code = self._process.returncode
            raise OffsetSyncError(f"MirrorMaker 2 ended with exit code {code}; its log ends:\n{self.log_tail()}")

    def log_tail(self, lines: int = 25) -> str:
        """Return the last lines that it logged or printed."""
        files = [self._directory / name for name in ("console.log", "mm2.log")]
        texts = [path.read_text(errors="replace").splitlines() for path in files if path.exists()]
        return "\n".join(line for text in texts for line in text[-lines:])

    def stop(self, timeout: float = 15.0) -> None:
        """End it, by force after *timeout* seconds.

        A worker that is only killed keeps its place in Connect's group for a while, and the next one waits for it.
        """
        # The watchdog first: once the process is reaped its number may be somebody else's.
        self._watchdog.kill()
        self._watchdog.communicate()
        self._process.terminate()
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _command(self, classes: Path) -> list[str]:
        jars = find_jars()
        mirror = jars.parent / "mirror"
        if not any(mirror.glob("connect-mirror-4*.jar")):
            raise BrokerPartsMissing(f"{mirror}: no jars of MirrorMaker 2; run 'make install'")
        logging = f"-Dlog4j2.configurationFile={self._directory / 'log4j2.properties'}"
        main = ["org.apache.kafka.connect.mirror.MirrorMaker", str(self._directory / "mm2.properties")]
        return [find_java(), *_JAVA, logging, "-cp", f"{jars}/*:{mirror}/*:{classes}", *main]


@contextmanager
def running_mirror_maker(directory: Path, text: str, classes: Path) -> Iterator[MirrorMaker2]:
    """Start it with the configuration *text*; it is stopped at the end, whatever that is."""
    mirror_maker = MirrorMaker2(directory, text, classes)
    try:
        yield mirror_maker
    finally:
        mirror_maker.stop()
