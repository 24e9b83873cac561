"""Many histories at once: a row per state, int8, of one group on one topic, its clusters and the driver's memory.

Times are ranks, 0 for none. Only their order counts, which of them are older than the silence, and that those of two
ranks are further apart than clocks are certain::

    1  2  3 …            SILENT            …  98  99  100        NOW
    silent, in order                          fresh, in order    the event in hand
"""

from __future__ import annotations

from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

States = NDArray[np.int8]
Row = NDArray[np.bool_]
Views = dict[str, NDArray[Any]]
ABSENT = -1
SILENT, NOW = 60, 101
KEPT = 4
"""So many writes of a key may be not read back."""
UNRECORDED = 8  # added to a value *told* that was noted, and is not in the history


class Shape(NamedTuple):
    """Log *starts*; offsets are 0 to *end*, *unread* of a key are at most; *is_named*: clusters keep their names."""

    starts: tuple[int, ...] = (0, 0)
    partitions: int = 1
    end: int = 1
    unread: int = 2
    is_named: bool = False

    @property
    def clusters(self) -> int:
        return len(self.starts)


_BY_KEY = {
    # The truth: what the coordinator holds, what is unread of its log, what was read of it, by whom and when.
    **dict.fromkeys(("held", "seen", "said", "last", "echo"), ABSENT),
    **dict.fromkeys(("held_is_own", "seen_claim", "ours"), 0),
    **dict.fromkeys(("t_held", "t_seen", "t_said", "t_back", "t_noticed"), 0),
    # What the code remembers of a key.
    **dict.fromkeys(("actual_offset", "last_offset", "genuine_offset", "before_offset"), ABSENT),
    **dict.fromkeys(("is_read", "actual_is_own", "before_is_own", "is_before"), 0),
    **dict.fromkeys(("t_actual", "t_genuine", "t_rewound", "t_before"), 0),
}
UNREAD = {"unread": ABSENT, "unread_is_own": 0, "unread_claim": 0, "t_unread": 0}
"""What is known of the unread records of a key, and what says that there is none."""
_LISTS = {name: (0, empty) for name, empty in UNREAD.items()}
_LISTS |= {"pending": (KEPT, 0), "told": (KEPT, ABSENT), "t_told": (KEPT, 0)}
_BY_PAIR = {"answered": ABSENT, "wanted": ABSENT, "is_answered": 0, "t_answered": 0}


class Layout:
    """Where each field is in a row of *shape*."""

    def __init__(self, shape: Shape) -> None:
        c, p = shape.clusters, shape.partitions
        shapes: dict[str, tuple[tuple[int, ...], int]] = {}
        shapes |= {name: ((c, p), value) for name, value in _BY_KEY.items()}
        shapes |= {name: ((c, p, size or shape.unread), value) for name, (size, value) in _LISTS.items()}
        shapes |= {name: ((c, c, p), value) for name, value in _BY_PAIR.items()}
        shapes |= {"t_committed": ((c,), 0), "moved_to": ((), ABSENT), "t_moved": ((), 0)}
        shapes |= {"was_read": ((p,), 0), "ends": ((c, p, shape.end + 1), 0)}
        self.shape, self._places, self.width = shape, dict[str, tuple[int, int, tuple[int, ...]]](), 0
        first: list[int] = []
        for name, (size, value) in shapes.items():
            count = int(np.prod(size, dtype=int))
            self._places[name] = self.width, self.width + count, size
            self.width += count
            first += [value] * count
        self.first = np.array([first], np.int8)
        times = [range(a, b) for name, (a, b, _) in self._places.items() if name[:2] == "t_"]
        self.times = np.array([at for each in times for at in each])
        self._renamed = [self._rename(*each) for each in self._symmetries()]

    def views(self, states: States) -> Views:
        """Return writable views of the fields, shape (states, …)."""
        return {name: states[:, a:b].reshape(len(states), *size) for name, (a, b, size) in self._places.items()}

    def _symmetries(self) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        starts = self.shape.starts
        if self.shape.is_named:
            return [(tuple(range(len(starts))), tuple(range(self.shape.partitions)))]
        clusters = [each for each in permutations(range(len(starts))) if starts == tuple(starts[c] for c in each)]
        return [(c, p) for c in clusters for p in permutations(range(self.shape.partitions))]

    def _rename(self, clusters: tuple[int, ...], partitions: tuple[int, ...]) -> NDArray[np.intp]:
        """Return the columns of a row in which clusters and partitions have changed places."""
        at = np.arange(self.width)
        for name, (a, b, size) in self._places.items():
            block = np.arange(a, b).reshape(size)
            if name == "was_read":
                block = block[list(partitions)]
            elif size:
                block = block[list(clusters)]
                block = block[:, list(clusters)] if name in _BY_PAIR else block
                axis = 2 if name in _BY_PAIR else 1
                block = block.take(list(partitions), axis) if len(size) > 1 else block
            at[a:b] = block.ravel()
        return at

    def canonical(self, states: States, *, is_silent: bool = False) -> States:
        """Return each state as the least of those that differ in names and times only."""
        states = states.copy()
        self._rank(states, is_silent=is_silent)
        best, moved_to = None, self._places["moved_to"][0]
        for (clusters, _), columns in zip(self._symmetries(), self._renamed, strict=True):
            found = states[:, columns]
            where = np.array([*np.argsort(clusters), ABSENT], np.int8)
            found[:, moved_to] = where[found[:, moved_to]]
            best = found if best is None else np.where(_is_less(found, best)[:, np.newaxis], found, best)
        return np.ascontiguousarray(best)

    def _rank(self, states: States, *, is_silent: bool) -> None:
        times, number = states[:, self.times].astype(np.intp), np.arange(len(states))[:, np.newaxis]
        occurs = np.zeros((len(states), 128), np.bool_)
        occurs[number, times] = True
        occurs[:, 0] = False
        silent = np.cumsum(occurs, axis=1, dtype=np.int8)
        fresh = NOW - np.cumsum(occurs[:, ::-1], axis=1, dtype=np.int8)[:, ::-1]
        rank = silent if is_silent else np.where(np.arange(128) < SILENT, silent, fresh)
        rank[:, 0] = 0
        states[:, self.times] = rank[number, times]


def _is_less(one: States, other: States) -> Row:
    differs = one != other
    first = differs.argmax(axis=1)[:, np.newaxis]
    return (np.take_along_axis(one, first, 1) < np.take_along_axis(other, first, 1))[:, 0]


def hashes(states: States) -> NDArray[np.uint64]:
    """Return a number of 64 bits for each state; of ten million two are the same by chance once in 400,000 runs."""
    padded = np.zeros((len(states), -(-states.shape[1] // 8) * 8), np.int8)
    padded[:, : states.shape[1]] = states
    found = np.full(len(states), 0x9E3779B97F4A7C15, np.uint64)
    for word in padded.view(np.uint64).T:
        found = (found ^ word) * np.uint64(0xFF51AFD7ED558CCD)
        found ^= found >> np.uint64(32)
        found *= np.uint64(0xC4CEB9FE1A85EC53)
        found ^= found >> np.uint64(29)
    return found
