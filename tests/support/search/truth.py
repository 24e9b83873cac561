"""What may be, by the order of commits and what was read of it: nothing here asks the code.

Of each record the truth knows the author, and its *claim*: the first offset of which a reader there has not read all
below. That of a commit is its offset; that of a write of ours the claim of what it was translated from. A write raised
to a log start is above its claim.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from search.rows import ABSENT, SILENT, UNREAD, UNRECORDED, Row, Shape, Views


def homes(of: Views) -> tuple[NDArray[np.intp], Row]:
    """Return the home of each history by what was read, ABSENT for none; and whether two clusters may be it."""
    active = of["t_said"].max(axis=2).astype(np.intp)
    number, moved_to = np.arange(active.shape[1]), of["moved_to"][:, np.newaxis]
    moved = of["t_moved"][:, np.newaxis]
    active = np.where((moved_to != ABSENT) & (number != moved_to) & (active <= moved), 0, active)
    active = np.where(number == moved_to, np.maximum(active, moved), active)
    ordered = np.sort(active, axis=1)
    home = np.where(ordered[:, -1] > 0, active.argmax(axis=1), ABSENT)
    second = ordered[:, -2]
    return home, (second > 0) & ((second >= SILENT) | (second == ordered[:, -1]))


def commit(of: Views, place: tuple[Any, int, Any], value: Any, at: Any, claim: Any = None) -> None:
    """Have a coordinator take *value* at *place*: histories, cluster, partition. With a *claim* it is ours."""
    for prefix in ("held", "unread"):
        spot = place if prefix == "held" else (*place, (of["unread"][place] != ABSENT).sum(axis=-1))
        of[prefix][spot] = value
        of[f"{prefix}_is_own"][spot] = claim is not None
        of[f"t_{prefix}"][spot] = at
        if prefix == "unread":
            of["unread_claim"][spot] = value if claim is None else claim
    if claim is None:
        of["was_read"][place[0], place[2]] = np.maximum(of["was_read"][place[0], place[2]], value)


def read(of: Views, place: tuple[Any, int, Any], is_own: Row, number: int) -> Row:
    """Take in the unread record *number* of the keys at *place*, *is_own* by the code; return where that is wrong.

    A value counts as *ours* from when we send it until that or a later one of ours is read; and again right after that.
    A repetition of what is there ends nothing. Of a value that we sent twice, the record may be that of the first time.
    """
    spot = (*place, number)
    value, at = of["unread"][spot], of["t_unread"][spot]
    is_echo = of["echo"][place] == value
    may_be_own = (of["ours"][place] >> value & 1 == 1) | is_echo
    is_wrong = np.where(
        is_own, ~may_be_own, may_be_own & (of["unread_is_own"][spot] == 1) & (of["last"][place] != value)
    )
    of["ours"][place] &= np.where(is_own & ~is_echo, ~of["ends"][(*place, value)], -1)
    of["ends"][place] *= _bits(of["ours"][place], of) != 0
    of["echo"][place] = np.where(is_own, value, ABSENT)
    is_groups, is_less = ~is_own | (of["unread_is_own"][spot] == 0), value < of["last"][place]
    of["t_back"][place] = np.where(is_groups & is_less, at, of["t_back"][place])
    of["t_noticed"][place] = np.where(~is_own & is_less, at, of["t_noticed"][place])
    of["last"][place] = value
    of["said"][place] = np.where(is_own, of["said"][place], value)
    of["t_said"][place] = np.where(is_own, of["t_said"][place], at)
    of["seen"][place], of["t_seen"][place] = value, at
    of["seen_claim"][place] = of["unread_claim"][spot]
    return is_wrong


def send(of: Views, place: tuple[Any, int, Any], value: Any) -> None:
    """Note that *value* is sent to *place*."""
    bit = (1 << value).astype(np.int8)
    is_first = of["ours"][place] & bit == 0
    of["ours"][place] |= bit
    of["ends"][place] &= ~bit[:, np.newaxis]
    of["ends"][(*place, value)] = np.where(is_first, of["ours"][place], of["ends"][(*place, value)])


def _bits(values: NDArray[np.int8], of: Views) -> NDArray[np.int8]:
    """Return the bits of each value in sets of values; shape (…, values)."""
    return values[..., np.newaxis] & (1 << np.arange(of["ends"].shape[-1], dtype=np.int8))


def note_death(of: Views) -> None:
    """Note which unread records may be of a driver that has died: those of the values that it has noted."""
    value = of["told"] & ~UNRECORDED
    told = np.bitwise_or.reduce(np.where(of["t_told"] > 0, 1 << value, 0), axis=3).astype(np.int8)
    of["ends"][:] |= _bits(told & ~of["ours"], of)
    of["ours"][:] |= told


def drop_read(of: Views, cluster: int, most: int) -> None:
    """Forget the first *most* unread records of a cluster."""
    for name, empty in UNREAD.items():
        left = of[name][:, cluster, :, most:].copy()
        of[name][:, cluster] = empty
        of[name][:, cluster, :, : left.shape[2]] = left
    # The history has a write of ours no longer for one that was not read.
    known = np.where(of["is_before"][:, cluster] == 1, 0, of["t_actual"][:, cluster])
    is_over = of["t_told"][:, cluster] <= known[..., np.newaxis]
    of["told"][:, cluster][is_over], of["t_told"][:, cluster][is_over] = ABSENT, 0


def wrong_writes(shape: Shape, of: Views, source: int, place: tuple[Any, int, Any], value: Any) -> dict[str, Row]:
    """Return, by what is wrong, which writes of *value* to *place*, by the position at *source*, must not be."""
    row, target, partition = place
    home, is_contested = (each[row] for each in homes(of))
    start, source_place = shape.starts[target], (row, source, partition)
    held_ms = np.maximum(of["t_seen"][source_place], of["t_said"][source_place])
    is_genuine = (of["t_said"][place] == of["t_seen"][place]) & (of["said"][place] != ABSENT)
    is_newer = is_genuine & (of["t_said"][place] > held_ms)
    is_back = of["t_back"][source_place] > of["t_said"][place]
    return {
        "unread below": (value > start) & (value > of["was_read"][row, partition]),
        "above the position": (value > np.maximum(start, of["held"][place])) & (value > of["seen_claim"][source_place]),
        "not the home": (home != source) | is_contested,
        "an unread commit is overwritten": (of["held"][place] != of["seen"][place]),
        "a newer commit is overwritten": is_newer,
        "back without a step back": is_genuine & (value < of["held"][place]) & ~is_back,
    }


def inexact(shape: Shape, of: Views) -> dict[str, Row]:
    """Return what is wrong after quiet, shape (histories,), and which are waiting for a reason that has a name."""
    home, is_contested = homes(of)
    row, found = np.arange(len(home)), {"not read": (of["seen"] != of["held"]).any(axis=(1, 2))}
    is_genuine = (of["t_said"] == of["t_seen"]) & (of["said"] != ABSENT)
    wrong, waits = np.zeros(len(home), np.bool_), dict[str, Row]()
    for target in range(shape.clusters):
        for partition in range(shape.partitions):
            here, there = (row, home, partition), (row, target, partition)
            held, is_settled = of["held"][there], (home == target) | (home == ABSENT) | (of["held"][here] == ABSENT)
            wanted = np.maximum(of["held"][here], shape.starts[target])
            is_open = ~is_settled & (held != wanted)
            reasons = {
                "two clusters at the same time": is_contested,
                "the target has a newer commit": is_genuine[there]
                & (of["t_said"][there] > np.maximum(of["t_seen"][here], of["t_said"][here])),
                "the group had read on at the target": is_genuine[there]
                & (held > wanted)
                & (of["t_noticed"][here] <= of["t_said"][there]),
                "the home holds a write of ours": ~is_genuine[here] & ((held < wanted) | is_genuine[there]),
            }
            for name, holds in reasons.items():
                waits[name] = waits.get(name, np.zeros(len(home), np.bool_)) | (is_open & holds)
                is_open = is_open & ~holds
            wrong |= is_open
    return {**found, "not exact after quiet": wrong, **{f"waits: {name}": each for name, each in waits.items()}}
