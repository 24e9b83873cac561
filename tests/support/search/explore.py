"""All histories up to a depth, breadth first: each state once, whatever led to it."""

from __future__ import annotations

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
    states: int = 0
    steps: int = 0
    bounded: int = 0
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
    result.states = 1
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
