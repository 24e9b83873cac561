"""What a world is made of, and which faults may happen in it; drawn from the seed."""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import dataclass, replace

from offset_sync.model.values import TopicPartition

ALIASES = ("X", "Y", "Z")
FAULTS = (
    "resend",  # the mirror sends again what it has sent
    "reorder",  # ... in another order
    "drop",  # ... not at all
    "late",  # ... after later ones, within the grace
    "echo",  # ... back to where it was produced
    "marker",  # offsets without a record
    "malformed",  # headers that cannot be read
    "beyond_log",  # headers that name what their origin has not written
    "retention",
    "cut_frozen",  # a log loses its end, and gets nothing more
    "anew",  # a topic is recreated (only source and target)
    "down",  # a cluster that does not answer
    "skew",  # coordinators' clocks differ by seconds
    "reset",  # an operator sets a group's offset
    "commit_beyond",  # ... above the log's end
    "forget",  # offsets are deleted
    "late_index",  # index.starting: latest
    "set_back",  # a checkpoint of the index is set back to an older copy
    "tags",  # groups commit with metadata that looks like ours
    "pause",  # things happen while a driver waits for an answer
    "crash",
)
OF_HOMES = (
    "twins",  # two readers of one group, at two clusters, without membership
    "tools",  # something alters offsets at a cluster, to values that it keeps, and to those that we wrote
    "skewed",  # a cluster's clock is off by hours
    "jumping",  # ... and is set
    "coordinators",  # __consumer_offsets gets more partitions
    "moves",  # groups are moved by cutover
    "gone_topic",  # a topic is deleted for good
)
"""Faults of a world in which it matters where groups are at home."""
OF_JOBS = (
    "forbidden",  # the right to describe a topic is taken away
    "by_header",  # topics have the strategy header
    "pages",  # files of the record index cannot be read
    "no_writes",  # the job is restarted with --dry-run, and without
    "narrow",  # a cluster has a partition less, for a while
    "kept",  # offsets of other systems are translated
    "losses",  # topics are recreated and deleted, and logs cut, more often than elsewhere
)
_LOSSES = frozenset({"anew", "gone_topic", "cut_frozen"})
ON_REQUEST = (
    *("third_anew", "cut_grows", "clocks", "shrink", "unreadable", "expire", "second", "backlog", "elected"),
    *OF_HOMES,
    "uncut",
    "polls",
    *OF_JOBS,
)
"""Faults that need a world of their own; backlog: indexes that read little, and long waits; elected: the new leader of
a log loses its end, is written to before any read, and groups commit before they ask it for anything; uncut: of three
times the index cannot be cut twice."""
LISTS = "lists"
"""As a fault, which may be wanted beside any other: some groups get read lists, and their consumers skip."""
_APART = {"anew", "third_anew", "cut_frozen", "shrink", "expire"}
"""Not in worlds of homes, unless they are wanted there."""
_OF_LOGS = {"coordinators", "shrink"}
"""Not where commits are polled: they are about the log of commits."""


@dataclass(frozen=True)
class Shape:
    """*routes* lead from an origin to where the mirror copies it; *twins* are readers without membership.

    Groups *listed* get read lists, clusters *polled* are polled at first, partitions *narrow* are added later.
    """

    clusters: tuple[str, ...]
    routes: tuple[tuple[str, str], ...]
    places: tuple[TopicPartition, ...]
    groups: tuple[str, ...]
    skew_ms: tuple[int, ...]
    faults: frozenset[str]
    silence_ms: int = 0
    twins: tuple[tuple[str, str], ...] = ()
    listed: tuple[str, ...] = ()
    polled: tuple[str, ...] = ()
    narrow: tuple[tuple[str, TopicPartition], ...] = ()


def random_shape(rng: random.Random, wanted: frozenset[str], avoided: frozenset[str] = frozenset()) -> Shape:
    """Return a shape with the *wanted* faults, and of the others a few, but never those *avoided*."""
    wanted |= _LOSSES if "losses" in wanted else frozenset()
    wanted |= {"cut_grows"} if "uncut" in wanted else frozenset()
    chance = rng.choice((0.0, 0.1, 0.3, 0.6))
    faults = {fault for fault in FAULTS if rng.random() < chance} - avoided | wanted
    if wanted & set(OF_HOMES):
        faults |= {fault for fault in OF_HOMES if rng.random() < 0.2} - avoided
        faults -= _APART - wanted
    if "polls" in wanted:
        faults |= {fault for fault in OF_HOMES if rng.random() < 0.25} - avoided
        faults -= _OF_LOGS - wanted
    aliases = ALIASES[: 3 if "third_anew" in wanted else 2 if "anew" in wanted else rng.choice((2, 2, 3))]
    if len(aliases) > 2:
        faults -= {"anew"}
    if "late_index" in faults:
        # Records before an index that began late count as read by the mirror's order, see docs/design/index.md.
        disorder = {"late", "reorder"}
        faults -= {"late_index"} if disorder & wanted else disorder
    if faults & {"down", "forbidden"}:
        # An origin that cannot be asked is believed: a limit that the documents name.
        faults -= {"beyond_log"} if "beyond_log" not in wanted else {"down", "forbidden"}
    routes = [(a, b) for a in aliases for b in aliases if a != b]
    if rng.random() < 0.3:
        routes = [route for route in routes if route[0] == "X" or rng.random() < 0.5]
    places = [TopicPartition("orders", number) for number in range(rng.choice((1, 1, 2)))]
    if rng.random() < 0.2 or "losses" in wanted:
        places.append(TopicPartition("pay-in", 0))
    groups = tuple(f"g{number}" for number in range(rng.choice((1, 2, 2, 3))))
    skews = _skews(faults)
    skew = tuple(rng.choice(skews) if skews else 0 for _ in aliases)
    silence_ms = rng.choice((0, 4_000, 300_000)) if faults & {*OF_HOMES, "polls"} else 0
    has_twins = bool(faults & {"twins", "tools"})
    twins = [(group, alias) for group in groups[:2] for alias in aliases if has_twins and rng.random() < 0.7]
    listed = groups[:2] if LISTS in faults else ()
    polled = tuple(rng.sample(aliases, rng.randint(1, len(aliases)))) if "polls" in faults else ()
    found = Shape(tuple(aliases), tuple(routes), tuple(places), groups, skew, frozenset(faults), silence_ms)
    found = replace(found, twins=tuple(twins), listed=listed, polled=polled)
    return _narrow(found) if "narrow" in faults else found


def _narrow(shape: Shape) -> Shape:
    """Return *shape* with a second partition, which a cluster does not have yet."""
    place = TopicPartition("orders", 1)
    places = dict.fromkeys((*shape.places[:1], place, *shape.places[1:]))
    return replace(shape, places=tuple(places), narrow=((shape.clusters[-1], place),))


def _skews(faults: Collection[str]) -> tuple[int, ...]:
    if "skewed" in faults:
        return (0, 3_600_000, -3_600_000, 40_000_000, -7_000)
    return (0, 0, 1, -700, 5_000) if "skew" in faults else ()
