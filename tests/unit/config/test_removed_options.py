"""Options of earlier versions: a file that has one is refused with the remedy, whatever the option's value."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.kept_installation import CONFIGURATION, KEPT, without_removed_options
from offset_sync.config import load_config, parse_config
from offset_sync.model.errors import ConfigError

REMEDIES = {
    "deletes": "sync.deletes: was removed; remove the line: offsets that a group deleted at its home cluster are no "
    "longer refreshed at the other clusters and expire there; nothing is deleted",
    "metadata": "sync.metadata: was removed; remove the line: commits carry empty metadata",
}


def problems(**sections: object) -> list[str]:
    clusters = {alias: {"kafka": {"bootstrap.servers": f"{alias}:9092"}} for alias in ("dc1", "dc2")}
    with pytest.raises(ConfigError) as caught:
        parse_config({"clusters": clusters, "topics": {"include": ["orders"]}, **sections}, {})
    return caught.value.problems


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("deletes", value) for value in ("ignore", "follow", "${POLICY:-ignore}", None)),
        *(("metadata", value) for value in ("tag", "carry", None)),
    ],
)
def test_a_removed_option_is_refused_with_the_remedy_whatever_its_value(name: str, value: str | None) -> None:
    assert problems(sync={name: value}) == [REMEDIES[name]]


def test_removed_options_are_reported_with_all_other_problems() -> None:
    found = problems(sync={"deletes": "ignore", "metadata": "tag", "hole_grace": "soon"}, tabels={})
    assert set(REMEDIES.values()) < set(found)
    assert {line.split(": ")[0] for line in found} - {"sync.deletes", "sync.metadata"} == {"sync.hole_grace", "tabels"}


def test_the_name_of_a_removed_option_is_any_unknown_key_elsewhere() -> None:
    assert problems(index={"deletes": "ignore"})[0].startswith("index.deletes: unknown key; remove it")


def test_the_configuration_of_an_earlier_version_is_refused_and_loads_without_the_removed_options(
    tmp_path: Path,
) -> None:
    environment = {"KEPT_DC1": "a:1", "KEPT_DC2": "b:2", "KEPT_FOLDER": "kept"}
    with pytest.raises(ConfigError) as caught:
        load_config(KEPT / CONFIGURATION, environment)
    assert caught.value.problems == [REMEDIES["deletes"]]
    path = tmp_path / CONFIGURATION
    path.write_text(without_removed_options((KEPT / CONFIGURATION).read_text()))
    assert load_config(path, environment).sync.requests_in_flight == 500
