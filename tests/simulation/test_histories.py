"""Short histories that have failed once, as a soak tells them: found by a seed, and left with nothing needless."""

from __future__ import annotations

import pytest

from offset_sync.model.values import TopicPartition
from simulation.actions import Action
from simulation.histories import failure
from simulation.one_thread import without_threads
from simulation.shape import Shape
from simulation.simulation import Simulation

ORDERS = TopicPartition("orders", 0)

# Moves are not followed while it waits, so both are noticed at once.
MOVED_BACK = """
    start g0 X; commit g0 orders-0 1; sync X 50; cutover g0 Y; sync Y 10; wait 20000; cutover g0 X; wait 1
"""
MOVED_BACK_AND_READING = f"""{MOVED_BACK};
    produce X orders-0 0.9; start g0 X; poll g0 orders-0 3; commit g0 orders-0 1; sync X 50; crash X orders-0 0.5
"""
# In the end g0 commits where g1's commit was.
LOG_OF_COMMITS_IS_RECREATED = """
    start g1 Y; commit g1 orders-0 1; sync Y 3; crash X orders-0 0.6; start g0 Y; shrink Y orders-0 0.6; sync Y 3
    commit g0 orders-0 1
"""
# For the table the third index of X is a repetition.
READ_AND_NOT_WRITTEN_DOWN = """
    index X 50; produce X orders-0 0.9; produce Y orders-0 0.9; index X 10; set_back X orders-0 0.1
    mirror Y X orders-0 4 3; index X 50; start g0 X; produce Y orders-0 0.7; poll g0 orders-0 2; cut X orders-0 0.38
    index X 3; mirror Y X orders-0 3 drop 3; wait 70000; poll g0 orders-0 3; commit g0 orders-0 2
"""
READ_AT_ONCE_BY_A_FAST_CLOCK = """
    sync Y 10; produce X orders-0 0.726; index X 10; mirror X Y orders-0 2 late 2; start g1 Y; index Y 10
    poll g1 orders-0 4; commit g1 orders-0 3; sync Y 3
"""
# The first poll finds a commit of any age at Y, after the group has gone back at X.
STEPPED_BACK_WHILE_NOT_POLLED = """
    produce X orders-0 0.1; produce Y orders-0 0.1; mirror Y X orders-0 1 1; start g0 Y; poll g0 orders-0 1
    commit g0 orders-0 1; reset g0 X orders-0 0.9; reset g0 X orders-0 0.0; wait 3000
"""
# No poll of Y has found what we wrote there before it is set back.
SET_BACK_BELOW_OUR_WRITE = """
    produce X orders-0 0.9; mirror X Y orders-0 3 1; index Y 10; reset g0 X orders-0 0.9; sync Y 10; sync X 10; full
    reset g0 Y orders-0 0.0
"""
# The driver notices the move later than it was made, and so after the tool.
SET_BACK_WHERE_IT_WAS_MOVED_FROM = """
    produce X orders-0 0.9128887724678326; sync X 50; produce Y orders-0 0.9843810498738996; mirror Y X orders-0 2 4
    mirror Y X orders-0 1 2; start g0 Y; poll g0 orders-0 4; commit g0 orders-0 1; index X 50; sync Y 3
    cutover g0 X; tool g0 Y orders-0 0.8619518245414926; wait 1000
"""
# The third micro-batch of Y cannot read a page when its commits are written down, and comes again.
MICRO_BATCH_COMES_AGAIN = """
    hide_pages X orders-0 0.307; hide_pages Y orders-0 0.571; start g1 Y; sync Y 10; commit g1 orders-0 2
    commit g1 orders-0 4; commit g1 orders-0 3; commit g1 orders-0 4; index Y 3; commit g1 orders-0 4
    commit g1 orders-0 3; reset g0 Y orders-0 0.722; sync Y 3; index X 3; produce X orders-0 0.289
    hide_pages Y orders-0 0.189; sync Y 3; index X 50; sync Y 3
"""
HISTORIES = {
    "72000599: of moves that are noticed late the last one counts": ("skewed,moves", MOVED_BACK),
    "72000599: ... also for who starts later": ("skewed,moves,crash", MOVED_BACK_AND_READING),
    "715964295: what is committed in another life of the log counts": ("shrink,crash", LOG_OF_COMMITS_IS_RECREATED),
    "63003429: a hole read at a start is as young as a slow clock says": ("clocks,late", READ_AT_ONCE_BY_A_FAST_CLOCK),
    "500001249: a step back may be later": ("polls,lists", STEPPED_BACK_WHILE_NOT_POLLED),
    "7: below our write is a step back": ("polls,lists", SET_BACK_BELOW_OUR_WRITE),
    "144941741: what is set back before a move is noticed is over": ("moves,lists", SET_BACK_WHERE_IT_WAS_MOVED_FROM),
    "630000471: commits of a micro-batch that comes again are as old as before": ("pages", MICRO_BATCH_COMES_AGAIN),
    "7431: what is read again is not in the index": ("set_back,cut_grows,drop", READ_AND_NOT_WRITTEN_DOWN),
}


def actions(history: str) -> list[Action]:
    """Return what a soak tells."""
    return [_action(line.split()) for line in history.replace(";", "\n").splitlines() if line.strip()]


def _action(words: list[str]) -> Action:
    found = [ORDERS if word == "orders-0" else float(word) if "." in word else _number(word) for word in words]
    if words[0] == "mirror":
        found[5:] = ["", *found[5:]][-2:]
    return (*found, *[None] * (words[0] in ("index", "sync", "full")))


def _number(word: str) -> int | str:
    return int(word) if word.isdigit() else word


@pytest.mark.parametrize("name", HISTORIES)
def test_a_history_keeps_the_promise(name: str) -> None:
    faults, history = HISTORIES[name]
    routes, skew_ms = (("X", "Y"), ("Y", "X")), (40_000_000, 3_600_000) if "skewed" in faults else (0, 0)
    listed = ("g0",) if "lists" in faults else ()
    polled, silence_ms = (("Y",), 0) if "polls" in faults else ((), 4_000)
    kinds = frozenset(faults.split(","))
    shape = Shape(("X", "Y"), routes, (ORDERS,), ("g0", "g1"), skew_ms, kinds, silence_ms, (), listed, polled)
    with without_threads():
        assert failure(Simulation(shape, actions(history))) is None
