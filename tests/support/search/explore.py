"""All histories up to a depth, breadth first: each state once, whatever led to it.

``make search`` prints the states, steps and seconds of each shape; ``ARGS='--shapes 0,1 --depth 8'`` goes deeper.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from search.histories import Event, Histories
from search.rows import Shape, States, hashes


@dataclass
class Result:
    """What was found, and the shortest history that led to something *wrong*."""

    shape: Shape
    depth: int = 0
    states: int = 1
    steps: int = 0
    seconds: float = 0.0
    waits: Counter[str] = field(default_factory=Counter)
    wrong: str = ""
    story: list[str] = field(default_factory=list)


@dataclass
class _Level:
    states: States
    parent: NDArray[np.intp]
    event: NDArray[np.intp]


def explore(shape: Shape, depth: int, tell: Callable[[Result], object] = lambda _result: None) -> Result:
    """Return what becomes of all histories of up to *depth* events; ends with the first that is wrong."""
    histories, result, began = Histories(shape), Result(shape), time.monotonic()
    first = histories.begin()
    levels, known = [_Level(first, np.zeros(1, np.intp), np.zeros(1, np.intp))], hashes(first)
    for number in range(1, depth + 1):
        parts: list[tuple[States, Any, Any, Any]] = []
        last = levels[-1].states
        for start in range(0, len(last), histories.most):
            for code, event in enumerate(histories.events):
                states, rows, found = histories.after(last[start : start + histories.most], event)
                result.steps += len(states)
                if found:
                    row, result.wrong = found[0]
                    result.story = _story(levels, histories.events, start + row, code)
                    return result
                code_of = hashes(states)
                code_of, chosen = np.unique(code_of, return_index=True)
                is_new = known[np.minimum(np.searchsorted(known, code_of), len(known) - 1)] != code_of
                chosen = chosen[is_new]
                parts.append((states[chosen], start + rows[chosen], np.full(len(chosen), code), code_of[is_new]))
        joined = [np.concatenate(each) for each in zip(*parts, strict=True)]
        fresh, chosen = np.unique(joined[3], return_index=True)
        levels.append(_Level(*(each[chosen] for each in joined[:3])))
        levels[-2].states = levels[-2].states[:0]
        known = np.sort(np.concatenate([known, fresh]))
        result.depth, result.states, result.seconds = number, len(known), time.monotonic() - began
        if not _is_quiet_right(histories, levels, result):
            return result
        tell(result)
    return result


def _is_quiet_right(histories: Histories, levels: list[_Level], result: Result) -> bool:
    last = levels[-1].states
    for start in range(0, len(last), histories.most):
        for text, holds in histories.quiet(last[start : start + histories.most]).items():
            if text.startswith("waits: "):
                result.waits[text] += int(holds.sum())
            elif holds.any():
                row, result.wrong = start + int(holds.argmax()), text
                result.story = _story(levels, histories.events, row, None)
                return False
    return True


def _story(levels: list[_Level], events: list[Event], row: int, code: int | None) -> list[str]:
    """Return the names of the events that led to a state of the last level, and of the one after it."""
    found = [events[code].name] if code is not None else []
    for level in reversed(levels[1:]):
        found.append(events[level.event[row]].name)
        row = level.parent[row]
    return found[::-1]


SHAPES = (
    (Shape(), 10),
    (Shape((1, 0), end=2), 7),
    (Shape(partitions=2), 7),
    (Shape((0, 0, 0)), 7),
    (Shape((1, 0, 0)), 6),
)
"""Two clusters, one of which has lost its first record or not; two partitions; three clusters; and how deep."""


def main(arguments: list[str]) -> int:
    """Search and print; return 1 where something is wrong."""
    parser = argparse.ArgumentParser(prog="make search")
    parser.add_argument("--shapes", default=",".join(map(str, range(len(SHAPES)))), help="numbers of shapes")
    parser.add_argument("--depth", type=int, help="instead of each one's own")
    options = parser.parse_args(arguments)
    began, states, steps = time.monotonic(), 0, 0
    for number in map(int, options.shapes.split(",")):
        shape, depth = SHAPES[number]
        print(f"{number}: starts {shape.starts}, {shape.partitions} partitions, offsets 0 to {shape.end}", flush=True)
        result = explore(shape, options.depth or depth, _tell)
        states, steps = states + result.states, steps + result.steps
        if result.wrong:
            told = explore(shape._replace(is_named=True), result.depth + 1)
            print(told.wrong, *told.story, sep="\n  ")
            return 1
        for text, count in sorted(result.waits.items()):
            print(f"  after quiet, {text}: {count} states")
    print(f"{states} states, {steps} steps, {time.monotonic() - began:.0f} s: nothing wrong")
    return 0


def _tell(result: Result) -> None:
    print(f"  depth {result.depth}: {result.states} states, {result.steps} steps, {result.seconds:.0f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
