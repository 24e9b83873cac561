"""The section ``mirror``: presets, identity by headers or contents, cautions, and MirrorMaker's checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from builders.configurations import clusters, parsed, problems
from offset_sync.config import Config, load_config
from offset_sync.config.mirror import PRESETS
from offset_sync.config.rules import cautions
from offset_sync.model.errors import ConfigError

TWO, THREE = clusters("dc1", "dc2"), clusters("dc1", "dc2", "dc3")
REDPANDA = {"preset": "redpanda-migrator"}


def mirrored(mirror: dict[str, Any], known: dict[str, Any] = TWO, **sections: Any) -> Config:
    return parsed(clusters=known, mirror=mirror, **sections)


def mirror_problems(mirror: dict[str, Any], known: dict[str, Any] = TWO, **sections: Any) -> list[str]:
    return problems(clusters=known, mirror=mirror, **sections)


# What each preset sets


def test_redpanda_migrators_headers_are_set_and_the_clusters_are_to_be_asked() -> None:
    config = mirrored(REDPANDA)
    mirror = config.mirror
    assert mirror.header_columns() == {
        "origin_header": "redpanda-migrator-provenance",
        "offset_header": "redpanda-migrator-offset",
    }
    assert (mirror.offset_encoding, mirror.known.is_closed) == ("int64", True)
    assert (config.to_ask(), config.origins()) == (["dc1", "dc2"], {})
    known = config.with_ids({"dc1": "id-1", "dc2": "id-2"})
    assert (known.to_ask(), known.origins()) == ([], {"id-1": "dc1", "id-2": "dc2"})


def test_two_clusters_with_one_id_are_refused_and_both_named() -> None:
    with pytest.raises(ConfigError, match=r"clusters\.dc2: is the same cluster as clusters\.dc1, with the id id; "):
        mirrored(REDPANDA).with_ids({"dc1": "id", "dc2": "id"})


@pytest.mark.parametrize("mirror", [{}, REDPANDA])
def test_what_is_shown_loads_as_the_same_configuration(mirror: dict[str, Any], tmp_path: Path) -> None:
    config, path = mirrored(mirror), tmp_path / "shown.yaml"
    path.write_text(yaml.safe_dump(config.redacted()))
    assert load_config(path) == config


# What does not go with a preset


def test_the_same_value_beside_a_preset_is_fine_and_another_one_is_an_error_that_names_both() -> None:
    defaults = PRESETS["redpanda-migrator"].defaults()
    assert mirrored({**REDPANDA, **defaults}) == mirrored(REDPANDA)
    for key in ("origin_header", "offset_header"):
        assert mirror_problems({**REDPANDA, key: "other"}) == [
            f"mirror.{key}: 'other' contradicts mirror.preset redpanda-migrator, which has {defaults[key]!r}; "
            "remove it, or the preset"
        ]


def test_redpanda_migrator_goes_with_two_clusters_only_and_the_error_says_why() -> None:
    (line,) = mirror_problems(REDPANDA, THREE)
    assert line.startswith("mirror.preset: redpanda-migrator needs two clusters, and there are 3: at every hop")
    assert "; leave two clusters" in line


def test_a_preset_that_there_is_not_is_refused_once() -> None:
    (line,) = mirror_problems({"preset": "redpanda"})
    assert line.startswith("mirror.preset: 'redpanda' is none of its values; use 'offset-sync' or 'redpanda-migrator'")
    assert [each.split(": ")[0] for each in mirror_problems({"preset": ["redpanda-migrator"]})] == ["mirror.preset"]


# What works and cannot be verified: copies that come by way of a third cluster, without their place


def said(known: Any = THREE, **sections: Any) -> list[str]:
    return [str(each) for each in cautions(parsed(clusters=known, **sections))]


def test_copies_that_may_pass_two_hops_want_their_place() -> None:
    (found,) = said(mirror={"names": "mm2"})
    assert found.startswith("mirror.place_header: is empty, and with mirror.names mm2 and 3 clusters a copy may come")
    assert "have the mirror stamp the place" in found
    assert said(mirror={"names": "mm2", "place_header": "Place"}) == []
    assert said() == []
