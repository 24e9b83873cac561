"""A group that moves between clusters by read lists, and what it has read by the contents of the logs.

Clusters produce, mirrors copy, drop and send again; the index lags. One driver is sync_offsets, and a command with a
memory of its own moves the group (``fakes/second_writer.py``). Consumers skip as consumer/ does: nothing below the
own commit, nothing by a list that begins above it. A reset is excused until sync_offsets could answer it, and what a
group has committed counts as read, also where it was moved past a hole.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from fakes.clusters import MemoryEnds, MemoryTopic
from fakes.next_driver import begin_again_by_the_tables
from fakes.read_list_site import EPOCH, HOLDS
from fakes.reconciler_site import ORDERS, Site, config_of
from fakes.second_writer import Command
from offset_sync.cutover.crossed import CrossedPartition
from offset_sync.model.values import ClusterPartition
from offset_sync.translate.read_list import decode_read_list
from oracles.translation import Log, LogRecord

GROUP = "readers"
AGED_MS = 100_000
"""Longer than sync.hole_grace."""
REFUSALS = ({HOLDS: "GROUP_AUTHORIZATION_FAILED"}, {GROUP: "COORDINATOR_NOT_AVAILABLE"})


class MovingGroup:
    """One group on one partition; *rng* decides what happens. *is_calm*: nothing is lost, late, refused or reset."""

    def __init__(self, rng: random.Random, aliases: str, *, is_calm: bool) -> None:
        self.rng, self.is_calm, self.home, self.at = rng, is_calm, aliases[0], 0
        self.site = Site(config_of([*aliases], sync={"read_lists": {"groups": [GROUP]}, "refresh_interval": "1h"}))
        for alias in aliases:
            self.site.index.epochs[ClusterPartition(alias, *ORDERS)] = (f"orders at {alias}", EPOCH)
        self.logs: dict[str, list[LogRecord]] = {alias: [] for alias in aliases}
        self.copied = {(a, b): 0 for a in aliases for b in aliases if a != b}
        self.read, self.skipped, self.moves = set[tuple[str, int]](), 0, 0
        self.excused = set[str]()
        self.mirror()
        self.commit()

    def mirror(self, *, is_all: bool = False) -> None:
        """Produce and copy some records, and index most of what there is; or copy and index all."""
        for alias, log in self.logs.items():
            for _ in range(0 if is_all else self.rng.randint(0, 3)):
                self._append(alias, alias, len(log))
        for (source, target), known in self.rng.sample([*self.copied.items()], len(self.copied)):
            natives = [each.origin_offset for each in self.logs[source] if each.origin == source][known:]
            natives = natives if is_all else natives[: self.rng.randint(0, 4)]
            self.copied[source, target] += len(natives)
            for number in natives:
                for _ in range(1 if self.is_calm else self.rng.choices((0, 1, 2), (1, 18, 1))[0]):
                    self._append(target, source, number)
        for alias, log in self.logs.items():
            self._index(alias, log, len(log) - (0 if is_all else self.rng.randint(0, 2)))

    def _append(self, alias: str, origin: str, number: int) -> None:
        self.logs[alias].append(LogRecord(len(self.logs[alias]), origin, number, 0, self.site.clock_ms[0]))

    def _index(self, alias: str, log: Sequence[LogRecord], frontier: int) -> None:
        cluster, known = self.site.clusters[alias], self.site.index.log(alias, *ORDERS)
        low = known.frontier if known is not None else 0
        cluster.topics[ORDERS.topic] = MemoryTopic(f"orders at {alias}")
        cluster.logs[ORDERS] = MemoryEnds(0, len(log))
        self.site.index.ids[alias, ORDERS.topic] = {f"orders at {alias}"}
        self.site.index.extend(Log(alias, tuple(log[low:]), 0, len(log), max(low, frontier)), ORDERS)

    def go_on(self) -> None:
        """Read some records at home, and commit."""
        log, listed = self.logs[self.home], self._skips(self.home)
        end = min(len(log), self.at + self.rng.randint(0, 5))
        self.read |= {_identity(each) for each in log[self.at : end] if each.offset not in listed}
        self.skipped += len(listed & {*range(self.at, end)})
        self.at = end
        self.commit()

    def commit(self) -> None:
        """Commit where the group is."""
        self.read |= {_identity(each) for each in self.logs[self.home][: self.at]}
        self.site.commit(self.home, GROUP, self.at)

    def set_back(self) -> None:
        """Reset the group at home: what is not below its position any more is unread."""
        if self.at and not self.is_calm:
            self.at, log = self.rng.randrange(self.at), self.logs[self.home]
            self.read -= {_identity(each) for each in log[self.at :]}
            self.commit()
            self.excused = {*self.logs}

    def sync(self) -> None:
        """Let sync_offsets do its regular pass twice; then the offsets are right at all clusters."""
        if not self.site.reconcile() and not self.site.reconcile():
            self.excused &= {self.home} if self.site.clusters[self.home].refused else set()
        for alias in self.logs:
            self._skips(alias)

    def refuse(self) -> None:
        """Let a cluster refuse lists, or answers, for a while."""
        cluster = self.site.clusters[self.rng.choice([*self.logs])]
        cluster.refused = {} if self.is_calm else self.rng.choice(REFUSALS)
        self.sync()
        cluster.refused = {}

    def restart(self) -> None:
        """Begin as another sync_offsets."""
        if not self.is_calm:
            self.site.read_all()
            begin_again_by_the_tables(self.site)

    def move(self) -> None:
        """Move the group as ``cutover apply --planned --skip-read`` does; nothing unread is below its start there.

        A group that has not gone back is not set back either, also if it is moved to and fro.
        """
        source, target = self.home, self.rng.choice([alias for alias in self.logs if alias != self.home])
        self.mirror(is_all=self.rng.random() < 0.7)
        self.site.pass_time(AGED_MS)
        self.sync()  # a command waits for no answer of sync_offsets, but it may take its own away: see the other tests
        command = Command(self.site, source, target)
        if self.excused or not _may_move(command.look(), source):
            return
        if self.rng.random() < 0.5:
            self.sync()
        before, answers = self.site.target_offset(target, GROUP) or 0, command.commit()
        held = self.site.target_offset(target, GROUP)
        is_there = all(each.is_done and each.target_offset == held for each in answers)
        if not is_there or any(each.problem(target) for each in command.look()):
            return
        there, below = {_identity(each) for each in self.logs[source]}, self.logs[target][:held]
        unread = [each for each in below if _identity(each) in there - self.read]
        assert not unread, f"from {self.at} at {source} to {held} at {target}: unread {unread}"
        assert not self.is_calm or (held or 0) >= before, f"from {before} back to {held} at {target}"
        command.make_home()
        if self.rng.random() < 0.5:
            self.sync()
        self.home, self.at, self.moves = target, held or 0, self.moves + 1
        self.mirror(is_all=True)  # what was still to come is beyond the list
        listed = self._skips(target)
        twice = [each for each in self.logs[target][self.at :] if self._is_twice(each, listed)]
        assert not self.is_calm or not twice, f"from {held} at {target}, skipping {sorted(listed)}: again {twice}"

    def _is_twice(self, record: LogRecord, listed: set[int]) -> bool:
        return _identity(record) in self.read and record.offset not in listed

    def _skips(self, alias: str) -> set[int]:
        """Return which offsets a consumer that starts at a cluster now would skip, all of which the group has read."""
        own, stands = (
            self.site.target_offset(alias, GROUP),
            self.site.clusters[alias].group_offsets.get((HOLDS, ORDERS)),
        )
        found = decode_read_list(stands.metadata) if stands is not None else None
        if own is None or found is None or own < found.read_list.start or alias in self.excused:
            return set()
        ranges = found.read_list.ranges
        listed = {
            first + n
            for first, length in zip(ranges.start.tolist(), ranges.length.tolist(), strict=True)
            for n in range(length)
        }
        listed = {offset for offset in listed if offset >= own}
        unread = [
            self.logs[alias][each] for each in sorted(listed) if _identity(self.logs[alias][each]) not in self.read
        ]
        assert not unread, f"from {own} at {alias} the list has {sorted(listed)}: unread {unread}"
        return listed


def _identity(record: LogRecord) -> tuple[str, int]:
    return record.origin, record.origin_offset


def _may_move(found: Sequence[CrossedPartition], source: str) -> bool:
    """Without a proof that its consumers skip."""
    reasons = [why.word for each in found for why in each.reasons_to_stay(source, by_lists=True)]
    return bool(found) and not {*reasons} - {"NO_MARK"} and not any(each.missing for each in found)
