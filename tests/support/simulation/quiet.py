"""After quiet: everything has been mirrored, indexed, read and reconciled, and each target holds the exact answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from offset_sync.model.values import GroupPartition, State, TopicPartition
from simulation.job_actions import widen
from simulation.knowledge import Home
from simulation.list_checks import check_lists, check_whole
from simulation.oracle import NEVER, Violation
from simulation.world import GRACE_MS, Position, Value, World

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
    world.polls.unasked.clear()
    if world.polls.excluded or simulation.persisted.is_held_back:
        world.polls.excluded.clear()
        simulation.persisted.is_held_back = False
        driver.restart()
    for mirror in simulation.mirrors.values():
        mirror.copy_some(_ENOUGH, "", 0)
        mirror.bring_held(world.clock_ms[0] + GRACE_MS)
    simulation.oracle.check_touched()
    if "shrink" in world.shape.faults:
        for cluster in world.clusters.values():
            cluster.say_nothing()
    for wait_ms in (1, GRACE_MS + 1, world.shape.silence_ms + 1, 20_000, 20_000, 20_000):
        world.clock_ms[0] += wait_ms
        for alias, cluster in world.clusters.items():
            if "shrink" in world.shape.faults and simulation.persisted.is_as_long_as_read(alias, len(cluster.log)):
                cluster.say_nothing()  # else it is not looked at
        for indexer in simulation.indexers.values():
            indexer.run(_ENOUGH)
            indexer.run(_ENOUGH)
        for _ in range(2):
            for alias in world.clusters:
                driver.sync(alias, _ENOUGH)
        driver.grown()
        driver.full()
        simulation.oracle.check_touched()


def check_quiet(simulation: Simulation) -> None:
    """Raise Violation where a target does not hold what it should."""
    world, driver = simulation.world, simulation.driver
    for group in world.shape.groups:
        for place in world.shape.places:
            found: list[Violation] = []
            homes = driver.knowledge.homes(group, place.topic, driver.now_ms())
            for home in sorted(homes, key=repr):
                try:
                    _check_home(simulation, home, group, place)
                except Violation as problem:
                    found.append(problem)
            if len(found) == len(homes):
                raise found[0]
            if group in world.shape.listed:
                check_lists(simulation, group, place)


def _check_home(simulation: Simulation, home: Home, group: str, place: TopicPartition) -> None:
    world = simulation.world
    if home.cluster is None:
        return
    source = Position(home.cluster, group, place)
    if world.deleted.get(source) or source in world.raced or (group, place) in world.unheard:
        return
    if world.clusters[home.cluster].holds_older(source):
        return
    value, genuine = world.values.get(source, world.hidden.get(source)), world.genuine.get(source)
    offset = value.offset if value is not None else genuine.offset if genuine is not None else None
    for target in world.shape.clusters:
        if target == home.cluster or offset is None:
            continue
        state = _state_of(simulation, source, target)
        if home.is_contested:
            if state is not State.COMMITTED_AT_BOTH and (state is None or not state.is_withheld):
                raise Violation("not contested", f"{source} at {target}: {state}")
        else:
            _check_target(simulation, source, offset, target, state)


def _check_target(simulation: Simulation, source: Position, offset: int, target: str, state: State | None) -> None:
    world = simulation.world
    where = source._replace(cluster=target)
    value = world.values.get(where)
    if state is not None and state.is_withheld:
        if not _is_reason(simulation, source, offset, target, state):
            raise Violation(
                "withheld", f"{source} at {offset} is withheld at {target} for {state}, which does not hold"
            )
        return
    if (source.group, source.place) in world.inexact or where in world.hidden:
        return
    exact = simulation.oracle.exact(source, offset, target)
    if not _is_right(simulation, source, where, value, exact):
        whose = "ours" if value and value.is_ours else "the group's"
        stands = f"{value.offset}, {whose}" if value else "nothing"
        raise Violation("not exact", f"{source} at {offset}: {target} holds {stands}, exact is {exact} ({state})")
    if source.group in world.shape.listed:
        check_whole(simulation, source, target)


def _is_right(simulation: Simulation, source: Position, where: Position, value: Value | None, exact: int) -> bool:
    if value is None:  # what we wrote at the home's log start begins nothing
        return _is_home_ours(simulation, source) and _is_at_log_start(simulation, source)
    key = GroupPartition(where.group, *where.place)
    is_ours = value.is_ours and simulation.persisted.told.get((where.cluster, key), True)
    # Missing records are unread by all groups, and strategies answer earlier than necessary.
    if simulation.world.is_index_lacking or "by_header" in simulation.shape.faults:
        return value.offset <= exact or not is_ours
    rewound_ms = simulation.world.rewound_ms.get(source, -1)
    # Polls that leave the order open are no excuse: what may have gone back since is set back.
    missed_ms = _missed_ms(simulation, source, rewound_ms, polls=False)
    missed_ms += _missed_ms(simulation, where, value.true_ms, polls=False)
    is_clear = abs(rewound_ms - value.true_ms) > missed_ms and not _is_taken_for_ours(simulation, source, rewound_ms)
    if value.offset > exact and (is_ours or (rewound_ms > value.true_ms and is_clear)):
        return False
    if value.offset < exact:  # what we wrote at the home raises nothing
        # Of a driver beside, or of one that died before anything was indexed: it may stay. Where polls leave the order
        # open that of any driver that died.
        is_left = not is_ours and (not simulation.shape.faults.isdisjoint({"second", "polls"}) or value.offset == 0)
        is_groups = is_left or not value.is_ours
        return (is_groups and _is_newer(simulation, source, where, value)) or _is_home_ours(simulation, source)
    return True  # another client's is only set forward


def _is_newer(simulation: Simulation, source: Position, where: Position, value: Value) -> bool:
    """Return whether what the group said last at the target may be newer than what its home holds: then it stays."""
    held = _held(simulation, source)
    if held is None:
        return False
    missed_ms = _missed_ms(simulation, source, held.true_ms) + _missed_ms(simulation, where, value.true_ms)
    return value.true_ms > held.true_ms - missed_ms


def _is_home_ours(simulation: Simulation, source: Position) -> bool:
    """Return whether the home holds what we wrote, or what was taken for it."""
    held = _held(simulation, source)
    return held is not None and (held.is_ours or _is_taken_for_ours(simulation, source, held.true_ms))


def _is_at_log_start(simulation: Simulation, source: Position) -> bool:
    held = _held(simulation, source)
    return held is not None and held.offset <= simulation.world.logs[source.cluster, source.place].start


def _held(simulation: Simulation, source: Position) -> Value | None:
    return simulation.world.values.get(source, simulation.world.hidden.get(source))


def _missed_ms(simulation: Simulation, where: Position, true_ms: int, *, polls: bool = True) -> int:
    """Return by how much the time of a commit was missed; of one that no poll has found it is unknown.

    Without *polls* the times between two of them do not count as missed.
    """
    world, unknown = simulation.world, NEVER if "polls" in simulation.shape.faults else 0
    places = [each for each in _places_of(world, where, true_ms) if polls or each not in world.polls.found]
    return max((world.made_error.get(each, unknown) for each in places), default=0)


def _is_taken_for_ours(simulation: Simulation, where: Position, true_ms: int) -> bool:
    """Return whether a commit of a group was taken for ours: so it does not count as one that goes back."""
    world = simulation.world
    return not world.taken_for_ours.isdisjoint(_places_of(world, where, true_ms))


def _places_of(world: World, where: Position, true_ms: int) -> list[tuple[str, int, int]]:
    stood = [each for each in world.clusters[where.cluster].stood if (each.where, each.true_ms) == (where, true_ms)]
    return [(where.cluster, each.log_partition, each.log_offset) for each in stood]


def _state_of(simulation: Simulation, source: Position, target: str) -> State | None:
    """Return what the sync says of a key."""
    state = simulation.driver.state
    for row, key in enumerate(state.offsets.keys):
        if key == (source.group, *source.place):
            code = int(state.last(source.cluster, target).columns["state"][row])
            return State(code) if code >= 0 else None
    return None


def _is_reason(simulation: Simulation, source: Position, offset: int, target: str, state: State) -> bool:
    world = simulation.world
    if state in (State.STRATEGY_REFUSED, State.NO_REFERENCE):
        return "by_header" in simulation.shape.faults
    if state is State.NOT_INDEXED:
        return simulation.begun_late or world.is_index_lacking
    if state is State.TOPIC_MISSING:
        return any(source.place.topic not in world.clusters[alias].partitions for alias in (source.cluster, target))
    if state is State.COMMIT_BEYOND_END:
        return offset > world.logs[source.cluster, source.place].end
    if state in _WITHHELD_FOREVER:
        # A copy read once more after its original was cut is told apart from what it was: it contradicts itself.
        aliases = world.clusters if world.is_index_lacking else (source.cluster, target)
        return any(world.logs[alias, source.place].life for alias in aliases)
    return False
