"""The series and labels that the jobs expose, and which of them an expression for Prometheus names."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "metrics.md"
_ITEM = re.compile(r"^- `(offset_sync_\w+)` (\w+)(?: \((`[\w`, ]+)\))?: (.*)$", re.MULTILINE)
_BUCKETS = re.compile(r" \(buckets up to ([\d., ]+)\)$")
_TEXT_OR_RANGE = re.compile(r'"[^"]*"|\[[^\]]*\]')
_GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_SELECTOR = re.compile(r"\b([a-z]+_\w+)\b(?!\s*\()(?:\{[^}]*\})?")
"""Every name with an underscore that is not called: functions have a bracket behind them."""


class Described(NamedTuple):
    """A metric as docs/metrics.md describes it; *buckets* of a histogram only."""

    name: str
    kind: str
    labels: frozenset[str]
    text: str
    buckets: tuple[float, ...]


def described(*parts: str) -> list[Described]:
    """Return what docs/metrics.md says of the metrics of *parts*, the names of jobs."""
    found = []
    for section in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE):
        if section.partition("\n")[0].strip("`") in parts:
            for name, kind, labels, text in _ITEM.findall(section.replace("\n  ", " ")):
                buckets = _BUCKETS.search(text)
                bounds = tuple(map(float, buckets[1].split(", "))) if buckets else ()
                said = Described(name, kind, frozenset(re.findall(r"\w+", labels)), _BUCKETS.sub("", text), bounds)
                found.append(said)
    return found


def series(metrics: Iterable[Described] | None = None) -> dict[str, set[str]]:
    """Return the labels of every series that *metrics*, or all, expose, without those that Prometheus adds."""
    found: dict[str, set[str]] = {}
    for metric in described("sync_offsets", "report_status") if metrics is None else metrics:
        labels = set(metric.labels)
        if metric.kind == "histogram":
            found |= {f"{metric.name}_bucket": labels | {"le"}}
            found |= {f"{metric.name}_{end}": labels for end in ("sum", "count")}
        else:
            found[metric.name] = labels
    return found


def names_in(expression: str) -> set[str]:
    """Return the metrics that an expression asks for."""
    return {*_SELECTOR.findall(_GROUPING.sub("", _TEXT_OR_RANGE.sub("", expression)))}


def _promtool() -> str | None:
    """Return the path of the checker: ``$PROMTOOL``, or what the path has."""
    return os.environ.get("PROMTOOL") or shutil.which("promtool")


needs_promtool = pytest.mark.skipif(not _promtool(), reason="no promtool; Debian's package prometheus has it")


def run_promtool(*arguments: str, given: str = "") -> str:
    """Return what Prometheus' own checker says to the text *given*; AssertionError with it where something is wrong."""
    command = [_promtool() or "promtool", *arguments]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
