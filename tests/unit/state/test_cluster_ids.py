"""The clusters' own ids: kept with the first answer, kept on the day on which one is lost, and never guessed."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fakes.reconciler_site import config_of
from offset_sync.config import Config, parse_config
from offset_sync.model.errors import ClusterError, ConfigError, OtherClusterError
from offset_sync.state.cluster_ids import ids_file, refuse_shared, with_first_ids, with_known_ids
from offset_sync.state.known_names import learn_names, strays
from offset_sync.tables.files import Files

FILES = Files()
MIGRATOR = "redpanda-migrator"
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


def config_at(place: Path, preset: str = "offset-sync", **origins: str) -> Config:
    clusters: dict[str, Any] = {alias: {"kafka": {"bootstrap.servers": "x:1"}} for alias in ("dc1", "dc2")}
    for alias, origin in origins.items():
        clusters[alias]["origin"] = origin
    tables = {"root": f"{place}/tables", "checkpoints": f"{place}/checkpoints"}
    sections = {"clusters": clusters, "mirror": {"preset": preset}, "topics": {"include": ["a"]}, "tables": tables}
    return parse_config(sections, {})


def start(config: Config, **ids: str) -> Config:
    """Return the configuration of a job that starts while the clusters say *ids*."""
    return with_first_ids(config, FILES, Clusters(**ids))


def kept(place: Path) -> object:
    return json.loads(Path(ids_file(config_at(place))).read_text())


@pytest.mark.parametrize("partial", [None, "", "{", "[]", '{"dc1": 5}', "null"])
def test_the_first_answers_are_kept_and_no_cluster_is_asked_again(tmp_path: Path, partial: str | None) -> None:
    """A file that is not whole, since its write was interrupted, says nothing."""
    config = config_at(tmp_path)
    if partial is not None:
        Files().write_text(ids_file(config), partial)
    assert with_known_ids(config, FILES).ids == {}
    assert start(config, **BOTH).ids == with_known_ids(config, FILES).ids == kept(tmp_path) == BOTH
    clusters = Clusters(dc1="id-9", dc2="id-8")
    assert (with_first_ids(config, FILES, clusters).ids, clusters.asked) == (BOTH, {})


def test_where_its_id_is_needed_a_cluster_without_one_is_an_error_that_names_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(ClusterError) as caught:
        start(config_at(tmp_path, MIGRATOR), dc2="id-2")
    assert "set clusters.dc1.origin to what that header says" in str(caught.value)
    assert not Path(ids_file(config_at(tmp_path))).exists()
    assert start(config_at(tmp_path, MIGRATOR, dc1="id-1"), dc2="id-2").origins() == {"id-1": "dc1", "id-2": "dc2"}


def test_two_aliases_of_one_cluster_are_refused_and_nothing_is_kept(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"clusters\.dc\d: is the same cluster as clusters\.dc\d, with the id id-1;"):
        start(config_at(tmp_path), dc1="id-1", dc2="id-1")
    assert not Path(ids_file(config_at(tmp_path))).exists()
    start(config_at(tmp_path), dc1="id-1")
    with pytest.raises(ConfigError, match=r"is the same cluster as clusters\.dc1, with the id id-1;"):
        start(config_at(tmp_path), dc2="id-1")
    assert kept(tmp_path) == {"dc1": "id-1"}


def test_what_another_job_has_kept_meanwhile_wins(tmp_path: Path) -> None:
    class Racing(Clusters):
        def __call__(self, config: Config, alias: str, deadline: float) -> str:
            start(config_at(tmp_path), **BOTH)
            return super().__call__(config, alias, deadline)

    assert with_first_ids(config_at(tmp_path), FILES, Racing(**BOTH)).ids == BOTH
    Path(ids_file(config_at(tmp_path))).unlink()
    with pytest.raises(OtherClusterError, match="its id is id-9 and was id-1, so "):
        with_first_ids(config_at(tmp_path), FILES, Racing(dc1="id-9"))
    assert kept(tmp_path) == BOTH


def test_other_commands_refuse_two_aliases_of_one_cluster_and_keep_nothing(tmp_path: Path) -> None:
    config, told = config_at(tmp_path), Clusters(dc1="id-1", dc2="id-1")
    with pytest.raises(ConfigError, match=r"^clusters\.dc2: is the same cluster as clusters\.dc1, with the id id-1;"):
        refuse_shared(config, config.clusters, told)
    assert max(told.asked.values()) <= 3.0
    refuse_shared(config, config.clusters, Clusters(dc2="id-2"))
    assert with_known_ids(config, FILES).ids == {}


def named(alias: str, *topics: str) -> Any:
    return SimpleNamespace(alias=alias, topic_names=lambda _deadline: [*topics])


def test_topics_that_are_no_streams_are_left_out_and_two_names_of_one_stream_are_an_error() -> None:
    config = config_of(("dc1", "dc2", "dc3"), mirror={"names": "mm2"})
    there = named("dc1", "orders", "dc2.orders", "dc2.dc1.orders", "dc3.dc1.pay-x", "x")
    # A copy of the cluster's own topic, which no mirror makes, is none.
    assert strays(config, there) == ["dc2.dc1.orders", "dc3.dc1.pay-x"]
    with pytest.raises(
        ConfigError, match=r"clusters\.dc3: dc1\.orders and dc2\.dc1\.orders are two names of one stream"
    ):
        learn_names(config, {"dc3": named("dc3", "dc2.dc1.orders", "dc1.orders")})
