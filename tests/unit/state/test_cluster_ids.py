"""The clusters' own ids: asked when the index starts, kept for the day on which one is lost, and never guessed."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from offset_sync.config import Config, parse_config
from offset_sync.model.errors import ClusterError, ConfigError
from offset_sync.state.cluster_ids import ids_file, with_asked_ids, with_known_ids
from offset_sync.tables.files import Files

FILES = Files()


class Cluster:
    """Says its id, or nothing where that is None; *asked* keeps how long it was waited for."""

    def __init__(self, alias: str, cluster_id: str | None) -> None:
        self.alias, self.id, self.asked = alias, cluster_id, list[float]()

    def cluster_id(self, deadline: float) -> str:
        self.asked.append(deadline)
        if self.id is None:
            raise ClusterError(self.alias, '_TIMED_OUT for "the cluster\'s id"')
        return self.id


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path


def config_at(place: Path, preset: str = "redpanda-migrator", **origins: str) -> Config:
    ends = {"kafka": {"bootstrap.servers": "x:1"}}
    clusters: dict[str, Any] = {
        alias: ends | ({"origin": origins[alias]} if alias in origins else {}) for alias in ("dc1", "dc2")
    }
    tables = {"root": f"{place}/tables", "checkpoints": f"{place}/checkpoints"}
    mirror = {"preset": preset}
    return parse_config({"clusters": clusters, "mirror": mirror, "topics": {"include": ["a"]}, "tables": tables}, {})


def start(config: Config, **ids: str | None) -> dict[str, str]:
    """Return the origins that an index has that starts while the clusters say *ids*."""
    clusters = {alias: Cluster(alias, each) for alias, each in ids.items()}
    return with_asked_ids(config, FILES, clusters).origins()


def test_the_clusters_are_asked_and_what_they_say_is_kept(place: Path) -> None:
    config = config_at(place)
    assert with_known_ids(config, FILES).origins() == {}
    assert start(config, dc1="id-1", dc2="id-2") == {"id-1": "dc1", "id-2": "dc2"}
    assert with_known_ids(config, FILES).origins() == {"id-1": "dc1", "id-2": "dc2"}
    assert json.loads(Path(ids_file(config)).read_text()) == {"dc1": "id-1", "dc2": "id-2"}


def test_a_lost_cluster_has_the_id_that_it_had(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    start(config_at(place), dc1="id-1", dc2="id-2")
    with caplog.at_level(logging.WARNING):
        assert start(config_at(place), dc1=None, dc2="id-2") == {"id-1": "dc1", "id-2": "dc2"}
    assert "its id is taken to be id-1, as before" in caplog.text


def test_a_lost_cluster_is_not_waited_for_so_long_where_its_id_is_known(place: Path) -> None:
    silent, other = Cluster("dc1", None), Cluster("dc2", "id-2")
    with pytest.raises(ClusterError):
        with_asked_ids(config_at(place), FILES, {"dc1": silent, "dc2": other})
    silent.id = "id-1"
    with_asked_ids(config_at(place), FILES, {"dc1": silent, "dc2": other})
    with_asked_ids(config_at(place), FILES, {"dc1": silent, "dc2": other})
    assert silent.asked == [15.0, 15.0, 5.0]


def test_a_cluster_that_never_said_its_id_is_an_error_that_names_the_remedy_and_nothing_is_guessed(
    place: Path,
) -> None:
    with pytest.raises(ClusterError) as caught:
        start(config_at(place), dc1=None, dc2="id-2")
    line = str(caught.value)
    assert line.startswith('clusters.dc1: _TIMED_OUT for "the cluster\'s id"; its id is not known from before')
    assert "set clusters.dc1.origin to what that header says" in line
    assert not Path(ids_file(config_at(place))).exists()


def test_an_origin_that_is_given_is_the_remedy(place: Path) -> None:
    assert start(config_at(place, dc1="id-1"), dc1=None, dc2="id-2") == {"id-1": "dc1", "id-2": "dc2"}
    assert start(config_at(place, dc1="id-1", dc2="id-2")) == {"id-1": "dc1", "id-2": "dc2"}


def test_a_cluster_that_was_recreated_has_its_new_id(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    start(config_at(place), dc1="id-1", dc2="id-2")
    with caplog.at_level(logging.WARNING):
        assert start(config_at(place), dc1="id-9", dc2="id-2") == {"id-9": "dc1", "id-2": "dc2"}
    assert "its id is id-9 and was id-1" in caplog.text
    assert start(config_at(place), dc1=None, dc2="id-2") == {"id-9": "dc1", "id-2": "dc2"}


def test_two_clusters_with_one_id_are_refused_and_nothing_is_kept(place: Path) -> None:
    start(config_at(place), dc1="id-1", dc2="id-2")
    with pytest.raises(ConfigError, match=r"is the id of clusters\.dc1 too"):
        start(config_at(place), dc1="id-1", dc2="id-1")
    assert with_known_ids(config_at(place), FILES).origins() == {"id-1": "dc1", "id-2": "dc2"}


@pytest.mark.parametrize("content", ["", "{", "[]", '{"dc1": 5}', "null"])
def test_a_file_that_is_not_whole_says_nothing(place: Path, content: str) -> None:
    config = config_at(place)
    Path(ids_file(config)).parent.mkdir()
    Path(ids_file(config)).write_text(content)
    assert with_known_ids(config, FILES).origins() == {}
    with pytest.raises(ClusterError):
        start(config, dc1=None, dc2="id-2")


def test_what_is_kept_of_a_cluster_that_was_taken_out_does_not_matter(place: Path) -> None:
    config = config_at(place)
    Path(ids_file(config)).parent.mkdir()
    Path(ids_file(config)).write_text('{"dc1": "id-1", "dc0": "id-2"}')
    assert start(config, dc1=None, dc2="id-2") == {"id-1": "dc1", "id-2": "dc2"}


def test_with_other_presets_no_cluster_is_asked_and_nothing_is_kept(place: Path) -> None:
    config = config_at(place, "offset-sync")
    assert with_asked_ids(config, FILES, {}) is config
    assert with_known_ids(config, FILES) is config
    assert not Path(ids_file(config)).exists()
