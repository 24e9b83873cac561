"""A JVM that answers a line of JSON on its input with one on its output."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from offset_sync_demo.kafka.broker_files import find_java, write_log_configuration

_JAVA = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")


@contextmanager
def asked_jvm(folder: Path, log: str, class_path: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Start a JVM by these *words* of its command; what our classes log is in a file in *folder*."""
    write_log_configuration(folder, log, "offsetsync")
    (folder / log).touch()  # Java makes it with its first line, and a test may ask before
    options = [*_JAVA, f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}", "-cp", class_path]
    pipe = subprocess.PIPE
    with subprocess.Popen([find_java(), *options, *words], stdin=pipe, stdout=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def ask(process: subprocess.Popen[str], question: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer; raises AssertionError, with the exit code, where the process has ended."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(question) + "\n")
    process.stdin.flush()
    line = process.stdout.readline()
    assert line, f"the process ended with {process.wait(10)}"
    answer: dict[str, Any] = json.loads(line)
    return answer
