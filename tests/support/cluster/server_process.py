"""A server from jars, as a process of its own: started, asked whether it is up, killed; it never outlives this one."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from offset_sync_demo.kafka.broker_files import find_java

# Servers of a test live for minutes and hold next to nothing.
_JAVA = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true")
PATIENCE_SECONDS = 300.0


@dataclass
class ServerProcess:
    """The server *name*, which works in *folder* and prints into a file there."""

    name: str
    folder: Path
    classes: str
    arguments: Sequence[str]
    heap: str = "192m"
    environ: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    _watchdog: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """Return the file that it prints into."""
        return self.folder / f"{self.name}.log"

    def command(self) -> list[str]:
        """Return the command that starts it."""
        return [find_java(), f"-Xmx{self.heap}", *_JAVA, "-cp", self.classes, *self.arguments]

    def launch(self) -> None:
        """Start it and return at once."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                self.command(), stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=self.folder,
                env={**os.environ, **self.environ}, start_new_session=True,
            )  # fmt: skip
        # It waits on a pipe whose other end only this process holds, and ends what it watches when that is closed.
        script = ["/bin/sh", "-c", 'read -r _; kill -9 "$0"', str(self.process.pid)]
        self._watchdog = subprocess.Popen(script, stdin=subprocess.PIPE, start_new_session=True)

    def run(self) -> None:
        """Start it and return when it has ended well."""
        self.launch()
        assert self.process is not None
        ended = self.process.wait(PATIENCE_SECONDS)
        self.kill()
        assert ended == 0, f"{self.name} ended with {ended}:\n{self.log_tail()}"

    def wait_until(self, is_ready: Callable[[], bool]) -> None:
        """Return when it is ready; an AssertionError with the end of its log where it ends or takes too long."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not is_ready():
            assert self.process is not None
            assert self.process.poll() is None, f"{self.name} ended:\n{self.log_tail()}"
            assert time.monotonic() < deadline, f"{self.name} did not start:\n{self.log_tail()}"
            time.sleep(0.3)

    def kill(self) -> None:
        """End it as a disaster would (SIGKILL)."""
        for each in (self._watchdog, self.process):  # the watchdog first: its process id may soon be reused
            if each is not None:
                each.kill()
                each.wait()
        if self._watchdog is not None and self._watchdog.stdin is not None:
            self._watchdog.stdin.close()
        self._watchdog = None

    def kill_with_all_below(self) -> None:
        """End it and every process that it has started, all at once: a machine that is gone."""
        assert self.process is not None
        below = list(processes_below(self.process.pid))
        self.kill()
        for number, _ in below:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)

    def log_tail(self) -> str:
        """Return the last lines that it printed."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-30:])


def processes_below(ancestor: int) -> Iterator[tuple[int, str]]:
    """Yield number and command line of every process that *ancestor*, or one that it started, has started."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):  # it has ended meanwhile
            continue
        children.setdefault(parent, []).append(int(folder.name))
    waiting = list(children.get(ancestor, []))
    while waiting:
        number = waiting.pop()
        waiting += children.get(number, [])
        try:
            words = Path(f"/proc/{number}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        yield number, words


def answer_of(address: str, *, refused: bytes | None = None) -> bytes | None:
    """Return the answer of a web address; None without one, *refused* for an error."""
    headers = {"Accept": "application/json"}
    request = urllib.request.Request(address, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            found: bytes = answer.read()
            return found
    except urllib.error.HTTPError:
        return refused
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return None
