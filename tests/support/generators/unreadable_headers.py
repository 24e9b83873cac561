"""Histories in which the headers of some copies cannot be read: what each record really is, and what is known of it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from generators.mirrored_logs import observe, random_world, write_logs
from oracles.translation import MALFORMED, Case, Log, LogRecord

Identity = tuple[str, int]


@dataclass(frozen=True)
class Unreadable:
    """*case* is what is known; *identities* are the true ones at each offset, by cluster."""

    case: Case
    identities: Mapping[str, Mapping[int, Identity]]

    def read_again(self, committed: int, first: int) -> int:
        """Return how many of the target's indexed records from *first* on the group has read at the source."""
        source, target = self.case.source_cluster, self.case.target
        here, there = self.identities[source], self.identities[target.cluster]
        read = {identity for offset, identity in here.items() if offset < committed}
        return sum(1 for record in target.indexed if record.offset >= first and there[record.offset] in read)


def unreadable_histories(seed: int) -> Iterator[Unreadable]:
    """Yield one history's questions; nothing was deleted before it was indexed."""
    rng = random.Random(seed)
    world = replace(random_world(rng), expired=0.0, compacted=0.0, malformed=0.0)
    written = write_logs(world, rng)
    share = rng.choice((0.05, 0.2, 0.6, 1.0))
    logs = {name: observe(name, log, world, rng, now_ms=10) for name, log in written.items()}
    spoilt = {name: _spoilt(log, rng, share) for name, log in logs.items()}
    identities = {name: {r.offset: (r.origin, r.origin_offset) for r in log.records} for name, log in logs.items()}
    grace_ms = rng.randint(0, 11)
    for source in world.clusters:
        for target in world.clusters:
            if source != target:
                yield Unreadable(Case(source, spoilt[source], spoilt[target], 10, grace_ms), identities)


def _spoilt(log: Log, rng: random.Random, share: float) -> Log:
    def seen(record: LogRecord) -> LogRecord:
        is_copy = record.origin != log.cluster
        return replace(record, origin=MALFORMED, origin_offset=-1) if is_copy and rng.random() < share else record

    log_start = rng.randint(0, log.log_end) if rng.random() < 0.3 else 0
    return replace(log, records=tuple(seen(record) for record in log.records), log_start=log_start)
