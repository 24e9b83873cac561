"""Histories of one partition on two or three clusters, from a seed: who produced what, and when the mirror brought it.

Every cluster's log is what was produced there and what the mirror brought, in the order of arrival. A mirror keeps the
order per route; how long it takes is what makes the logs cross.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Route = tuple[str, str]
NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Workload:
    """What is produced where per second, how the mirror delays it, and which commits are asked about.

    *produce* returns the times at which a cluster produces. *tick* is the resolution of timestamps in seconds,
    *disorder* how far they are wrong. *lag*: commits stand so many records before the end; None: anywhere.
    """

    name: str
    seconds: float
    produce: Callable[[np.random.Generator, float], Mapping[str, Floats]]
    routes: tuple[Route, ...]
    delay: tuple[float, float]
    move: Route = ("A", "B")
    tick: float = 0.0001
    disorder: float = 0.0
    lag: int | None = None
    stops: bool = False


@dataclass(frozen=True)
class ClusterLog:
    """One cluster's log as it is now: arrays of shape (records,) by offset, which is the index."""

    origin: NDArray[np.int32]
    origin_offset: Ints
    at_ms: Ints
    time: Floats = field(repr=False)


def steady(rate: Mapping[str, float]) -> Callable[[np.random.Generator, float], Mapping[str, Floats]]:
    """Return producers with so many records a second, at random moments."""

    def produce(random: np.random.Generator, seconds: float) -> Mapping[str, Floats]:
        return {c: np.sort(random.uniform(0, seconds, int(r * seconds))) for c, r in rate.items()}

    return produce


def bursts(rate: Mapping[str, float]) -> Callable[[np.random.Generator, float], Mapping[str, Floats]]:
    """Return producers that are silent most of the time and then quick."""

    def produce(random: np.random.Generator, seconds: float) -> Mapping[str, Floats]:
        found = {}
        for cluster, each in rate.items():
            starts = random.uniform(0, seconds, max(1, int(seconds / 2)))
            sizes = random.integers(1, int(4 * each) + 2, len(starts))
            times = np.concatenate([s + np.sort(random.uniform(0, 0.2, n)) for s, n in zip(starts, sizes, strict=True)])
            found[cluster] = np.sort(times[times < seconds])
        return found

    return produce


def one_side_after(rate: float, share: float) -> Callable[[np.random.Generator, float], Mapping[str, Floats]]:
    """Return producers of which those at A move to B after *share* of the time: planned work."""

    def produce(random: np.random.Generator, seconds: float) -> Mapping[str, Floats]:
        times = np.sort(random.uniform(0, seconds, int(rate * seconds)))
        is_there = (times > share * seconds) | (random.random(len(times)) < 0.5)
        return {"A": times[~is_there], "B": times[is_there]}

    return produce


def write_logs(workload: Workload, random: np.random.Generator) -> dict[str, ClusterLog]:
    """Return every cluster's log at the moment of the move; where a workload *stops*, all has arrived by then."""
    clusters = sorted({cluster for route in workload.routes for cluster in route})
    code = {cluster: number for number, cluster in enumerate(clusters)}
    now = np.inf if workload.stops else workload.seconds
    produced = workload.produce(random, workload.seconds)
    stamped = {c: _timestamps(t, workload, random) for c, t in produced.items()}
    parts: dict[str, list[tuple[int, Floats, Ints, Ints]]] = {c: [] for c in clusters}
    for cluster, times in produced.items():
        parts[cluster].append((code[cluster], times, np.arange(len(times)), stamped[cluster]))
        for source, target in workload.routes:
            if source == cluster:
                # No two routes are equally fast.
                delay = random.uniform(0.1, 1.0) * random.uniform(*workload.delay, len(times))
                arrival = np.maximum.accumulate(times + delay)
                parts[target].append((code[cluster], arrival, np.arange(len(times)), stamped[cluster]))
    merged = {c: _merge(part, now) for c, part in parts.items()}
    own = {code[c]: np.flatnonzero(origin == code[c]) for c, (origin, _, _, _) in merged.items()}
    logs = {}
    for cluster, (origin, time, number, at_ms) in merged.items():
        offset = np.zeros(len(origin), np.int64)
        for each, places in own.items():
            mine = origin == each
            offset[mine] = places[number[mine]]
        logs[cluster] = ClusterLog(origin, offset, at_ms, time)
    return logs


def _merge(parts: list[tuple[int, Floats, Ints, Ints]], now: float) -> tuple[NDArray[np.int32], Floats, Ints, Ints]:
    if not parts:
        return np.empty(0, np.int32), np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64)
    origin = np.concatenate([np.full(len(time), code, np.int32) for code, time, _, _ in parts])
    time, number, at_ms = (np.concatenate([part[column] for part in parts]) for column in (1, 2, 3))
    order = np.argsort(time, kind="stable")
    order = order[time[order] <= now]
    return origin[order], time[order], number[order], at_ms[order]


def _timestamps(times: Floats, workload: Workload, random: np.random.Generator) -> Ints:
    wrong = random.uniform(-workload.disorder, workload.disorder, len(times)) if workload.disorder else 0.0
    ticks: Ints = np.floor((times + wrong) / workload.tick).astype(np.int64)
    return np.maximum.accumulate(ticks) if not workload.disorder else ticks


def read_before(source: ClusterLog, target: ClusterLog) -> Ints:
    """Return for every record of *target* which offset of *source* it stands at, :data:`NEVER` where it is not."""
    positions = np.full(len(target.origin), NEVER, np.int64)
    for origin in np.unique(target.origin):
        places = np.flatnonzero(source.origin == origin)
        known, wanted = source.origin_offset[places], target.origin_offset[target.origin == origin]
        at = np.searchsorted(known, wanted)
        is_there = (at < len(known)) & (np.append(known, -1)[at] == wanted)
        positions[target.origin == origin] = np.where(is_there, np.append(places, 0)[at], NEVER)
    return positions
