"""Groups that commit at home without members: at the end, behind it, seldom, and with rewinds."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from confluent_kafka import Consumer, KafkaException, TopicPartition

from chaos.commit_log import Key
from offset_sync.model.errors import ClusterError
from offset_sync_demo.kafka.clients import CLIENT_ERRORS, Endpoint, Partition, client_options

KINDS = ("tail", "half", "seldom", "rewound")
_ASK_S, _BEGIN_S = 3.0, 120.0
_TICK_S = 0.25
EndOf = Callable[[str, Partition], int]


def homes(aliases: Iterable[str]) -> dict[str, str]:
    """Return at which cluster each group commits: one of each kind at each."""
    return {f"{kind}-{alias}": alias for alias in aliases for kind in KINDS}


class Groups:
    """The groups of *homes*, which commit all *places*; a thread for each cluster, so none waits for another's outage.

    *end_of* says how far a log at a cluster is known to reach. Random numbers come from *seed*.
    """

    def __init__(
        self, clusters: Mapping[str, Endpoint], homes: Mapping[str, str], places: Sequence[Partition], seed: int
    ) -> None:
        self.homes, self._places = dict(homes), list(places)
        self.tried: dict[Key, set[int]] = {}
        self.commits = self.rewinds = self.refused = 0
        self._position: dict[Key, int] = {}
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._chance = {alias: random.Random(f"{seed} {alias}") for alias in clusters}
        self._clients = {
            (group, alias): _client(cluster, group) for group in homes for alias, cluster in clusters.items()
        }

    def begin(self) -> None:
        """Commit 0 everywhere, before anything goes wrong; a cluster that is new makes its coordinators first."""
        until, start = time.monotonic() + _BEGIN_S, dict.fromkeys(self._places, 0)
        for group, home in self.homes.items():
            while self.held(group, home) != start:
                if time.monotonic() > until:
                    raise ClusterError(home, f"{group} could not commit; see broker.log")
                self._commit(group, start)
        while any(self.held(*each) is None for each in self._clients):
            time.sleep(0.2)

    def start(self, end_of: EndOf) -> None:
        """Commit until stopped."""
        for alias in self._chance:
            self._threads.append(threading.Thread(target=self._run, args=(alias, end_of), daemon=True))
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Commit no more."""
        self._stopping.set()
        for thread in self._threads:
            thread.join(60.0)

    def is_own(self, key: Key, offset: int) -> bool:
        """Return whether the group has tried to commit this at home."""
        return offset in self.tried.get(key, ())

    def held(self, group: str, alias: str) -> dict[Partition, int] | None:
        """Return the offset that the coordinator holds now; None if it does not answer."""
        client = self._clients[group, alias]
        try:
            found = client.committed([TopicPartition(*place) for place in self._places], _ASK_S)
        except CLIENT_ERRORS:
            return None
        if any(each.error for each in found):
            return None
        return {(each.topic, each.partition): each.offset for each in found if each.offset >= 0}

    def _run(self, alias: str, end_of: EndOf) -> None:
        chance, mine = self._chance[alias], [group for group, home in self.homes.items() if home == alias]
        while not self._stopping.wait(_TICK_S):
            group = chance.choice(mine)
            ends = {place: end_of(alias, place) for place in self._places}
            if wanted := self._wanted(group, ends, chance):
                self._commit(group, wanted)

    def _wanted(self, group: str, ends: Mapping[Partition, int], chance: random.Random) -> dict[Partition, int]:
        kind = group.partition("-")[0]
        if kind == "tail":
            return {place: max(self._at(group, place), end - chance.randrange(3)) for place, end in ends.items()}
        if kind == "half":
            return {place: max(self._at(group, place), end // 2) for place, end in ends.items()}
        if kind == "seldom" and chance.random() < 0.9:
            return {}
        place = chance.choice(self._places)
        at, end = self._at(group, place), ends[place]
        if kind == "rewound" and chance.random() < 0.2:
            self.rewinds += 1
            return {place: chance.randrange(int(at * 0.7) + 1)}
        return {place: min(end, at + chance.randrange(1, 2 + max(1, end - at)))}

    def _at(self, group: str, place: Partition) -> int:
        return self._position.get(Key(group, place), 0)

    def _commit(self, group: str, offsets: Mapping[Partition, int]) -> None:
        """Try to commit; a commit without an answer may have been written all the same."""
        for place, offset in offsets.items():
            self.tried.setdefault(Key(group, place), set()).add(offset)
            self._position[Key(group, place)] = offset
        try:
            wanted = [TopicPartition(*place, offset) for place, offset in offsets.items()]
            self._clients[group, self.homes[group]].commit(offsets=wanted, asynchronous=False)
            self.commits += len(offsets)
        except KafkaException:
            self.refused += len(offsets)


def _client(cluster: Endpoint, group: str) -> Consumer:
    options = client_options(
        cluster.bootstrap_servers, group_id=group, enable_auto_commit=False, socket_timeout_ms=6000
    )
    return Consumer(options)
