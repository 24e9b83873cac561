"""The jobs of the demo, as in production: started by spark-submit.sh with a configuration file, stopped by SIGTERM."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from offset_sync.model.errors import OffsetSyncError
from offset_sync_demo.kafka.clients import Endpoint

REPOSITORY = Path(__file__).resolve().parents[3]
# A run of minutes on two cores is too short for the optimising compiler and a parallel collector.
SMALL = ("--driver-memory", "1g", "--driver-java-options", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


def write_config(
    path: Path, clusters: Mapping[str, Endpoint], directory: Path, sections: Mapping[str, Any] | None = None
) -> None:
    """Write the configuration of the demo's jobs; *sections* replace those of the same name."""
    config: dict[str, Any] = {
        "clusters": {
            alias: {"kafka": {"bootstrap.servers": each.bootstrap_servers}} for alias, each in clusters.items()
        },
        "topics": {"include": [".*"]},
        "sync": {"trigger_interval": "1s", "reconcile_interval": "2s"},
        "index": {"trigger_interval": "1s"},
        "status": {"page": str(directory / "status.html")},
        "tables": {"root": str(directory / "tables"), "checkpoints": str(directory / "checkpoints")},
        **(sections or {}),
    }
    path.write_text(yaml.safe_dump(config, sort_keys=False))


class RunningJob:
    """One job in a process of its own, which logs to a file; *java* are options of the JVM."""

    def __init__(self, name: str, config: Path, directory: Path, java: Sequence[str] = SMALL) -> None:
        self.name = name
        self.log = directory / f"{name}.log"
        command = self.command([name, *java, "--conf", str(config)])
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(command, cwd=REPOSITORY, stdout=log, stderr=subprocess.STDOUT)

    def command(self, words: Sequence[str]) -> Sequence[str]:
        """Return the command that starts the job with these *words*."""
        return ["./spark-submit.sh", *words]

    @property
    def pid(self) -> int:
        """The id of its first process."""
        return self._process.pid

    def check(self) -> None:
        """Raise OffsetSyncError with the end of its log if the job has ended by itself."""
        if self._process.poll() is not None:
            tail = "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])
            raise OffsetSyncError(f"{self.name} ended with exit code {self._process.returncode}; its log ends:\n{tail}")

    def terminate(self) -> None:
        """Send SIGTERM: the job finishes its current micro-batch."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)

    def stop(self, timeout: float = 60.0) -> int:
        """Send SIGTERM, wait for the end, and return the exit code."""
        self.terminate()
        try:
            return self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()
