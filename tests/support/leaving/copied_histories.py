"""Random histories of :class:`CopiedClusters`, judged by the contents of records."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping

from leaving.copied_clusters import PLACE, CopiedClusters
from leaving.copied_log import Content
from offset_sync.model.values import ClusterPartition, State

OFTEN = {"produce": 10.0, "link": 14.0, "index": 16.0, "due": 5.0, "silence": 2.0, "answer": 4.0}
SELDOM = {"restart_index": 1.5, "restart_sync": 1.5, "repeat": 1.0, "delete": 1.0, "compact": 1.0}
LIVES = {"cut": 0.8, "recreate": 0.4}
STRATEGIES = ("identity", "exact", "timestamp", "header")


class CopiedHistory:
    """What happens by *chance*, each act as often as its *weights* say; *history* tells it."""

    def __init__(self, seed: int, weights: Mapping[str, float], times: int = 1) -> None:
        self.chance = random.Random(seed)
        upstream = {"dc1": None, "dc2": "dc1", "dc3": self.chance.choice(["dc1", "dc2"])}
        self.world, self.weights = CopiedClusters(self.chance, times, upstream), weights
        self.history: list[str] = []
        self.told: Counter[str] = Counter()
        for alias in upstream:  # so each log is known before anything happens to it
            self.world.index(alias)

    def go(self, steps: int = 60) -> list[str]:
        """Let things happen; return the answers that skip what the group has not read."""
        wrong: list[str] = []
        for _ in range(steps):
            act = self.chance.choices(list(self.weights), list(self.weights.values()))[0]
            alias = self.chance.choice(sorted(self.world.logs))
            self.history.append(f"{act} {alias}")
            getattr(self, f"_{act}")(alias)
            if self.chance.random() < 0.35:
                wrong += self._ask()
        return wrong

    def _is_writable(self, alias: str) -> bool:
        return self.world.upstream[alias] is None and alias not in self.world.down

    def _produce(self, alias: str) -> None:
        if self._is_writable(alias):
            self.world.produce(alias, self.chance.randrange(1, 4))

    def _link(self, alias: str) -> None:
        self.world.link(alias, self.chance.randrange(1, 5))

    def _index(self, alias: str) -> None:
        self.world.index(alias, self.chance.choice([1, 3, 100]))

    def _due(self, alias: str) -> None:
        self.world.index(alias, self.chance.choice([1, 3, 100]), is_due=True)

    def _silence(self, alias: str) -> None:
        self.world.down.add(alias)

    def _answer(self, _alias: str) -> None:
        if self.world.down:
            self.world.down.discard(self.chance.choice(sorted(self.world.down)))

    def _restart_index(self, _alias: str) -> None:
        self.world.restart_index()

    def _restart_sync(self, _alias: str) -> None:
        self.world.restart_sync()

    def _repeat(self, alias: str) -> None:
        self.world.repeat(alias)

    def _delete(self, alias: str) -> None:
        log = self.world.logs[alias]
        log.delete(self.chance.randrange(log.start, log.end + 1))

    def _compact(self, alias: str) -> None:
        if records := self.world.logs[alias].records:
            del records[self.chance.choice(sorted(records))]

    def _cut(self, alias: str) -> None:
        if self._is_writable(alias):
            log = self.world.logs[alias]
            log.cut(self.chance.randrange(log.start, log.end + 1))

    def _recreate(self, alias: str) -> None:
        if alias not in self.world.down:
            self.world.recreate(alias)

    def _promote(self, alias: str) -> None:
        self.world.upstream[alias] = None

    def _relink(self, alias: str) -> None:
        if alias != self.world.origin and self._is_writable(alias):
            self.world.upstream[alias] = self.world.origin
            self._restore(alias)

    def _configure(self, _alias: str) -> None:
        self.world.configure(self.chance.choice(STRATEGIES), self.world.origin)

    def _restore(self, alias: str) -> None:
        differs, log = self.world.differs_at(alias), self.world.logs[alias]
        if differs is not None and differs >= log.start:
            log.cut(differs)
        elif differs is not None:
            self.world.recreate(alias)

    def _ask(self) -> list[str]:
        world = self.world
        source, target = self.chance.sample(sorted(world.logs), 2)
        log, there = world.logs[source], dict(world.logs[target].records)
        if source in world.down:  # an incarnation that began and ended between two looks stays unknown
            world.state.index.refresh()
            known = world.state.index.leader_epoch(ClusterPartition(source, *PLACE))
            if known != (log.topic_id, log.epoch_starts[-1][0]):
                return []
        commits = sorted({self.chance.randrange(log.end + 1) for _ in range(3)} | {log.end})
        ever = [*log.ever.items(), *log.lacking.items()]
        answers, wrong = world.answers(source, target, commits), list[str]()
        for commit, wanted, state in zip(commits, answers.wanted.tolist(), answers.state.tolist()):
            self.told[State(state).name] += 1
            read = {record for offset, record in ever if offset < commit}
            before = [offset for offset, record in there.items() if offset < wanted and record not in read]
            now = world.logs[target].records.items()
            if before and any(offset < wanted and record not in read for offset, record in now):
                wrong.append(f"{source} {commit} is {wanted} at {target} ({State(state).name}), skips {before}")
        return wrong

    def heal(self) -> list[str]:
        """Have all copies be such again and be indexed; return what is withheld or wrong at the ends of the logs."""
        world = self.world
        world.is_quiet, world.down = True, set()
        for alias in sorted(world.logs):
            world.upstream[alias] = None if alias == world.origin else world.origin
            if alias != world.origin:
                self._restore(alias)
        for _ in range(4):
            for alias in sorted(world.logs) * 2:
                world.index(alias, is_due=True)
            world.produce(world.origin, 3)
            world.numbers += 1
            world.logs[world.origin].append(world.logs[world.origin].end, Content(world.numbers, world.numbers))
            for alias in sorted(world.logs):
                world.link(alias, 1 << 30)
        for alias in sorted(world.logs) * 2:
            world.index(alias, is_due=True)
        pairs = [(source, target) for source in world.logs for target in world.logs if source != target]
        end = world.logs[world.origin].end
        found = {pair: world.answers(*pair, [end]) for pair in pairs}
        return [
            f"{pair} {end}: {answers.wanted[0]} {State(int(answers.state[0])).name}"
            for pair, answers in found.items()
            if int(answers.wanted[0]) != end
        ]
