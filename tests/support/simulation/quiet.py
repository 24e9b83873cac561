"""After quiet all has been mirrored, indexed, read and reconciled: targets are exact, lists have no unread record.

A group that moves now reads nothing twice, but where it has no offset: its consumers take no list there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from offset_sync.model.values import State, TopicPartition
from simulation.knowledge import UNCERTAIN_MS, Home
from simulation.logs import Position, SimRecord
from simulation.operators import widen
from simulation.oracle import NEVER, Violation
from simulation.skipping import is_skipped, list_at, list_group
from simulation.world import GRACE_MS

if TYPE_CHECKING:
    from simulation.simulation import Simulation


_ENOUGH = 1_000
_WITHHELD_FOREVER = (State.TOPIC_RECREATED, State.LOG_TRUNCATED)


def come_to_rest(simulation: Simulation) -> None:
    """Stop all consumers and let mirrors and jobs do the rest; the promise is checked after every step of theirs."""
    world, driver = simulation.world, simulation.driver
    for group in simulation.groups.values():
        group.stop()
    for cluster in world.clusters.values():
        cluster.is_down = cluster.is_closed = False
        cluster.list_fault = ""
        cluster.forbidden.clear()
        widen(world, cluster.alias)
    simulation.tables.is_unreadable = False
    world.unasked.clear()
    if world.excluded or simulation.persisted.is_held_back:
        world.excluded.clear()
        simulation.persisted.is_held_back = False
        driver.restart()
    for mirror in simulation.mirrors.values():
        mirror.copy_some(_ENOUGH, "", 0)
        mirror.bring_held(world.clock_ms[0] + GRACE_MS)
    simulation.oracle.check_touched()
    loses_commits = "shrink" in world.shape.faults
    for cluster in world.clusters.values() if loses_commits else ():
        cluster.say_nothing()
    for wait_ms in (1, GRACE_MS + 1, world.shape.silence_ms + 1, 20_000, 20_000, 20_000):
        world.clock_ms[0] += wait_ms
        for alias, cluster in world.clusters.items():
            if loses_commits and simulation.persisted.of[alias].position.get(0, 0) == len(cluster.log):
                cluster.say_nothing()  # else it is not looked at
        for indexer in simulation.indexers.values():
            indexer.run(_ENOUGH)
            indexer.run(_ENOUGH)
        for alias in [*world.clusters] * 2:
            driver.sync(alias, _ENOUGH)
        driver.grown()
        driver.full()
        simulation.oracle.check_touched()


class ListChecks:
    """Checks the lists of a *simulation*."""

    def __init__(self, simulation: Simulation) -> None:
        self.world, self.shape, self.driver = simulation.world, simulation.shape, simulation.driver
        self.oracle, self.persisted = simulation.oracle, simulation.persisted

    def check_lists(self, group: str, place: TopicPartition) -> None:
        """Raise Violation where a list is not right."""
        memory = self.world.memory
        memory.heed((group, place), self.world.clusters, self.world.clock_ms[0])
        for alias in self.world.clusters:
            memory.check_list(Position(alias, group, place))

    def check_whole(self, source: Position, where: Position) -> None:
        """Raise Violation where a group at home at the source would read anything twice that both indexes know."""
        world, stands, value = self.world, self.world.values.get(source), self.world.values.get(where)
        if stands is None or stands.is_ours or value is None or self._is_unclear(source, where):
            return
        if not value.is_ours or not self.persisted.is_last_ours(where):
            return  # a driver that died may leave a write that counts as the group's
        log, found = world.logs[where.of_log], list_at(world, where)
        for offset in range(max(value.offset, log.start), log.end):
            record = log.entries[offset]
            is_known = log.known >> offset & 1 and not is_skipped(world, where, found, offset)
            if record is None or record.is_odd or not is_known:
                continue
            if self.oracle.stands_at(source, record.number) < stands.offset:
                raise Violation("repeated", f"{source} moves to {where}: record {record.number} is read again")

    def _is_unclear(self, source: Position, where: Position) -> bool:
        """Return whether the sync may not know all commits of a group, or its present list."""
        world, (alias, group, place) = self.world, source
        elsewhere = [source._replace(cluster=alias) for alias in world.clusters]
        # A list that we have written is no longer there: the sync reads lists only at a start.
        target, of_list = world.clusters[where.cluster], (list_group(group), place)
        stands = target.group_offsets.get(of_list)
        is_lost = of_list in target.lists and (stands is None or stands.metadata != target.lists[of_list])
        if source not in world.genuine or world.is_index_lacking or not world.gone.isdisjoint(elsewhere) or is_lost:
            return True
        # A commit of the group that was taken for ours does not count as its last word. And a poll that finds the value
        # which we wrote does not tell that the group has committed it since.
        stood = [each for cluster in world.clusters.values() for each in cluster.stood if each.where in elsewhere]
        last = [each for each in stood if each.where == source][-1:]
        is_missed = alias in world.polled and not all(each.is_polled for each in last)
        if is_missed or any(each.is_taken_for_ours for each in stood):
            return True
        # ``cutover`` may have moved the group here after its last commit: a list comes with its next one.
        moves = self.driver.knowledge.moved.get((group, place.topic), [])
        said_ms, _ = self.driver.knowledge.last.get((alias, group, *place), (0, 0))
        was_moved = any(each.cluster == alias and said_ms <= each.at_ms + UNCERTAIN_MS for each in moves)
        return was_moved or self._is_back_elsewhere(source)

    def _is_back_elsewhere(self, source: Position) -> bool:
        """Return whether the driver takes something for a step back elsewhere since the group's last word at home."""
        offsets = self.driver.state.offsets
        (row,) = offsets.ids([source.key]).tolist()
        said_ms = int(offsets.clusters[source.cluster].earliest_ms("genuine", np.array([row]))[0])
        near_ms = max(UNCERTAIN_MS, 2 * max(map(self.driver.knowledge.uncertain_ms, offsets.clusters)))
        others = [each for alias, each in offsets.clusters.items() if alias != source.cluster]
        return any(0 <= each.columns["rewound_ms"][row] >= said_ms - near_ms for each in others)


class Quiet(ListChecks):
    """Raises Violation where a target does not hold what it should."""

    def check(self) -> None:
        """Check every group: one of its possible homes has to explain what is there."""
        for group in self.shape.groups:
            for place in self.shape.places:
                homes, found = self.driver.knowledge.homes(group, place.topic, self.driver.now_ms()), list[Violation]()
                for home in sorted(homes, key=repr):
                    try:
                        self._check_home(home, group, place)
                    except Violation as problem:
                        found.append(problem)
                if len(found) == len(homes):
                    raise found[0]
                if group in self.shape.listed:
                    self.check_lists(group, place)

    def _check_home(self, home: Home, group: str, place: TopicPartition) -> None:
        world = self.world
        if home.cluster is None:
            return
        source = Position(home.cluster, group, place)
        is_unknown = source in world.deleted or source in world.raced or source.of_group in world.unheard
        held = self._held(source) or world.genuine.get(source)
        if is_unknown or world.clusters[home.cluster].holds_older(source) or held is None:
            return
        for target in world.shape.clusters:
            if target == home.cluster:
                continue
            state = self._state_of(source, target)
            if not home.is_contested:
                self._check_target(source, held.offset, target, state)
            elif state is not State.COMMITTED_AT_BOTH and (state is None or not state.is_withheld):
                raise Violation("not contested", f"{source} at {target}: {state}")

    def _check_target(self, source: Position, offset: int, target: str, state: State | None) -> None:
        world, where = self.world, source._replace(cluster=target)
        value = world.values.get(where)
        if state is not None and state.is_withheld:
            if not self._is_reason(source, offset, target, state):
                raise Violation("withheld", f"{source} at {offset} is withheld at {target}: {state} does not hold")
            return
        if source.of_group in world.inexact or where in world.hidden:
            return
        exact = self.oracle.exact(source, offset, target)
        if not self._is_right(source, where, value, exact):
            raise Violation("not exact", f"{source} at {offset}: {value} at {target}, exact is {exact} ({state})")
        if source.group in self.shape.listed:
            self.check_whole(source, where)

    def _is_right(self, source: Position, where: Position, value: SimRecord | None, exact: int) -> bool:
        held = self._held(source)
        is_home_ours = held is not None and (held.is_ours or self._is_taken_for_ours(source, held.true_ms))
        if value is None:  # what we wrote at the home's log start begins nothing
            return is_home_ours and held is not None and held.offset <= self.world.logs[source.of_log].start
        is_ours = value.is_ours and self.persisted.is_last_ours(where)
        # Missing records are unread by all groups, and strategies answer earlier than necessary.
        if self.world.is_index_lacking or "by_header" in self.shape.faults:
            return value.offset <= exact or not is_ours
        if value.offset > exact:
            return not is_ours and not self._is_back_since(source, where, value)
        if value.offset < exact:  # what we wrote at the home raises nothing
            # Of a driver beside, or of one that died before anything was indexed: it may stay. Where polls leave the
            # order open that of any driver that died. So may ours where the group's equal commit was taken for it.
            is_any = not self.shape.faults.isdisjoint({"second", "polls"}) or value.offset == 0
            is_any |= where in self.world.swapped
            is_groups = not value.is_ours or (not is_ours and is_any)
            return is_home_ours or (is_groups and held is not None and self._is_newer(held, value))
        return True

    def _is_back_since(self, source: Position, where: Position, value: SimRecord) -> bool:
        """Return whether the group has gone back after that value: another client's is only set forward else."""
        rewound_ms = self.world.rewound_ms.get(source, -1)
        # Polls that leave the order open are no excuse: what may have gone back since is set back.
        missed_ms = sum(self._missed_ms(*each, polls=False) for each in ((source, rewound_ms), (where, value.true_ms)))
        return rewound_ms > value.true_ms + missed_ms and not self._is_taken_for_ours(source, rewound_ms)

    def _is_newer(self, held: SimRecord, value: SimRecord) -> bool:
        """Return whether what the group said last at the target may be newer than what its home holds: it stays."""
        missed_ms = self._missed_ms(held.where, held.true_ms) + self._missed_ms(value.where, value.true_ms)
        return value.true_ms > held.true_ms - missed_ms

    def _held(self, where: Position) -> SimRecord | None:
        return self.world.values.get(where, self.world.hidden.get(where))

    def _missed_ms(self, where: Position, true_ms: int, *, polls: bool = True) -> int:
        """Return by how much the time of a commit was missed, by *polls* too: unknown if none of them has found it."""
        unknown = NEVER if "polls" in self.shape.faults else 0
        found = [each for each in self._made_at(where, true_ms) if polls or not each.is_polled]
        return max((unknown if each.error_ms is None else each.error_ms for each in found), default=0)

    def _is_taken_for_ours(self, where: Position, true_ms: int) -> bool:
        """Return whether a commit of a group was taken for ours: so it does not count as one that goes back."""
        return any(each.is_taken_for_ours for each in self._made_at(where, true_ms))

    def _made_at(self, where: Position, true_ms: int) -> list[SimRecord]:
        stood = self.world.clusters[where.cluster].stood
        return [each for each in stood if each.where == where and each.true_ms == true_ms]

    def _state_of(self, source: Position, target: str) -> State | None:
        state, key = self.driver.state, source.key
        if key not in state.offsets.keys:
            return None
        code = int(state.last(source.cluster, target).columns["state"][state.offsets.keys.index(key)])
        return State(code) if code >= 0 else None

    def _is_reason(self, source: Position, offset: int, target: str, state: State) -> bool:
        world = self.world
        if state in (State.STRATEGY_REFUSED, State.NO_REFERENCE):
            return "by_header" in self.shape.faults
        if state is State.NOT_INDEXED:
            return "late_index" in self.shape.faults or world.is_index_lacking
        if state is State.TOPIC_MISSING:
            return any(source.place.topic not in world.clusters[alias].partitions for alias in (source.cluster, target))
        if state is State.COMMIT_BEYOND_END:
            return offset > world.logs[source.of_log].end
        # A copy read once more after its original was cut is told apart from what it was: it contradicts itself.
        aliases = world.clusters if world.is_index_lacking else (source.cluster, target)
        return state in _WITHHELD_FOREVER and any(world.logs[alias, source.place].life for alias in aliases)
