"""PromQL read as far as to know which metrics and labels an expression names; and promtool, where there is one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from offset_sync.jobs.metrics.catalog import CATALOGUE

_TOKEN = re.compile(
    r"""\s+ | \#[^\n]*
    | (?P<text> "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*' | `[^`]*` )
    | (?P<range> \[ [^\]]* \] )
    | (?P<number> (?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?:ms|[smhdwy])? )
    | (?P<name> [A-Za-z_:][A-Za-z0-9_:]* )
    | (?P<mark> =~|!~|!=|==|>=|<=|[-+*/%^<>=(){},] )""",
    re.VERBOSE,
)
_RANGE = re.compile(r"\[(\d+(ms|[smhdwy])|\$__rate_interval|\$__range|\$__interval)\]")
_LISTS = {"by", "without", "on", "ignoring", "group_left", "group_right"}
_WORDS = {"and", "or", "unless", "bool", "offset"}
_FUNCTIONS = {
    "absent", "avg", "avg_over_time", "bottomk", "clamp_max", "clamp_min", "count", "delta", "deriv",
    "histogram_quantile", "increase", "max", "max_over_time", "min", "rate", "sum", "time", "topk", "vector",
}  # fmt: skip
_ADDED_BY_PROMETHEUS = {"job", "instance"}


@dataclass
class Expression:
    """The (metric, labels in its braces) of an expression, and the labels that it groups by."""

    selectors: list[tuple[str, set[str]]] = field(default_factory=list)
    grouping: set[str] = field(default_factory=set)


def read_expression(text: str) -> Expression:
    """Return what *text* names; ValueError for what is no expression of the kind that we write."""
    tokens, found, place = list(_tokens(text)), Expression(), 0
    if sum((token in "({") - (token in ")}") for kind, token in tokens if kind == "mark"):
        raise ValueError(f"brackets without their other half: {text}")
    while place < len(tokens):
        kind, token = tokens[place]
        following = tokens[place + 1][1] if place + 1 < len(tokens) else ""
        place += 1
        if kind != "name" or token in _WORDS:
            continue
        if token in _LISTS:
            labels, place = _names_until(")", tokens, place + 1)
            found.grouping |= set(labels)
        elif following == "(" or following in _LISTS:
            if token not in _FUNCTIONS:
                raise ValueError(f"{token} is no function that is used here: {text}")
        elif following == "{":
            labels, place = _names_until("}", tokens, place + 1)
            found.selectors.append((token, set(labels)))
        else:
            found.selectors.append((token, set()))
    return found


def _names_until(end: str, tokens: list[tuple[str, str]], place: int) -> tuple[list[str], int]:
    names = []
    while tokens[place][1] != end:
        if tokens[place][0] == "name":
            names.append(tokens[place][1])
        place += 1
    return names, place + 1


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise ValueError(f"not readable at {text[place : place + 20]!r}: {text}")
        if match.lastgroup == "range" and not _RANGE.fullmatch(match[0]):
            raise ValueError(f"{match[0]} is no range: {text}")
        if match.lastgroup is not None:
            yield match.lastgroup, match[0]
        place = match.end()


def series() -> dict[str, set[str]]:
    """Return the labels of every series that the jobs expose."""
    found: dict[str, set[str]] = {}
    for metric in CATALOGUE:
        labels = set(metric.labels) | _ADDED_BY_PROMETHEUS
        if metric.kind == "histogram":
            found |= {f"{metric.name}_bucket": labels | {"le"}}
            found |= {f"{metric.name}_{end}": labels for end in ("sum", "count")}
        else:
            found[metric.name] = labels
    return found


def problems(text: str, shown: Iterable[str] = ()) -> list[str]:
    """Return what an expression names that does not exist; *shown* are labels that a legend or an alert quotes."""
    known, found, expression = series(), [], read_expression(text)
    if not expression.selectors:
        found.append(f"no metric in {text}")
    offered: set[str] = set()
    for name, labels in expression.selectors:
        if name not in known:
            found.append(f"{name} does not exist")
        offered |= known.get(name, set())
        found += [f"{name} has no label {label}" for label in sorted(labels - known.get(name, labels))]
    quoted = expression.grouping | set(shown)
    found += [f"no metric has the label {label}: {text}" for label in sorted(quoted - offered)]
    if expression.grouping and (lost := set(shown) - expression.grouping):
        found.append(f"{', '.join(sorted(lost))} is not left after grouping: {text}")
    return found


def find_promtool() -> str | None:
    """Return the path of Prometheus' own checker: ``$PROMTOOL``, or what the path has."""
    return os.environ.get("PROMTOOL") or shutil.which("promtool")


def run_promtool(*arguments: str, given: str = "") -> str:
    """Return what promtool says to the text *given*; AssertionError with it where something is wrong."""
    command = [find_promtool() or "promtool", *arguments]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
