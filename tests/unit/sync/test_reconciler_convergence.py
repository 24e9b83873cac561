"""Whatever is done in whatever order: in the end every target holds what brute force says, and no cluster drifts."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from fakes.next_driver import begin_again_by_the_tables
from fakes.reconciler_site import ORDERS, Site, config_of
from generators.hypothesis_strategies import law
from generators.mirrored_logs import World, observe, random_world, write_logs
from offset_sync.model.values import GroupPartition
from oracles.translation import Case, Log, answers

GROUPS = ("a", "b")
METADATA = ("", "", "of a client")
QUIET_PASSES = 4


@dataclass
class Told:
    """What consumers did to one key at one cluster, as an onlooker sees it who knows who writes what."""

    offset: int = -1
    at_ms: int = -1
    rewound_at_ms: int = -1


class Play:
    """Consumers, indexers and the driver at work in random order on one partition of two to four clusters."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        world = replace(random_world(self.rng, steps=self.rng.choice((5, 15, 30))), compacted=0.0, expired=0.0)
        self.logs = self.observed(world)
        self.site = Site(config_of(list(self.logs), sync={"hole_grace": "0s", "refresh_interval": "1h"}))
        for log in self.logs.values():
            self.site.put(replace(log, frontier=0))
        self.told = {(alias, group): Told() for alias in self.logs for group in GROUPS}

    def observed(self, world: World) -> dict[str, Log]:
        written = write_logs(world, self.rng)
        return {
            name: observe(name, log, replace(world, behind=0.0), self.rng, now_ms=10) for name, log in written.items()
        }

    def act(self) -> None:
        alias, group = self.rng.choice(list(self.logs)), self.rng.choice(GROUPS)
        self.rng.choice([self.commit, self.commit, self.index, self.read, self.reconcile, self.crash, self.hush])(
            alias, group
        )

    def commit(self, alias: str, group: str) -> None:
        """Commit anywhere in the log, but not what the driver expects there: it may go over that before it reads it."""
        offset, before = self.rng.randint(0, self.logs[alias].log_end), self.site.target_offset(alias, group)
        told, key = self.told[alias, group], self.site.offsets.ids([GroupPartition(group, *ORDERS)])
        if offset in (before, int(self.site.offsets.clusters[alias].columns["actual_offset"][key[0]])):
            return
        self.site.commit(alias, group, offset, metadata=self.rng.choice(METADATA))
        went_back = before is not None and offset < before
        rewound_at_ms = self.site.clock_ms[0] if went_back else told.rewound_at_ms
        self.told[alias, group] = Told(offset, self.site.clock_ms[0], rewound_at_ms)

    def index(self, alias: str, _group: str) -> None:
        log, place = self.logs[alias], (alias, ORDERS.topic, ORDERS.partition)
        known = self.site.index.logs[place].frontier if place in self.site.index.logs else 0
        self.site.index.extend(replace(log, frontier=self.rng.randint(known, log.log_end)), ORDERS)

    def read(self, alias: str, _group: str) -> None:
        """Read a micro-batch and reconcile it, or only remember it as while starting."""
        self.site.pass_time(1)
        keys = self.site.read(alias, self.rng.randint(1, 3))
        if self.rng.random() < 0.7:
            self.site.reconciler.reconcile_batch(alias, keys, 1)

    def reconcile(self, _alias: str, _group: str) -> None:
        self.site.pass_time(1)
        self.site.reconciler.reconcile_all(is_first=self.rng.random() < 0.2)

    def crash(self, _alias: str, _group: str) -> None:
        """Start another driver, which knows the tables, and reads everything before it reconciles."""
        if self.rng.random() < 0.2:
            begin_again_by_the_tables(self.site)
            self.site.read_all()

    def hush(self, alias: str, _group: str) -> None:
        self.site.clusters[alias].is_down = self.rng.random() < 0.5

    def come_to_rest(self) -> None:
        for alias, log in self.logs.items():
            self.site.clusters[alias].is_down = False
            self.site.index.extend(log, ORDERS)
        for _ in range(QUIET_PASSES):
            assert self.site.reconcile(is_first=True) == []

    def owner(self, group: str) -> str | None:
        owner = max(self.logs, key=lambda alias: self.told[alias, group].at_ms)
        return owner if self.told[owner, group].at_ms >= 0 else None

    def wanted(self, source: str, target: str, group: str) -> int:
        now_ms = self.site.clock_ms[0]
        case = Case(source, self.logs[source], self.logs[target], now_ms, 0)
        return answers(case, [self.told[source, group].offset])[0].clamped_offset

    def wrongs(self) -> list[str]:
        """Return one line for each key that is not where it has to be."""
        keys = [(group, self.owner(group), target) for group in GROUPS for target in self.logs]
        return [
            f"{group} on {target}: {self.site.target_offset(target, group)}, not {self.wanted(source, target, group)}"
            for group, source, target in keys
            if source not in (None, target) and not self.is_right(source, target, group)
        ]

    def is_right(self, source: str, target: str, group: str) -> bool:
        wanted, stands = self.wanted(source, target, group), self.site.target_offset(target, group)
        if stands == wanted:
            return True
        there, here = self.told[target, group], self.told[source, group]
        is_left_alone = stands == there.offset and wanted < there.offset
        return is_left_alone and here.rewound_at_ms <= there.at_ms


@law(160)
@given(seed=st.integers(0, 2**32), actions=st.integers(0, 40))
def test_in_the_end_every_target_holds_what_brute_force_says(seed: int, actions: int) -> None:
    play = Play(seed)
    for _ in range(actions):
        play.act()
    play.come_to_rest()
    assert play.wrongs() == []


@law(50)
@given(seed=st.integers(0, 2**32))
def test_at_rest_nothing_is_written_any_more(seed: int) -> None:
    play = Play(seed)
    for _ in range(20):
        play.act()
    play.come_to_rest()
    logs = {alias: len(cluster.log) for alias, cluster in play.site.clusters.items()}
    for is_first in (False, True, False):
        play.site.reconcile(is_first=is_first)
    assert {alias: len(cluster.log) for alias, cluster in play.site.clusters.items()} == logs
