"""Random histories of one partition on two to four clusters, as producers and an imperfect mirror write them.

Everything follows from the generator passed in: the same seed is the same history.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from oracles.translation import MALFORMED, Case, Log, LogRecord

Route = tuple[str, str]

CLUSTERS = ("A", "B", "C", "D")


@dataclass(frozen=True)
class World:
    """Who produces, who mirrors to whom, and how often what goes wrong (probabilities per step)."""

    clusters: tuple[str, ...]
    producers: tuple[str, ...]
    routes: tuple[Route, ...]
    steps: int = 30
    resend: float = 0.0
    reorder: float = 0.0
    drop: float = 0.0
    late: float = 0.0
    marker: float = 0.0
    malformed: float = 0.0
    echo: float = 0.0
    compacted: float = 0.0
    expired: float = 0.0
    behind: float = 0.0


def random_world(rng: random.Random, *, steps: int = 30) -> World:
    """Return a world in which each fault happens never, sometimes or often, independently of the others."""

    def chance() -> float:
        return rng.choice((0.0, 0.0, 0.1, 0.5))

    clusters = CLUSTERS[: rng.randint(2, 4)]
    producers = tuple(rng.sample(clusters, rng.randint(1, len(clusters))))
    routes = tuple((origin, copy) for origin in clusters for copy in clusters if origin != copy)
    if rng.random() < 0.3:  # fan-out: nothing between the copies
        routes = tuple(route for route in routes if clusters[0] in route)
    chances = {"marker": rng.choice((0.0, 0.2)), "behind": rng.choice((0.0, 0.7))}
    chances |= {name: chance() for name in ("resend", "reorder", "drop", "late")}
    chances |= {"malformed": chance() / 5, "echo": chance() / 2, "compacted": chance(), "expired": chance()}
    return World(clusters, producers, routes, steps, **chances)


@dataclass
class _Route:
    """A mirror's place: the next native record to copy, and those it will bring too late."""

    origin: str
    copy: str
    next: int = 0
    held: list[LogRecord] = field(default_factory=list)


@dataclass
class _History:
    """Logs while they are written; None is an offset without a record."""

    world: World
    rng: random.Random
    clock_ms: int = 0
    logs: dict[str, list[LogRecord | None]] = field(default_factory=dict)

    def happens(self, probability: float) -> bool:
        return self.rng.random() < probability

    def append(self, cluster: str, origin: str, origin_offset: int, timestamp_ms: int) -> None:
        log = self.logs[cluster]
        log.append(LogRecord(len(log), origin, origin_offset, timestamp_ms))

    def produce(self, cluster: str) -> None:
        for _ in range(self.rng.randint(1, 5)):
            self.clock_ms += self.rng.randint(0, 2)
            self.append(cluster, cluster, len(self.logs[cluster]), self.clock_ms - self.rng.choice((0, 0, 0, 5)))

    def spoil(self, cluster: str) -> None:
        """Add what is neither produced nor mirrored properly."""
        log = self.logs[cluster]
        if self.happens(self.world.marker):
            log.extend([None] * self.rng.randint(1, 2))
        if self.happens(self.world.malformed):
            # The value in place of the missing offset must not matter: sometimes it looks like a run's continuation.
            self.append(cluster, MALFORMED, self.rng.choice((-1, len(log))), self.clock_ms)
        if log and self.happens(self.world.echo):
            self.append(cluster, cluster, self.rng.randrange(len(log)), self.clock_ms)

    def mirror(self, route: _Route) -> None:
        """Copy the next few native records, in order but for the faults of this world."""
        native = [r for r in self.logs[route.origin] if r and (r.origin, r.origin_offset) == (route.origin, r.offset)]
        if self.happens(self.world.resend):
            route.next = max(0, route.next - self.rng.randint(1, 6))
        end = min(len(native), route.next + self.rng.randint(1, 6))
        wanted = [record for record in native[route.next : end] if not self.happens(self.world.drop / 3)]
        if wanted and self.happens(self.world.late):
            route.held.append(wanted.pop(self.rng.randrange(len(wanted))))
        if self.happens(self.world.reorder):
            self.rng.shuffle(wanted)
        if route.held and self.happens(0.3):
            wanted.append(route.held.pop())
        for record in wanted:
            self.append(route.copy, record.origin, record.origin_offset, record.timestamp_ms)
        route.next = end


def write_logs(world: World, rng: random.Random) -> dict[str, list[LogRecord | None]]:
    """Return what each cluster's partition holds after *world.steps* steps; None where an offset has no record."""
    history = _History(world, rng, logs={cluster: [] for cluster in world.clusters})
    routes = [_Route(*route) for route in world.routes]
    weights = [rng.choice((1, 3, 10)) for _ in routes]  # crossings differ in depth
    for _ in range(world.steps):
        if rng.random() < 0.4:
            history.produce(rng.choice(world.producers))
        else:
            history.mirror(rng.choices(routes, weights)[0])
        history.spoil(rng.choice(world.clusters))
    return history.logs


def observe(cluster: str, log: Sequence[LogRecord | None], world: World, rng: random.Random, *, now_ms: int) -> Log:
    """Return *log* as broker and index show it: thinned out, begun late, expired in front, not read to its end."""
    log_end = len(log)
    thin = rng.random() * 0.5 if rng.random() < world.compacted else 0.0
    indexed_from = rng.randint(0, log_end) if rng.random() < world.expired else 0
    log_start = rng.randint(indexed_from, log_end) if rng.random() < world.expired else indexed_from
    frontier = rng.randint(indexed_from, log_end) if rng.random() < world.behind else log_end
    records = [r for r in log[indexed_from:] if r is not None and rng.random() >= thin]
    indexed_at = _batch_times(len(records), rng, now_ms=now_ms)
    stamped = tuple(replace(record, indexed_at_ms=at) for record, at in zip(records, indexed_at, strict=True))
    return Log(cluster, stamped, log_start, log_end, frontier)


def _batch_times(count: int, rng: random.Random, *, now_ms: int) -> list[int]:
    """Return when each of *count* records was indexed: a few batches, the last one at *now_ms* or before."""
    times = [rng.randint(0, now_ms) for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.9:  # else: indexed by several machines whose clocks differ
        times.sort()
    borders = sorted(rng.randint(0, count) for _ in times[1:])
    lengths = (end - begin for begin, end in zip([0, *borders], [*borders, count], strict=True))
    return [at for at, length in zip(times, lengths, strict=True) for _ in range(length)]


def random_cases(world: World, rng: random.Random, *, now_ms: int = 10) -> Iterator[Case]:
    """Yield one history's questions: every ordered pair of clusters, mirrored into each other or not."""
    written = write_logs(world, rng)
    logs = {name: observe(name, log, world, rng, now_ms=now_ms) for name, log in written.items()}
    grace_ms = rng.randint(0, now_ms + 1)
    for source in world.clusters:
        for target in world.clusters:
            if source != target:
                known = None if rng.random() < world.behind / 5 else logs[source]
                yield Case(source, known, logs[target], now_ms, grace_ms)


class Run(NamedTuple):
    """A stretch in which offset and origin offset grow by one and the origin stays the same."""

    start: int
    length: int
    origin: str
    origin_start: int
    indexed_at_ms: int


class Increment(NamedTuple):
    """What one batch of the indexer adds: runs in offset order, and how far it has read."""

    runs: list[Run]
    frontier: int


def maximal_runs(records: tuple[LogRecord, ...]) -> list[Run]:
    """Return the fewest runs that say the same as *records*, which are in offset order."""
    runs: list[Run] = []
    for record in records:
        if runs and _continues(runs[-1], record):
            runs[-1] = runs[-1]._replace(length=runs[-1].length + 1)
        else:
            runs.append(Run(record.offset, 1, record.origin, record.origin_offset, record.indexed_at_ms))
    return runs


def _continues(run: Run, record: LogRecord) -> bool:
    next_in_run = (run.start + run.length, run.origin, run.origin_start + run.length, run.indexed_at_ms)
    return next_in_run == (record.offset, record.origin, record.origin_offset, record.indexed_at_ms)


def split_at(runs: list[Run], borders: set[int]) -> list[Run]:
    """Return *runs* with a new run beginning at each offset of *borders* that is inside one."""
    pieces: list[Run] = []
    for run in runs:
        cuts = [run.start, *sorted(b for b in borders if run.start < b < run.start + run.length)]
        for cut, end in zip(cuts, [*cuts[1:], run.start + run.length], strict=True):
            pieces.append(run._replace(start=cut, length=end - cut, origin_start=run.origin_start + cut - run.start))
    return pieces


def increments(log: Log, rng: random.Random, *, batches: int = 3, splits: int = 4) -> list[Increment]:
    """Return the indexed part of *log* as up to *batches* batches, with up to *splits* needless borders inside."""
    borders = {rng.randint(0, log.frontier) for _ in range(rng.randint(0, splits))}
    ends = sorted({log.frontier, *(rng.randint(0, log.frontier) for _ in range(rng.randint(0, batches - 1)))})
    runs = split_at(maximal_runs(log.indexed), borders | set(ends))
    starts = [0, *ends[:-1]]
    spans = zip(starts, ends, strict=True)
    return [Increment([run for run in runs if low <= run.start < high], high) for low, high in spans]
