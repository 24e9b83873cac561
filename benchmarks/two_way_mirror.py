"""MirrorMaker 2 both ways between two clusters, which may be killed and started again.

Topics keep their names, and nothing but headers tells a copy from what was produced here: the transform of connect/
stamps the one, and does not copy the other back.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from mirrormaker_process import MirrorMaker2

from offset_sync_demo.kafka.clients import Endpoint
from offset_sync_demo.kafka.connect_transform import TRANSFORM, compile_transform

_WORKER = {
    # A worker that was killed is missed soon, and its tasks are given to the next one at once.
    "session.timeout.ms": "6000",
    "heartbeat.interval.ms": "2000",
    "scheduled.rebalance.max.delay.ms": "0",
    # What was copied since is copied again after a crash.
    "offset.flush.interval.ms": "5000",
    "plugin.discovery": "service_load",
}


def both_ways(clusters: Mapping[str, Endpoint], topics: Mapping[str, Sequence[str]]) -> str:
    """Return ``mm2.properties``; *topics* are those that are copied from each cluster to the other."""
    one, other = clusters
    settings = {
        "clusters": f"{one}, {other}",
        **{f"{alias}.bootstrap.servers": clusters[alias].bootstrap_servers for alias in clusters},
        "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
        "plugin.discovery": "service_load",
        "sync.topic.acls.enabled": "false",
        "sync.topic.configs.enabled": "false",
        "emit.heartbeats.enabled": "false",
        "emit.checkpoints.enabled": "false",
        "sync.group.offsets.enabled": "false",
        **{f"{kind}.replication.factor": "1" for kind in ("checkpoints.topic", "offset-syncs.topic")},
        **{f"{kind}.storage.replication.factor": "1" for kind in ("offset", "status", "config")},
        "replication.factor": "1",
    }
    for source, target in ((one, other), (other, one)):
        settings |= _flow(f"{source}->{target}", topics[source])
        settings |= {f"{target}.{name}": value for name, value in _WORKER.items()}
    return "".join(f"{name} = {value}\n" for name, value in settings.items())


def _flow(flow: str, topics: Sequence[str]) -> dict[str, str]:
    return {
        f"{flow}.enabled": "true",
        f"{flow}.topics": ", ".join(topics),
        f"{flow}.transforms": "origin",
        f"{flow}.transforms.origin.type": TRANSFORM,
    }


class TwoWayMirror:
    """The process; a new one each time that it is started, with what the clusters remember of the one before."""

    def __init__(self, clusters: Mapping[str, Endpoint], topics: Mapping[str, Sequence[str]], directory: Path) -> None:
        self._directory, self._text = directory, both_ways(clusters, topics)
        self._classes = compile_transform(directory / "transform")
        self._started = 0
        self._process: MirrorMaker2 | None = None

    def start(self) -> None:
        """Start it."""
        self._started += 1
        self._process = MirrorMaker2(self._directory / f"mirror-{self._started}", self._text, self._classes)

    def kill(self) -> None:
        """End it by SIGKILL."""
        if self._process is not None:
            os.kill(self._process.pid, signal.SIGKILL)
            self._process.stop()

    def stop(self) -> None:
        """End it as an operator would."""
        if self._process is not None:
            self._process.stop()
            self._process = None

    def log_tail(self) -> str:
        """Return the last lines that it logged or printed."""
        return self._process.log_tail() if self._process is not None else ""
