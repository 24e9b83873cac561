"""Which names there are is learned before anything else: two topics that are one stream are an error by both names."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from fakes.reconciler_site import config_of
from offset_sync.config import Config
from offset_sync.kafka.cluster_admin import ClusterAdmin, TopicMetadata
from offset_sync.model.errors import ClusterError, ConfigError
from offset_sync.state.known_names import learn_names, strays

ALIASES = ("dc1", "dc2", "dc3")


def config() -> Config:
    return config_of(ALIASES, mirror={"names": "mm2"})


def admins(config: Config, topics: Mapping[str, list[str]], patch: pytest.MonkeyPatch) -> dict[str, ClusterAdmin]:
    def listed(admin: TopicMetadata, _deadline: float = 0) -> dict[str, int]:
        if admin.alias not in topics:
            raise ClusterError(admin.alias, "no answer")
        return dict.fromkeys(topics[admin.alias], 1)

    patch.setattr(TopicMetadata, "listed", listed)
    return {alias: ClusterAdmin(alias, {}, config.names) for alias in ALIASES}


def test_a_copy_is_called_as_its_cluster_calls_it_however_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = config()
    there = {"dc1": ["orders"], "dc2": ["dc1.orders"], "dc3": ["dc2.dc1.orders", "dc2.dc1.other"]}
    learn_names(chosen, admins(chosen, there, monkeypatch))
    assert [chosen.names.topic(alias, "dc1.orders") for alias in ALIASES] == ["orders", "dc1.orders", "dc2.dc1.orders"]


def test_two_names_of_one_stream_are_an_error_that_names_both(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = config()
    there = {"dc1": ["orders"], "dc2": ["dc1.orders"], "dc3": ["dc2.dc1.orders", "dc1.orders"]}
    with pytest.raises(ConfigError) as caught:
        learn_names(chosen, admins(chosen, there, monkeypatch))
    (problem,) = caught.value.problems
    assert "clusters.dc3: dc1.orders and dc2.dc1.orders are two names of one stream" in problem


def test_a_cluster_that_does_not_answer_is_no_hindrance(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = config()
    learn_names(chosen, admins(chosen, {"dc3": ["dc2.dc1.orders"]}, monkeypatch))
    assert chosen.names.topic("dc3", "dc1.orders") == "dc2.dc1.orders"
    assert chosen.names.topic("dc2", "dc1.orders") == "dc1.orders"


def test_what_spark_would_read_by_its_pattern_and_is_no_stream_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = config()
    there = {"dc1": ["orders", "dc2.orders", "dc2.dc1.orders", "dc3.dc1.pay-x", "x"]}
    # A copy of the cluster's own topic, which no mirror makes, is none.
    assert strays(chosen, admins(chosen, there, monkeypatch)["dc1"]) == ["dc2.dc1.orders", "dc3.dc1.pay-x"]
