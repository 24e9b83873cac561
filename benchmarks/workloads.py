"""Histories of one partition on two or three clusters, from a seed: who produced what, and when the mirror brought it.

Every cluster's log is what was produced there and what the mirror brought, in the order of arrival. A mirror keeps the
order per route; how long it takes is what makes the logs cross.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

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
    *disorder* how far they are wrong. *lag*: commits are so many records before the end; None: anywhere. *late*: a
    share of the copies comes so many seconds later at least and at most. *recreated*: this cluster, to which nothing is
    copied, has its topic recreated after a share of the time. *grace* is the product's ``sync.hole_grace`` in seconds;
    0: nothing is too young. *leaks*: a share of what is produced bears the headers of a copy of another topic, which an
    application has handed on; *has_place*: the mirror's headers say of which place. Where a workload *is_beyond* what
    is promised its losses are measured all the same.
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
    late: tuple[float, float, float] | None = None
    recreated: tuple[str, float] | None = None
    grace: float = 0.0
    leaks: float = 0.0
    has_place: bool = True
    is_beyond: bool = False

    @property
    def clusters(self) -> set[str]:
        """All clusters."""
        return {cluster for route in self.routes for cluster in route}


@dataclass(frozen=True)
class ClusterLog:
    """One cluster's log as it is now: arrays of shape (records,) by offset, which is the index.

    *life* says of which life of its origin's log a record is; no header does.
    """

    origin: NDArray[np.int32]
    origin_offset: Ints
    at_ms: Ints
    time: Floats = field(repr=False)
    life: Ints = field(repr=False)


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


class _Part(NamedTuple):
    """Records of one origin in one log; arrays of shape (records,): *number* counts them within a *life*."""

    origin: Ints
    time: Floats
    number: Ints
    at_ms: Ints
    life: Ints

    def take(self, rows: NDArray[np.intp]) -> _Part:
        """Return some of them."""
        return _Part(self.origin[rows], self.time[rows], self.number[rows], self.at_ms[rows], self.life[rows])


def write_logs(workload: Workload, random: np.random.Generator) -> dict[str, ClusterLog]:
    """Return every cluster's log at the moment of the move; where a workload *stops*, all has arrived by then."""
    clusters = sorted(workload.clusters)
    now = np.inf if workload.stops else workload.seconds
    parts: dict[str, list[_Part]] = {c: [] for c in clusters}
    for cluster, times in workload.produce(random, workload.seconds).items():
        stamped = _timestamps(times, workload, random)
        born = _born(clusters.index(cluster), times, stamped, cluster, workload)
        # Of a topic that was recreated only the present life is there.
        parts[cluster].append(born.take(np.flatnonzero(born.life == born.life.max(initial=0))))
        for source, target in workload.routes:
            if source == cluster:
                parts[target].append(born._replace(time=_arrival(times, workload, random)))
    merged = {c: _merge(part, now) for c, part in parts.items()}
    return {cluster: _log_of(one, merged, clusters) for cluster, one in merged.items()}


def _born(origin: int, times: Floats, stamped: Ints, cluster: str, workload: Workload) -> _Part:
    """Return what a cluster has produced."""
    is_recreated = workload.recreated is not None and workload.recreated[0] == cluster
    made_at = workload.recreated[1] * workload.seconds if is_recreated and workload.recreated else np.inf
    life = (times >= made_at).astype(np.int64)
    number = np.arange(len(times)) - np.where(life > 0, np.searchsorted(times, made_at), 0)
    return _Part(np.full(len(times), origin), times, number, stamped, life)


def _arrival(times: Floats, workload: Workload, random: np.random.Generator) -> Floats:
    """Return when copies come, in the order in which they were produced but for late ones; no two routes are alike."""
    delay = random.uniform(0.1, 1.0) * random.uniform(*workload.delay, len(times))
    arrival: Floats = np.maximum.accumulate(times + delay)
    if workload.late is not None:
        share, least, most = workload.late
        arrival += np.where(random.random(len(times)) < share, random.uniform(least, most, len(times)), 0.0)
    return arrival


def _merge(parts: list[_Part], now: float) -> _Part:
    """Return a log: what has arrived until *now*, in the order of arrival."""
    nothing = np.empty(0, np.int64)
    if not parts:
        return _Part(nothing, np.empty(0), nothing, nothing, nothing)
    whole = _Part(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    order = np.argsort(whole.time, kind="stable")
    return whole.take(order[whole.time[order] <= now])


def _log_of(part: _Part, merged: Mapping[str, _Part], clusters: list[str]) -> ClusterLog:
    """Return a cluster's log with the offset that each record has at its origin."""
    offset = part.number.copy()
    for code, cluster in enumerate(clusters):
        # A former life had nothing but its own records, so there number and offset are the same.
        at_home = np.flatnonzero(merged[cluster].origin == code)
        mine = (part.origin == code) & (part.life == merged[cluster].life[at_home].max(initial=0))
        offset[mine] = at_home[part.number[mine]]
    return ClusterLog(part.origin.astype(np.int32), offset, part.at_ms, part.time, part.life)


def _timestamps(times: Floats, workload: Workload, random: np.random.Generator) -> Ints:
    wrong = random.uniform(-workload.disorder, workload.disorder, len(times)) if workload.disorder else 0.0
    ticks: Ints = np.floor((times + wrong) / workload.tick).astype(np.int64)
    return np.maximum.accumulate(ticks) if not workload.disorder else ticks


def read_before(source: ClusterLog, target: ClusterLog) -> Ints:
    """Return for every record of *target* its offset at *source*, :data:`NEVER` where it is not."""
    positions = np.full(len(target.origin), NEVER, np.int64)
    here, there = _identities(source), _identities(target)
    for origin in np.unique(there):
        places = np.flatnonzero(here == origin)
        places = places[np.argsort(source.origin_offset[places], kind="stable")]
        known, wanted = source.origin_offset[places], target.origin_offset[there == origin]
        at = np.searchsorted(known, wanted)
        is_there = (at < len(known)) & (np.append(known, -1)[at] == wanted)
        positions[there == origin] = np.where(is_there, np.append(places, 0)[at], NEVER)
    return positions


def _identities(log: ClusterLog) -> Ints:
    """Return a number for origin and life of each record."""
    found: Ints = log.origin.astype(np.int64) * 2 + log.life
    return found
