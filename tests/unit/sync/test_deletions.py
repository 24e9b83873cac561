"""Offsets that their owner has deleted, at targets that do not answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fakes.reconciler_site import ORDERS, mirrored_site
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import TopicPartition
from offset_sync.sync.deletions import OffsetDeleter, follow_deletions


class Silent:
    def __init__(self) -> None:
        self.asked: list[str] = []

    def delete_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, str | None] | ClusterError:
        self.asked.append(group_id)
        return dict.fromkeys(partitions, "_TIMED_OUT")


def test_a_silent_target_is_asked_for_one_group_and_the_next_target_for_all() -> None:
    site = mirrored_site("Y", "Z", sync={"deletes": "follow"})
    groups = ["first", "second", "third"]
    for group in groups:
        site.commit("X", group, 4)
    site.reconciled()
    for group in groups:
        site.clusters["X"].forget(group, ORDERS)
    site.read_all()
    silent, targets = Silent(), dict[str, OffsetDeleter](site.clusters)
    targets["Y"] = silent
    assert follow_deletions(site.state, targets) == ["X to Y: first not deleted: _TIMED_OUT"]
    assert silent.asked == ["first"]
    assert [site.target_offset("Z", group) for group in groups] == [None] * 3
    assert follow_deletions(site.state, site.clusters) == []
    assert [site.target_offset("Y", group) for group in groups] == [None] * 3
