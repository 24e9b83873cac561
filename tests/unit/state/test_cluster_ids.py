"""The clusters' own ids: kept with the first answer, kept on the day on which one is lost, and never guessed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fakes.reconciler_site import config_of
from offset_sync.config import Config, parse_config
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.model.errors import ClusterError, ConfigError, OtherClusterError
from offset_sync.state.cluster_ids import ids_file, refuse_shared, with_first_ids, with_known_ids
from offset_sync.state.known_names import learn_names, strays
from offset_sync.tables.files import Files

FILES = Files()
OWN, MIGRATOR = "offset-sync", "redpanda-migrator"
BOTH = {"dc1": "id-1", "dc2": "id-2"}


class Clusters:
    """Say these ids, by alias; one without does not answer. *asked* keeps how long each was waited for."""

    def __init__(self, **ids: str) -> None:
        self.ids, self.asked = ids, dict[str, float]()

    def __call__(self, config: Config, alias: str, deadline: float) -> str:
        self.asked[alias] = deadline
        if alias not in self.ids:
            raise ClusterError(alias, '_TIMED_OUT for "the cluster\'s id"')
        return self.ids[alias]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path


def config_at(place: Path, preset: str = OWN, **origins: str) -> Config:
    ends = {"kafka": {"bootstrap.servers": "x:1"}}
    clusters: dict[str, Any] = {
        alias: ends | ({"origin": origins[alias]} if alias in origins else {}) for alias in ("dc1", "dc2")
    }
    tables = {"root": f"{place}/tables", "checkpoints": f"{place}/checkpoints"}
    mirror = {"preset": preset}
    return parse_config({"clusters": clusters, "mirror": mirror, "topics": {"include": ["a"]}, "tables": tables}, {})


def start(config: Config, **ids: str) -> Config:
    """Return the configuration of a job that starts while the clusters say *ids*."""
    return with_first_ids(config, FILES, Clusters(**ids))


def kept(place: Path) -> object:
    return json.loads(Path(ids_file(config_at(place))).read_text())


@pytest.mark.parametrize("preset", [OWN, MIGRATOR])
def test_the_first_answers_are_kept_and_no_cluster_is_asked_again(place: Path, preset: str) -> None:
    config = config_at(place, preset)
    assert with_known_ids(config, FILES).ids == {}
    assert start(config, **BOTH).ids == with_known_ids(config, FILES).ids == kept(place) == BOTH
    clusters = Clusters(dc1="id-9", dc2="id-8")
    assert (with_first_ids(config, FILES, clusters).ids, clusters.asked) == (BOTH, {})


def test_where_its_id_is_needed_a_cluster_without_one_is_an_error_that_names_the_remedy(place: Path) -> None:
    with pytest.raises(ClusterError) as caught:
        start(config_at(place, MIGRATOR), dc2="id-2")
    line = str(caught.value)
    assert line.startswith('clusters.dc1: _TIMED_OUT for "the cluster\'s id"; its id is not known from before')
    assert "set clusters.dc1.origin to what that header says" in line
    assert not Path(ids_file(config_at(place))).exists()
    assert start(config_at(place, MIGRATOR, dc1="id-1"), dc2="id-2").origins() == {"id-1": "dc1", "id-2": "dc2"}


def test_two_aliases_of_one_cluster_are_refused_and_nothing_is_kept(place: Path) -> None:
    with pytest.raises(ConfigError, match=r"clusters\.dc\d: is the same cluster as clusters\.dc\d, with the id id-1;"):
        start(config_at(place), dc1="id-1", dc2="id-1")
    assert not Path(ids_file(config_at(place))).exists()
    start(config_at(place), dc1="id-1")
    with pytest.raises(ConfigError, match=r"is the same cluster as clusters\.dc1, with the id id-1;"):
        start(config_at(place), dc2="id-1")
    assert kept(place) == {"dc1": "id-1"}


def test_what_another_job_has_kept_meanwhile_wins(place: Path) -> None:
    class Racing(Clusters):
        def __call__(self, config: Config, alias: str, deadline: float) -> str:
            start(config_at(place), **BOTH)
            return super().__call__(config, alias, deadline)

    assert with_first_ids(config_at(place), FILES, Racing(**BOTH)).ids == BOTH
    Path(ids_file(config_at(place))).unlink()
    with pytest.raises(OtherClusterError, match="its id is id-9 and was id-1, so "):
        with_first_ids(config_at(place), FILES, Racing(dc1="id-9"))
    assert kept(place) == BOTH


@pytest.mark.parametrize("content", ["", "{", "[]", '{"dc1": 5}', "null"])
def test_a_file_that_is_not_whole_says_nothing(place: Path, content: str) -> None:
    config = config_at(place)
    Path(ids_file(config)).parent.mkdir()
    Path(ids_file(config)).write_text(content)
    assert with_known_ids(config, FILES).ids == {}
    assert start(config, **BOTH).ids == kept(place) == BOTH


@pytest.mark.parametrize("is_kept", [False, True])
def test_other_commands_refuse_two_aliases_of_one_cluster_and_keep_nothing(place: Path, is_kept: bool) -> None:
    ids = {"dc1": "id-1"}
    config = start(config_at(place), **ids) if is_kept else config_at(place)
    told = Clusters(dc2="id-1") if is_kept else Clusters(dc1="id-1", dc2="id-1")
    with pytest.raises(ConfigError, match=r"^clusters\.dc2: is the same cluster as clusters\.dc1, with the id id-1;"):
        refuse_shared(config, config.clusters, told)
    assert max(told.asked.values()) <= 3.0
    refuse_shared(config, config.clusters, Clusters(dc2="id-2"))
    refuse_shared(config, config.clusters, Clusters())
    assert with_known_ids(config, FILES).ids == (ids if is_kept else {})


ALIASES = ("dc1", "dc2", "dc3")


def config() -> Config:
    return config_of(ALIASES, mirror={"names": "mm2"})


def admins(config: Config, topics: Mapping[str, list[str]], patch: pytest.MonkeyPatch) -> dict[str, ClusterAdmin]:
    def listed(admin: ClusterAdmin, _deadline: float = 0) -> list[str]:
        if admin.alias not in topics:
            raise ClusterError(admin.alias, "no answer")
        return topics[admin.alias]

    patch.setattr(ClusterAdmin, "topic_names", listed)
    return {alias: ClusterAdmin(alias, {}, config.names) for alias in ALIASES}


def test_two_names_of_one_stream_are_an_error_that_names_both(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = config()
    there = {"dc1": ["orders"], "dc2": ["dc1.orders"], "dc3": ["dc2.dc1.orders", "dc1.orders"]}
    with pytest.raises(ConfigError) as caught:
        learn_names(chosen, admins(chosen, there, monkeypatch))
    (problem,) = caught.value.problems
    assert "clusters.dc3: dc1.orders and dc2.dc1.orders are two names of one stream" in problem


def test_what_spark_would_read_by_its_pattern_and_is_no_stream_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = config()
    there = {"dc1": ["orders", "dc2.orders", "dc2.dc1.orders", "dc3.dc1.pay-x", "x"]}
    # A copy of the cluster's own topic, which no mirror makes, is none.
    assert strays(chosen, admins(chosen, there, monkeypatch)["dc1"]) == ["dc2.dc1.orders", "dc3.dc1.pay-x"]
