"""Where a group is at home: the one cluster per group and topic whose position counts. Pure.

A cluster is *active* for a group and topic when the group commits there by itself, or has members there; it is silent
so long after both have ended. What it did before the last ``cutover`` does not count, except at the cluster it was
moved to::

                     silence
    dc1   c  c  c |-----------|                 home is dc1 until it has been silent for so long,
    dc2               c   c   c  c              COMMITTED_AT_BOTH meanwhile, then home is dc2

    dc1   c  c  c
    dc2              cutover                    home is dc2 at once, idle partitions too

All times are by the clock of ``sync_offsets``; ``cluster_clock.py`` says how those of brokers are brought to it. Errs
to COMMITTED_AT_BOTH, in which nothing is written: the group's positions wait, and none is moved past what it has read.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from offset_sync.model.values import ABSENT
from offset_sync.translate.index.runs import Int64s

NO_HOME = -1
UNCERTAIN_MS = 2_000
"""Two times of different clusters that are no further apart are of the same moment, even if their clocks are right."""


class Activity(NamedTuple):
    """What is known of groups and topics, shape (clusters, n) or (n,); times in ms, ABSENT where there is none.

    *committed_ms* is the newest commit of the group's own at each cluster, *members_ms* when it was last seen to have
    members there. *moved_to* is the cluster of the last ``cutover apply`` (:data:`NO_HOME`: none), *moved_ms* when that
    was.
    """

    committed_ms: Int64s
    members_ms: Int64s
    moved_to: NDArray[np.intp]
    moved_ms: Int64s


class Homes(NamedTuple):
    """The home of each group and topic, :data:`NO_HOME` where it never committed, and where two clusters are active.

    Where *is_contested*, *home* is the cluster that was active last.
    """

    home: NDArray[np.intp]
    is_contested: NDArray[np.bool_]


def active_since(activity: Activity) -> Int64s:
    """Return when each cluster was active last, shape (clusters, n); ABSENT: never since the last cutover."""
    committed_ms, members_ms, moved_to, moved_ms = activity
    number = np.arange(len(committed_ms))[:, np.newaxis]
    is_moved_here = (number == moved_to) & (moved_to != NO_HOME)
    is_over = (moved_to != NO_HOME) & ~is_moved_here & (committed_ms <= moved_ms)
    found: Int64s = np.where(is_over, ABSENT, committed_ms)
    found = np.where(is_moved_here, np.maximum(found, moved_ms), found)
    return np.where(found != ABSENT, np.maximum(found, members_ms), found)


def homes(activity: Activity, now_ms: int, silence_ms: int, uncertain_ms: Int64s | None = None) -> Homes:
    """Return where groups are at home at *now_ms*, where a cluster counts as silent after *silence_ms*.

    *uncertain_ms* is how far the times of each cluster may be off, shape (clusters,), where its clock is wrong.
    With a silence of 0 the newest commit wins, at equal times the first cluster, an order that all drivers share.
    """
    if silence_ms == 0:
        activity = activity._replace(members_ms=np.full_like(activity.members_ms, ABSENT))
    active_ms = active_since(activity)
    if active_ms.shape[1] == 0:
        return Homes(np.empty(0, np.intp), np.empty(0, np.bool_))
    home: NDArray[np.intp] = active_ms.argmax(axis=0)
    newest = active_ms.max(axis=0)
    home[newest == ABSENT] = NO_HOME
    if silence_ms == 0 or len(active_ms) < 2:
        return Homes(home, np.zeros(len(home), np.bool_))
    last_but_one, last = active_ms.argsort(axis=0, kind="stable")[-2:]
    second = np.take_along_axis(active_ms, last_but_one[np.newaxis], axis=0)[0]
    if uncertain_ms is None:
        uncertain_ms = np.zeros(len(active_ms), np.int64)
    is_near = newest - second <= np.maximum(uncertain_ms[last] + uncertain_ms[last_but_one], UNCERTAIN_MS)
    is_contested = (second != ABSENT) & ((second > now_ms - silence_ms) | is_near)
    return Homes(home, is_contested)
