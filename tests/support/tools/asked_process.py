"""A process that answers a line of JSON on its input with one on its output."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from typing import Any


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
