"""What an expression for Prometheus may name: the series and labels that the jobs expose. Its syntax is promtool's."""

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
_ADDED_BY_PROMETHEUS = {"job", "instance"}
_TEXT_OR_RANGE = re.compile(r'"[^"]*"|\[[^\]]*\]')
_GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_SELECTOR = re.compile(r"\b([a-z]+_\w+)\b(?!\s*\()(?:\{([^}]*)\})?")
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
    return {name for name, _ in _selectors(expression)}


def problems(expression: str, shown: Iterable[str] = ()) -> list[str]:
    """Return what an expression names that does not exist; *shown* are labels that a legend or an alert quotes."""
    known = {name: labels | _ADDED_BY_PROMETHEUS for name, labels in series().items()}
    selectors = _selectors(expression)
    wanted = {*shown, *re.findall(r"\w+", " ".join(_GROUPING.findall(expression)))}
    offered = {label for name, _ in selectors for label in known.get(name, ())}
    found = [f"{name} does not exist" for name, _ in selectors if name not in known]
    for name, labels in selectors:
        found += [f"{name} has no label {label}" for label in sorted(labels - known.get(name, labels))]
    return found + [f"no metric has the label {label}" for label in sorted(wanted - offered)]


def _selectors(expression: str) -> list[tuple[str, set[str]]]:
    plain = _GROUPING.sub("", _TEXT_OR_RANGE.sub("", expression))
    return [(name, set(re.findall(r"\w+", matchers))) for name, matchers in _SELECTOR.findall(plain)]


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
