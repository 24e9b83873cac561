"""MirrorMaker 2 in a process of its own, as ``connect-mirror-maker.sh`` would start it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from offset_sync.model.errors import OffsetSyncError
from offset_sync_demo.kafka.broker_files import BrokerPartsMissing, find_jars, java_command, write_log_configuration

START_QUICKLY = {"plugin.discovery": "service_load"}
"""Finds classes by their jars' manifests instead of scanning all jars: 12 s less. Needed for each worker as well."""
UNREPLICATED = {
    **{f"{kind}.topic.replication.factor": "1" for kind in ("checkpoints", "offset-syncs", "heartbeats")},
    **{f"{kind}.storage.replication.factor": "1" for kind in ("offset", "status", "config")},
    "replication.factor": "1",
}
"""For clusters of one broker."""


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
        # As for the brokers: a shell that reads a pipe whose other end only this process has kills it when that ends.
        script = ["/bin/sh", "-c", 'read -r _; kill -9 "$0"', str(self._process.pid)]
        self._watchdog = subprocess.Popen(script, stdin=subprocess.PIPE, start_new_session=True)

    @property
    def pid(self) -> int:
        """The Java process."""
        return self._process.pid

    def check(self) -> None:
        """Raise OffsetSyncError with the end of its log if it has ended by itself."""
        if self._process.poll() is not None:
            code = self._process.returncode
            raise OffsetSyncError(f"MirrorMaker 2 ended with exit code {code}; its log ends:\n{self.log_tail()}")

    def log_tail(self, lines: int = 25) -> str:
        """Return the last lines that it logged or printed."""
        files = [self._directory / name for name in ("console.log", "mm2.log")]
        texts = [path.read_text(errors="replace").splitlines() for path in files if path.exists()]
        return "\n".join(line for text in texts for line in text[-lines:])

    def kill(self) -> None:
        """End it by SIGKILL."""
        self._process.kill()
        self.stop()

    def stop(self, timeout: float = 15.0) -> None:
        """Stop it by SIGTERM; kill it after *timeout* seconds.

        A killed worker stays a member of Connect's group for a while, and the next one waits for that.
        """
        # The watchdog first: once the process is reaped, its process id may be reused.
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
        main = ["org.apache.kafka.connect.mirror.MirrorMaker", str(self._directory / "mm2.properties")]
        return java_command(self._directory, "-Xmx1g", *main, more=[*sorted(mirror.glob("*.jar")), classes])


@contextmanager
def running_mirror_maker(directory: Path, text: str, classes: Path) -> Iterator[MirrorMaker2]:
    """Start it with the configuration *text*, and stop it at the end, also after an exception."""
    mirror_maker = MirrorMaker2(directory, text, classes)
    try:
        yield mirror_maker
    finally:
        mirror_maker.stop()
