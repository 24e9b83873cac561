"""Short histories that have failed once: found by a seed, and left with nothing that could be left out."""

from __future__ import annotations

import pytest

from offset_sync.model.values import TopicPartition
from simulation.actions import Action
from simulation.one_thread import without_threads
from simulation.shape import Shape
from simulation.shrink import failure

ORDERS = TopicPartition("orders", 0)
pytestmark = [pytest.mark.no_cover]

MOVED_BACK: list[Action] = [
    ("start", "g0", "X"),
    ("commit", "g0", ORDERS, 1),
    ("sync", "X", 50, None),
    ("cutover", "g0", "Y"),
    ("sync", "Y", 10, None),
    ("wait", 20_000),  # moves are not followed, so both are noticed at once
    ("cutover", "g0", "X"),
    ("wait", 1),
]
MOVED_BACK_AND_READING: list[Action] = [
    *MOVED_BACK,
    ("produce", "X", ORDERS, 0.9),
    ("start", "g0", "X"),
    ("poll", "g0", ORDERS, 3),
    ("commit", "g0", ORDERS, 1),
    ("sync", "X", 50, None),
    ("crash", "X", ORDERS, 0.5),
]
LOG_OF_COMMITS_IS_RECREATED: list[Action] = [
    ("start", "g1", "Y"),
    ("commit", "g1", ORDERS, 1),
    ("sync", "Y", 3, None),
    ("crash", "X", ORDERS, 0.6),
    ("start", "g0", "Y"),
    ("shrink", "Y", ORDERS, 0.6),
    ("sync", "Y", 3, None),
    ("commit", "g0", ORDERS, 1),  # where g1's commit was
]
READ_AND_NOT_WRITTEN_DOWN: list[Action] = [
    ("index", "X", 50, None),
    ("produce", "X", ORDERS, 0.9),
    ("produce", "Y", ORDERS, 0.9),
    ("index", "X", 10, None),
    ("set_back", "X", ORDERS, 0.1),
    ("mirror", "Y", "X", ORDERS, 4, "", 3),
    ("index", "X", 50, None),  # for the table a repetition
    ("start", "g0", "X"),
    ("produce", "Y", ORDERS, 0.7),
    ("poll", "g0", ORDERS, 2),
    ("cut", "X", ORDERS, 0.38),
    ("index", "X", 3, None),
    ("mirror", "Y", "X", ORDERS, 3, "drop", 3),
    ("wait", 70_000),
    ("poll", "g0", ORDERS, 3),
    ("commit", "g0", ORDERS, 2),
]
READ_AT_ONCE_BY_A_FAST_CLOCK: list[Action] = [
    ("sync", "Y", 10, None),
    ("produce", "X", ORDERS, 0.726),
    ("index", "X", 10, None),
    ("mirror", "X", "Y", ORDERS, 2, "late", 2),
    ("start", "g1", "Y"),
    ("index", "Y", 10, None),
    ("poll", "g1", ORDERS, 4),
    ("commit", "g1", ORDERS, 3),
    ("sync", "Y", 3, None),
]
HISTORIES = {
    "72000599: of moves that are noticed late the last one counts": ("skewed,moves", MOVED_BACK),
    "72000599: ... also for who starts later": ("skewed,moves,crash", MOVED_BACK_AND_READING),
    "715964295: what is committed in another life of the log counts": ("shrink,crash", LOG_OF_COMMITS_IS_RECREATED),
    "63003429: a hole that is read at a start is as young as a slow clock may have it": (
        "clocks,late",
        READ_AT_ONCE_BY_A_FAST_CLOCK,
    ),
    "7431: what is read again is not in the index": ("set_back,cut_grows,drop", READ_AND_NOT_WRITTEN_DOWN),
}


@pytest.mark.parametrize("name", HISTORIES)
def test_a_history_keeps_the_promise(name: str) -> None:
    faults, actions = HISTORIES[name]
    routes, skew_ms = (("X", "Y"), ("Y", "X")), (40_000_000, 3_600_000) if "skewed" in faults else (0, 0)
    shape = Shape(("X", "Y"), routes, (ORDERS,), ("g0", "g1"), skew_ms, frozenset(faults.split(",")), 4_000)
    with without_threads():
        assert failure(shape, actions) is None
