"""Topics of which partitions differ between clusters, and those that a cluster lacks."""

from __future__ import annotations

from typing import Any

from fakes.newest_logs import known_config, said_at, said_between


def between(logs: dict[str, Any], aliases: tuple[str, ...] = ("dc1", "dc2"), **sections: Any) -> list[str]:
    found = said_between(known_config(aliases, **sections), {a: dict.fromkeys(each, ()) for a, each in logs.items()})
    return [each for each in found if "partitions: " in each]


def test_partitions_that_differ_are_told_with_their_numbers_and_the_rest_as_alike() -> None:
    assert between({"dc1": ["orders/2", "pay"], "dc2": ["orders/3", "pay"]}) == [
        "FAIL partitions: orders: 3 at dc1, 4 at dc2; what only one has is withheld as PARTITIONS_DIFFER: add "
        "partitions where there are less, and have the mirror keep each record's partition",
        "OK partitions: pay: as many at all clusters",
    ]


def test_only_clusters_between_which_offsets_are_synced_have_to_agree() -> None:
    logs = {"dc1": ["orders"], "dc2": ["orders"], "dc3": ["orders/1"]}
    aliases = ("dc1", "dc2", "dc3")
    assert [each[:4] for each in between(logs, aliases)] == ["FAIL"]
    assert [each[:4] for each in between(logs, aliases, directions=[["dc1", "dc2"]])] == ["OK p"]


def test_copies_of_other_names_are_compared_with_their_originals() -> None:
    (found,) = between({"dc1": ["orders"], "dc2": ["dc1.orders/1"]}, mirror={"names": "mm2"})
    assert found.startswith("FAIL partitions: orders: 1 at dc1, 2 at dc2")


def test_a_topic_that_a_cluster_lacks_is_told_there() -> None:
    logs: dict[str, Any] = {"dc1": {"orders": (), "pay": ()}, "dc2": {"orders": ()}}
    told = "at another cluster and not here; nothing of it is synced before it is created and mirrored"
    assert f"WARN topics: pay: {told}" in said_at("dc2", known_config(), logs)
    assert [each for each in said_at("dc1", known_config(), logs) if "topics: " in each] == []
    # What is named in full is told with the rights; what is not included is nobody's.
    for topics in ({"include": ["orders", "pay"]}, {"include": ["orders"]}):
        assert [each for each in said_at("dc2", known_config(topics=topics), logs) if "topics: " in each] == []


def test_a_copy_that_lacks_is_told_by_the_name_that_it_would_have() -> None:
    logs: dict[str, Any] = {"dc1": {"orders": ()}, "dc2": {"pay": ()}}
    for include in (["orders", "pay"], [".*"]):
        config = known_config(topics={"include": include}, mirror={"names": "mm2"})
        assert "WARN topics: dc1.orders: at another cluster" in "".join(said_at("dc2", config, logs))
        assert "WARN topics: dc2.pay: at another cluster" in "".join(said_at("dc1", config, logs))
