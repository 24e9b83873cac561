"""Run a long command and say what it is doing: a live line on a terminal, a plain line now and then elsewhere.

Uses rich where it is installed; while the environment is still being made it is not, and a plain live line replaces it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

_PLAIN_SECONDS = 10.0
_LIVE_SECONDS = 0.25
_TAIL_LINES = 25

Say = Callable[[str], None]


def run_shown(
    title: str,
    command: Sequence[str],
    describe: Callable[[str], str | None],
    log: Path,
    *,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run *command* to its end; its whole output goes to *log*.

    *describe* turns a line of that output into what the user should see, or None to keep the present line.
    When the command fails its last lines are shown and SystemExit is raised.
    """
    started = time.monotonic()
    with log.open("w", encoding="utf-8") as written:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
        )
        seen = ["starting"]
        reader = threading.Thread(target=_follow, args=(child, describe, seen, written), daemon=True)
        reader.start()
        with _line() as say:
            while reader.is_alive():
                say(f"{title}: {seen[-1]} ({time.monotonic() - started:.0f} s)")
                reader.join(_LIVE_SECONDS)
        failed = child.wait() != 0
    if failed:
        tail = log.read_text(encoding="utf-8").splitlines()[-_TAIL_LINES:]
        raise SystemExit("\n".join([f"{title}: failed; the end of {log}:", *(f"  {line}" for line in tail)]))
    print(f"{title}: done in {time.monotonic() - started:.0f} s", flush=True)


def _follow(child: subprocess.Popen[str], describe: Callable[[str], str | None], seen: list[str], log: TextIO) -> None:
    assert child.stdout is not None
    for line in child.stdout:
        log.write(line)
        text = describe(line.strip())
        if text is not None:
            seen.append(text)


@contextmanager
def _line() -> Iterator[Say]:
    if not sys.stdout.isatty():
        yield _plain_line()
        return
    try:
        from rich.console import Console
    except ImportError:
        yield _live_line
        print("\r\x1b[K", end="", flush=True)
        return
    with Console().status("") as status:
        yield status.update


def _live_line(text: str) -> None:
    width = shutil.get_terminal_size().columns - 1
    print(f"\r\x1b[K{text[:width]}", end="", flush=True)


def _plain_line() -> Say:
    last = time.monotonic() - _PLAIN_SECONDS

    def say(text: str) -> None:
        nonlocal last
        if time.monotonic() - last >= _PLAIN_SECONDS:
            last = time.monotonic()
            print(text, flush=True)

    return say
