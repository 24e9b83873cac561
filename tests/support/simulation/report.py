"""A history as a person reads it."""

from __future__ import annotations

from collections.abc import Sequence

from offset_sync.model.values import TopicPartition
from simulation.actions import Action
from simulation.shape import Shape
from simulation.simulation import Simulation


def told(shape: Shape, actions: Sequence[Action]) -> str:
    """Return the history, what the logs hold in the end, and how it fails."""
    simulation, failure = Simulation(shape, actions), None
    try:
        simulation.run()
    except AssertionError as problem:
        failure = problem
    lines = [f"clusters {', '.join(shape.clusters)}; faults: {', '.join(sorted(shape.faults)) or 'none'}"]
    lines += [f"routes {', '.join(map(' to '.join, shape.routes))}; clocks {shape.skew_ms} ms apart"]
    lines += [f"{number:4}  {_words(action)}" for number, action in enumerate(actions, 1)]
    for (alias, place), log in simulation.world.logs.items():
        births = simulation.world.births[place]
        records = [
            "."
            if each is None
            else f"{births[each.number].cluster}{births[each.number].offset}"
            + ("'" * births[each.number].life)
            + ("?" if each.is_odd else "")
            for each in log.entries
        ]
        if records:
            lines.append(f"{alias} {place.topic}-{place.partition} from {log.start}: {' '.join(records)}")
    for where, value in simulation.world.values.items():
        whose = "ours" if value.is_ours else "the group's"
        lines.append(f"{where.cluster} holds {value.offset} for {where.group}/{where.place.partition}, {whose}")
    return "\n".join([*lines, f"BROKEN: {failure}"])


def _words(action: Action) -> str:
    return " ".join(_word(each) for each in action if each not in ("", None))


def _word(value: object) -> str:
    if isinstance(value, TopicPartition):
        return f"{value.topic}-{value.partition}"
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, tuple):
        return f"(at wait {value[0]}: {'the driver dies' if not value[1] else f'the next {value[1]} happen'})"
    return str(value)
