"""The doors to a cluster: streams go in, the cluster hears its own names, streams come out."""

from __future__ import annotations

from typing import Any

import pytest

from fakes.consumed import Message
from offset_sync.config.prefix_names import PrefixNames
from offset_sync.kafka import log_reader
from offset_sync.kafka.cluster_admin import ClusterAdmin, TopicMetadata
from offset_sync.kafka.group_offsets import Coordinators
from offset_sync.kafka.leader_epochs import LeaderEpochs, _Reported
from offset_sync.kafka.log_reader import RangeReader, RecordReader
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import (
    EpochChange,
    OffsetWrite,
    Rule,
    TopicPartition,
)

NAMES = PrefixNames({"dc1": "dc1", "dc2": "dc2"}, ".")
HERE, THERE = TopicPartition("orders", 3), TopicPartition("dc2.orders", 3)
INSIDE = [TopicPartition("dc1.orders", 3), TopicPartition("dc2.orders", 3)]
COMMITS = TopicPartition("__consumer_offsets", 7)


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the clients behind the doors were asked; each answers with what it was asked."""
    found: list[Any] = []

    def hear(answer: Any) -> Any:
        def ask(_self: object, asked: Any, *more: Any) -> Any:
            asked = asked if isinstance(asked, (dict, str)) or callable(asked) else list(asked)
            found.append(asked)
            return answer(asked, *more)

        return ask

    for name in ("described", "unreadable", "ends"):
        monkeypatch.setattr(TopicMetadata, name, hear(lambda asked, *_: {each: each for each in asked}))
    topics = {"orders": 1, "heartbeats": 2, "dc2.orders": 3}
    monkeypatch.setattr(TopicMetadata, "listed", lambda _self, _deadline: topics)
    places = (HERE, THERE)
    monkeypatch.setattr(
        TopicMetadata, "reaches", lambda _self, is_wanted, _: {p: 1 for p in places if is_wanted(p.topic)}
    )
    held = {"g": {HERE: 1, THERE: 2}, "h": ClusterError("dc1", "no")}
    monkeypatch.setattr(Coordinators, "committed_offsets", lambda _self, _groups, _deadline: held)
    monkeypatch.setattr(
        Coordinators,
        "write_offsets",
        hear(
            lambda asked, *_: {
                g: {TopicPartition(w.topic, w.partition): None for w in some} for g, some in asked.items()
            }
        ),
    )

    def read(_consumer: object, starts: dict[TopicPartition, int], take: Any, *_: object) -> None:
        found.append(dict(starts))
        for place, offset in starts.items():
            take(place, Message(place, offset))

    def read_ranges(_self: object, _consumer: object, waiting: Any) -> Any:
        found.append(waiting)
        return iter([list(waiting)])

    monkeypatch.setattr(log_reader, "read_logs", read)
    monkeypatch.setattr(RangeReader, "_read", read_ranges)
    told = _Reported(5, 1, "7")
    monkeypatch.setattr(LeaderEpochs, "_reported", hear(lambda asked, *_: dict.fromkeys(asked, told)))
    return found


def test_a_cluster_is_asked_by_its_own_names_and_answers_with_streams(heard: list[Any]) -> None:
    admin = ClusterAdmin("dc1", {}, NAMES)
    assert set(admin.describe(["dc1.orders", "dc2.orders"])) == {"dc1.orders", "dc2.orders"}
    assert set(admin.unreadable(["dc1.orders"])) == {"dc1.orders"}
    assert set(admin.ends([*INSIDE, COMMITS])) == {*INSIDE, COMMITS}
    assert [list(each) for each in heard] == [["orders", "dc2.orders"], ["orders"], [HERE, THERE, COMMITS]]
    assert set(admin.topics()) == {"dc1.orders", "dc2.orders", "heartbeats at dc1"}
    assert set(admin.reaches(lambda stream: stream == "dc1.orders")) == {INSIDE[0]}


def test_what_the_cluster_has_no_name_for_is_not_asked_for_though_another_topic_has_its_name(heard: list[Any]) -> None:
    # dc2's own heartbeats: at dc1 another topic is called so.
    stranger, own = NAMES.inside("dc2", "heartbeats"), NAMES.inside("dc1", "orders")
    admin, place = ClusterAdmin("dc1", {}, NAMES), TopicPartition(stranger, 0)
    assert admin.describe([stranger, own]).keys() == {own}
    assert admin.ends([place, TopicPartition(own, 0)]).keys() == {TopicPartition(own, 0)}
    writes = [OffsetWrite("g", topic, 0, 5, None, Rule.SET, None) for topic in (stranger, own)]
    assert admin.write_offsets({"g": writes}) == {"g": {place: "UNKNOWN_TOPIC_OR_PART", TopicPartition(own, 0): None}}
    assert [[each.topic for each in asked["g"]] for asked in heard if isinstance(asked, dict) and "g" in asked] == [
        ["orders"]
    ]
    assert RecordReader("dc1", {}, NAMES).first_at({place: 4}) == {}
    assert LeaderEpochs("dc1", {}, NAMES).ends_in_time({place: EpochChange(1, 2)}) == {}
