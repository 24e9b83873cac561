"""Two clusters between which a group with read lists moves, and its lists there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from builders.logs import log
from fakes.reconciler_site import ORDERS, Site, config_of
from offset_sync.model.values import ClusterPartition, TopicPartition
from offset_sync.translate.read_list import decode_read_list

HOLDS = "__offset-sync.read.readers"
AT_X = "X0 X1 Y0 X2 X3 X4"
AT_Y = "Y0 X0 Y1 X1 X2"
EPOCH = 7
AnySite = TypeVar("AnySite", bound=Site)


def listed_site(
    groups: Sequence[str] = ("readers",), kind: type[AnySite] = Site, at_x: str = AT_X, at_y: str = AT_Y
) -> AnySite:
    """Return X and Y, which copy each other; *groups* get lists. Of what X has X3 and X4 have yet to come to Y."""
    lists = {"read_lists": {"groups": [*groups]}, "refresh_interval": "1h"}
    found = kind(config_of(["X", "Y"], sync=lists, status={"stalled_after": "2h"}))
    for alias, records in {"X": at_x, "Y": at_y}.items():
        found.put(log(alias, records))
        found.index.epochs[ClusterPartition(alias, *ORDERS)] = (f"orders at {alias}", EPOCH)
    return found


def told(site: Site, alias: str = "Y", place: TopicPartition = ORDERS) -> tuple[int, list[tuple[int, int]]] | None:
    """Return start and ranges of the present list; None without a commit of the group that holds it."""
    stands = site.clusters[alias].group_offsets.get((HOLDS, place))
    if stands is None:
        return None
    found = decode_read_list(stands.metadata)
    assert found is not None
    assert found.cluster_id == f"id-of-{alias}"
    start, epoch, ranges = found.read_list
    assert (start, epoch) == (stands.offset, EPOCH if len(ranges.start) else 0)
    return start, list(zip(ranges.start.tolist(), (ranges.start + ranges.length).tolist(), strict=True))


def writes(site: Site) -> list[tuple[str, str, int]]:
    """Return what was asked since the last call, in order: target, group, offset."""
    found = [(target, write.group_id, write.offset) for target, write in site.asked]
    site.asked.clear()
    return found
