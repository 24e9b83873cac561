"""Looks at everything all the time: reads all logs and all commits, and judges each value that a target was given.

A round judges the values that were read in the round before, after it has read every log of every cluster to the end
that it has now: so whatever a value can rest on is known by then. A cluster that is away puts the judging off.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from chaos.commit_log import TOPIC, Commit, Key, decode_commit
from chaos.contents import Contents, Partition, Reading
from chaos.oracle import Followed
from chaos.tail import Tail
from offset_sync_demo.kafka.clients import Endpoint, Received, list_partitions
from offset_sync_demo.load.records import value_id

_PAUSE_S = 0.5
_ROUND_S = 5.0
Homes = Mapping[str, str]
"""At which cluster each group commits; at all others only the sync does."""


class Observer:
    """Judges the groups of *homes*; *is_own* says whether a group has tried to commit an offset at home."""

    def __init__(
        self,
        clusters: Mapping[str, Endpoint],
        topics: Sequence[str],
        homes: Homes,
        is_own: Callable[[Key, int], bool],
        say: Callable[[str], None],
    ) -> None:
        self.contents, self._homes, self._is_own, self._say = Contents(), homes, is_own, say
        self.commits: defaultdict[tuple[str, Key], list[Commit]] = defaultdict(list)
        self.violations: list[str] = []
        self.judged = self.rounds = self.put_off = 0
        self.put_off_because: dict[str, str] = {}
        self._followed: dict[tuple[str, Key], Followed] = {}
        self._waiting: list[tuple[str, Commit]] = []
        self._readings: dict[tuple[str, str, Partition], Reading] = {}  # of the round in hand
        self._ends, self._thread = threading.Event(), threading.Thread(target=self._run, name="observer", daemon=True)
        self._tails = {
            alias: Tail(cluster, list_partitions(cluster, [*topics, TOPIC]), partial(self._take, alias))
            for alias, cluster in clusters.items()
        }
        self._lock = threading.Lock()

    def start(self) -> None:
        """Observe until stopped."""
        self._thread.start()

    def stop(self) -> None:
        """End, after the round in hand."""
        self._ends.set()
        self._thread.join()

    def look(self) -> bool:
        """Go through one round; return whether everything that had come by its begin is judged."""
        with self._lock:
            values, self._waiting = self._waiting, []
            # All ends are requested before any log is read: no value is judged by less than its log at that time.
            ends = {alias: tail.ends() for alias, tail in self._tails.items()}
            is_read = [wanted is not None and self._tails[a].read_to(wanted, _ROUND_S) for a, wanted in ends.items()]
            if not all(is_read):
                self._waiting = values + self._waiting
                self.put_off += 1
                self.put_off_because = {alias: tail.last_error for alias, tail in self._tails.items()}
                return False
            self.put_off_because = {}
            self._readings.clear()
            for alias, value in values:
                self._judge(alias, value)
            self.rounds += 1
            return True

    def settle(self, seconds: float) -> bool:
        """Look until nothing waits to be judged any more; return whether it came to that."""
        until = time.monotonic() + seconds
        while not (self.look() and not self._waiting):
            if time.monotonic() > until:
                return False
        return True

    def last(self, alias: str, key: Key) -> int | None:
        """Return what a group has at a cluster by the log."""
        values = self.commits[alias, key]
        return values[-1].offset if values else None

    def exact(self, key: Key, target: str) -> int | None:
        """Return what it has to have at *target* once all is quiet; None for what it never committed."""
        home = self._homes[key.group]
        offset = self.last(home, key)
        if offset is None:
            return None
        return int(self.contents.reading(home, target, key.place).exact([offset])[0])

    def _run(self) -> None:
        while not self._ends.wait(_PAUSE_S):
            self.look()

    def _take(self, alias: str, message: Received) -> None:
        place: Partition = (message.topic(), message.partition())
        if message.topic() != TOPIC:
            self.contents.log(alias, place).add(message.offset(), value_id(message.value() or b""))
            return
        commit = decode_commit(message.key() or b"\xff\xff", message.value(), message.timestamp()[1])
        if commit is None or commit.key.group not in self._homes:
            return
        self.commits[alias, commit.key].append(commit)
        if alias != self._homes[commit.key.group] and commit.offset is not None:
            self._waiting.append((alias, commit))
        elif commit.offset is not None and not self._is_own(commit.key, commit.offset):
            self._found(f"{commit.key} at {alias}: {commit.offset} was written over the group's own commit", [])

    def _judge(self, target: str, value: Commit) -> None:
        home = self._homes[value.key.group]
        topic, partition = value.key.place
        name = f"{value.key.group} {topic}-{partition}, {home} to {target}"
        followed = self._followed.setdefault((target, value.key), Followed(name))
        where = (home, target, value.key.place)
        if (reading := self._readings.get(where)) is None:
            reading = self._readings[where] = self.contents.reading(*where)
        problem = followed.judge(value, self.commits[home, value.key], reading)
        self.judged += 1
        if problem is None and value.offset > self.contents.log(target, value.key.place).read_to:
            problem = f"{name}: {value.offset} is beyond the end of the log"
        if problem is not None:
            self._found(problem, followed.history)

    def _found(self, problem: str, history: Sequence[str]) -> None:
        self.violations.append("\n".join([problem, *(f"    {line}" for line in history)]))
        self._say(f"VIOLATION {self.violations[-1]}")
