"""What may happen, drawn from the seed: any action may be left out, by which a history that fails is made short."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from simulation.shape import OF_HOMES, OF_JOBS, Shape

Action = tuple[Any, ...]
"""A word, and what it needs."""

WEIGHTS = {"produce": 9, "mirror": 16, "poll": 24, "commit": 22, "wait": 8, "start": 2, "stop": 1}
WEIGHTS |= {"index": 2.0, "sync": 2.0, "grown": 0.7, "full": 1.0, "flush": 0.4}
BY_FAULT = {
    "marker": ("marker", 1),
    "malformed": ("malformed", 0.2),
    "beyond_log": ("beyond_log", 0.2),
    "leak": ("leak", 0.4),
    "echo": ("echo", 0.5),
    "retention": ("retention", 0.5),
    "cut_frozen": ("cut", 0.08),
    "cut_grows": ("cut", 0.15),
    "elected": ("cut", 2.0),
    "anew": ("anew", 0.08),
    "third_anew": ("anew", 0.15),
    "down": ("down", 0.5),
    "unreadable": ("close", 1.5),
    "reset": ("reset", 0.6),
    "commit_beyond": ("commit_beyond", 0.2),
    "forget": ("forget", 0.2),
    "expire": ("expire", 2.0),
    "set_back": ("set_back", 0.1),
    "crash": ("crash", 0.2),
    "shrink": ("shrink", 0.4),
    "second": ("second", 0.1),
    "tools": ("tool", 3.0),
    "jumping": ("jump", 0.4),
    "coordinators": ("coordinate", 0.2),
    "moves": ("cutover", 0.6),
    "gone_topic": ("delete_topic", 0.05),
    "lists": ("trouble_lists", 0.5),
    "forbidden": ("forbid", 1.0),
    "pages": ("hide_pages", 1.0),
    "no_writes": ("hold_back", 0.6),
    "narrow": ("widen", 0.3),
    "kept": ("translate", 3.0),
}
NO_FAULTS = {"marker", "translate", "cutover", "widen"}
OF_POLLS = {"sync": 24.0, "full": 6.0, "index": 8.0, "flush": 1.5, "start": 4}
OF_POLLS |= {"refuse": 0.6, "recast": 0.4, "exclude": 0.15, "forget": 1.0, "reset": 0.6, "crash": 0.4}
OF_MODES = {"crash": 1.0, "start": 4, "sync": 6.0, "full": 3.0, "index": 4.0}
"""How a driver ends matters, whatever it has answered before."""
STARTING = {"crash": 2.0, "start": 6, "sync": 6.0, "full": 3.0, "reset": 2.0}
"""What is unreadable or forgotten matters to a driver that starts, and to groups that go to and fro or are set back."""
OF_HOMES_OFTEN = {"sync": 9.0, "full": 3.0, "flush": 1.0, "index": 4.0, "start": 3}
"""Where a group is at home matters only to what is synced."""
WITH_LISTS = {"sync": 6.0, "full": 3.0, "grown": 2.0, "index": 4.0, "start": 5}
"""Lists matter to groups that move, and where what they have read has not come yet."""
_FAULTS = {name for name, _ in BY_FAULT.values()} - NO_FAULTS | {"refuse", "recast", "exclude", "twin_restart"}
MIRROR_FAULTS = ("resend", "reorder", "drop", "late")
WAITS_MS = (1, 5, 50, 1_000, 3_000, 20_000, 70_000, 50_000_000)
WAIT_WEIGHTS = (20, 10, 10, 10, 4, 2, 2, 0.05)
LONG_WAITS = (10, 5, 5, 5, 2, 2, 6, 0)
AT_ONCE = (3, 10, 50)
"""How many records, or commits, a micro-batch reads at most."""


def fault_of(action: Action) -> str:
    """Return the fault that an action is, empty for what goes on anyway."""
    name = action[0]
    if name == "mirror":
        return str(action[5])
    return name if name in _FAULTS else ""


def draw_actions(rng: random.Random, shape: Shape, count: int) -> list[Action]:
    weights = dict(WEIGHTS)
    for fault in sorted(shape.faults & BY_FAULT.keys()):
        name, weight = BY_FAULT[fault]
        weights[name] = weights.get(name, 0) + weight
    if shape.faults & {"unreadable", "expire", "second"}:
        weights |= STARTING
    if "second" in shape.faults:
        weights["crash"] = 0.1  # a driver that follows another one has to wait, so there would be few that write
    if shape.listed:
        weights |= WITH_LISTS | ({"cut": 1.5} if "cut_grows" in shape.faults else {})
    if shape.faults & set(OF_JOBS):
        weights |= OF_MODES
    if "losses" in shape.faults:
        weights |= {"anew": 0.3, "delete_topic": 0.3, "cut": 0.2}
    if "pages" in shape.faults:
        weights |= {"reset": 3.0, "index": 8.0, "produce": 20, "sync": 12.0, "full": 8.0}
    if shape.faults & set(OF_HOMES):
        weights |= OF_HOMES_OFTEN | ({"silence": 1.5} if shape.silence_ms else {})
    if "polls" in shape.faults:
        weights |= OF_POLLS | ({"silence": 4} if shape.silence_ms else {})
    if shape.twins:
        weights |= {"twin_poll": 20, "twin_commit": 20, "twin_restart": 1}
    # A world of much ado, one that is mostly read, one whose drivers sleep long.
    for name in ("produce", "mirror", "index", "sync", "full"):
        weights[name] *= rng.choice((0.5, 1, 1, 2))
    names = rng.choices(list(weights), cum_weights=list(accumulate(weights.values())), k=count)
    draw = _Draw(rng, shape)
    return [draw.action(name) for name in names]


class _Draw:
    def __init__(self, rng: random.Random, shape: Shape) -> None:
        self.random, self.choices, self.bits = rng.random, rng.choices, rng.getrandbits
        self.shape, self.below = shape, lambda n: int(rng.random() * n)
        weights, self.at_once = (LONG_WAITS, (3, 3, 50)) if "backlog" in shape.faults else (WAIT_WEIGHTS, AT_ONCE)
        self.wait_weights = list(accumulate(weights))
        self.mirror_faults = [fault for fault in MIRROR_FAULTS if fault in shape.faults]
        self.can_pause, self.can_crash = "pause" in shape.faults, "crash" in shape.faults

    def choice(self, options: Sequence[Any]) -> Any:
        """Draw what ``random.choice`` draws, in half the time."""
        count = len(options)
        width = count.bit_length()
        while (number := self.bits(width)) >= count:
            pass
        return options[number]

    def action(self, name: str) -> Action:
        shape = self.shape
        place = self.choice(shape.places) if len(shape.places) > 1 else shape.places[0]
        if name in ("poll", "commit"):
            return name, self.choice(shape.groups), place, 1 + self.below(4)
        if name in ("twin_poll", "twin_commit"):
            return name, *self.choice(shape.twins), place, 1 + self.below(4)
        if name == "twin_restart":
            return name, *self.choice(shape.twins)
        if name == "silence":
            return name, self.choice((3, 5, 11, 12))
        if name == "tool":
            return name, self.choice(shape.groups), self.choice(shape.clusters), place, self.random()
        if name in ("start", "stop", "expire", "cutover"):
            return name, self.choice(shape.groups), self.choice(shape.clusters)
        if name == "mirror":
            fault = ""
            if self.mirror_faults and self.random() < 0.15:
                fault = self.choice(self.mirror_faults)
            return name, *self.choice(shape.routes), place, 1 + self.below(4), fault, 1 + self.below(4)
        if name == "wait":
            return name, self.choices(WAITS_MS, cum_weights=self.wait_weights)[0]
        if name in ("index", "sync"):
            alias, at_once = self.choice(shape.clusters), self.at_once if name == "index" else AT_ONCE
            return name, alias, self.choice(at_once), self._pauses()
        if name in ("grown", "full", "flush"):
            return name, self._pauses()
        if name in ("reset", "forget", "commit_beyond"):
            return name, self.choice(shape.groups), self.choice(shape.clusters), place, self.random()
        return name, self.choice(shape.clusters), place, self.random()

    def _pauses(self) -> tuple[int, int] | None:
        """At which wait something happens, and how many actions; 0: the driver dies there."""
        if self.can_crash and self.random() < 0.03:
            return self.below(6), 0
        if "second" in self.shape.faults and self.random() < 0.8:
            return self.below(8), 1 + self.choice((1, 2, 4)) * self.below(15)
        if self.can_pause and self.random() < 0.3:
            return self.below(6), 1 + self.below(25)
        return None
