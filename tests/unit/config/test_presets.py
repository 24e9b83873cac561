"""``mirror.preset``: what each sets, what does not go with it, and that older configurations stay what they were."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
import yaml

from offset_sync.config import Config, Mirror, load_config, parse_config
from offset_sync.config.mirror import PRESETS
from offset_sync.model.errors import ConfigError

DC1 = {"kafka": {"bootstrap.servers": "a:1"}}
DC2 = {"kafka": {"bootstrap.servers": "b:2"}}
DC3 = {"kafka": {"bootstrap.servers": "c:3"}}
TWO, THREE = {"dc1": DC1, "dc2": DC2}, {"dc1": DC1, "dc2": DC2, "dc3": DC3}
REDPANDA = {"preset": "redpanda-migrator"}


def parsed(mirror: dict[str, Any], clusters: dict[str, Any] | None = None) -> Config:
    return parse_config({"clusters": clusters or TWO, "mirror": mirror, "topics": {"include": ["orders"]}}, {})


def problems(mirror: dict[str, Any], clusters: dict[str, Any] | None = None) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parsed(mirror, clusters)
    return caught.value.problems


def columns(mirror: dict[str, Any]) -> dict[str, str]:
    return parsed(mirror).mirror.header_columns()


# What each sets


def test_without_a_preset_everything_is_as_it_was() -> None:
    assert columns({}) == columns({"preset": "offset-sync"}) == {"origin_header": "IDC", "offset_header": "Offset"}
    own = {"origin_header": "from", "offset_header": "at", "offset_encoding": "int64", "place_header": "Place"}
    named = {"origin_header": "from", "offset_header": "at", "place_header": "Place"}
    assert columns(own) == columns({"preset": "offset-sync", **own}) == named
    config = parsed({}, {"dc1": {**DC1, "origin": "IDC1"}, "dc2": DC2})
    assert config.origins() == {"IDC1": "dc1", "dc2": "dc2"}
    assert (config.to_ask(), config.mirror.known.is_closed) == ([], False)


def test_redpanda_migrators_headers_are_set_and_the_clusters_are_to_be_asked() -> None:
    config = parsed(REDPANDA)
    mirror = config.mirror
    assert mirror.header_columns() == {
        "origin_header": "redpanda-migrator-provenance",
        "offset_header": "redpanda-migrator-offset",
    }
    assert (mirror.offset_encoding, mirror.known.is_closed) == ("int64", True)
    assert (config.to_ask(), config.origins()) == (["dc1", "dc2"], {})
    known = config.with_origins({"dc1": "id-1", "dc2": "id-2"})
    assert (known.to_ask(), known.origins()) == ([], {"id-1": "dc1", "id-2": "dc2"})


def test_an_origin_that_is_given_is_not_asked_for() -> None:
    config = parsed(REDPANDA, {"dc1": {**DC1, "origin": "id-1"}, "dc2": DC2})
    assert (config.to_ask(), config.origins()) == (["dc2"], {"id-1": "dc1"})
    assert config.with_origins({"dc1": "said", "dc2": "id-2"}).origins() == {"id-1": "dc1", "id-2": "dc2"}
    assert config.with_origins({}).to_ask() == ["dc2"]


def test_two_clusters_with_one_id_are_refused_and_both_named() -> None:
    with pytest.raises(ConfigError, match=r"clusters\.dc2\.origin: 'id' is the id of clusters\.dc1 too; "):
        parsed(REDPANDA).with_origins({"dc1": "id", "dc2": "id"})


def test_a_preset_may_be_made_in_python_and_travels_to_an_executor() -> None:
    assert Mirror(preset="redpanda-migrator").offset_encoding == "int64"
    assert Mirror(preset="redpanda-migrator", place_header="Place").header_columns()["place_header"] == "Place"
    config = parsed(REDPANDA).with_origins({"dc1": "id-1", "dc2": "id-2"})
    assert pickle.loads(pickle.dumps(config)).origins() == {"id-1": "dc1", "id-2": "dc2"}


@pytest.mark.parametrize("mirror", [{}, REDPANDA])
def test_what_is_shown_loads_as_the_same_configuration(mirror: dict[str, Any], tmp_path: Path) -> None:
    config, path = parsed(mirror), tmp_path / "shown.yaml"
    path.write_text(yaml.safe_dump(config.redacted()))
    assert load_config(path) == config


def test_secrets_stay_hidden_when_origins_become_known() -> None:
    tree = {"clusters": TWO, "mirror": REDPANDA, "topics": {"include": ["${T}"]}}
    config = parse_config(tree, {"T": "orders"}).with_origins({"dc1": "id-1"})
    assert config.redacted()["topics"]["include"] == ["***"]
    assert config.redacted()["clusters"]["dc1"]["origin"] == "id-1"


# What does not go with it


def test_the_same_value_beside_a_preset_is_fine_and_another_one_is_an_error_that_names_both() -> None:
    defaults = PRESETS["redpanda-migrator"].defaults()
    assert parsed({**REDPANDA, **defaults}) == parsed(REDPANDA)
    for key in ("origin_header", "offset_header"):
        assert problems({**REDPANDA, key: "other"}) == [
            f"mirror.{key}: 'other' contradicts mirror.preset redpanda-migrator, which has {defaults[key]!r}; "
            "remove it, or the preset"
        ]


def test_redpandas_encoding_is_known_so_another_one_contradicts_it() -> None:
    assert problems({**REDPANDA, "offset_encoding": "text"}) == [
        "mirror.offset_encoding: 'text' contradicts mirror.preset redpanda-migrator, which has 'int64'; "
        "remove it, or the preset"
    ]


def test_a_place_header_goes_with_a_preset_under_a_name_of_its_own() -> None:
    assert parsed({**REDPANDA, "place_header": "Place"}).mirror.place_header == "Place"
    (line,) = problems({**REDPANDA, "place_header": "redpanda-migrator-offset"})
    assert line.startswith("mirror.place_header: is the same as mirror.offset_header")


def test_all_contradictions_are_told_at_once() -> None:
    found = problems({**REDPANDA, "origin_header": "IDC", "offset_header": "Offset", "offset_encoding": "text"}, THREE)
    assert [line.split(": ")[0] for line in found] == [
        "mirror.origin_header",
        "mirror.offset_header",
        "mirror.offset_encoding",
        "mirror.preset",
    ]


def test_redpanda_migrator_goes_with_two_clusters_only_and_the_error_says_why() -> None:
    (line,) = problems(REDPANDA, THREE)
    assert line.startswith("mirror.preset: redpanda-migrator goes with two clusters, and there are 3: at every hop")
    assert "; leave two clusters" in line


def test_a_preset_that_there_is_not_is_refused_once() -> None:
    (line,) = problems({"preset": "redpanda"})
    assert line.startswith("mirror.preset: 'redpanda' is none of its values; use 'offset-sync' or 'redpanda-migrator'")
    assert [each.split(": ")[0] for each in problems({"preset": ["redpanda-migrator"]})] == ["mirror.preset"]


@pytest.mark.parametrize("one", ["dc2", "same"])
def test_origins_that_could_mean_two_clusters_are_refused_with_a_preset_too(one: str) -> None:
    found = problems(REDPANDA, {"dc1": {**DC1, "origin": one}, "dc2": {**DC2, "origin": "same"}})
    assert all(".origin: " in line for line in found)
