"""Options and values of earlier versions: a file that has one is refused with the remedy."""

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


PRESET = (
    "mirror.preset: 'lenses-k2k' was removed: it was never tested with Lenses K2K; write identity: fingerprint and "
    "keeps: [timestamps] instead, and begin with new tables (docs/mirrors-contents.md). Or write origin_header: "
    "k2k_pipeline, offset_header: k2k_offset and, as clusters.X.origin, the pipeline that reads X; k2k_topic and "
    "k2k_partition are no longer checked then. So this is safe only if at most one pipeline reads each cluster, no "
    "copy is copied on or back, and no application passes headers on; else unread records may count as read"
)
PIPELINES = "mirror.pipelines: was removed together with mirror.preset lenses-k2k, its only user; remove the line"


def test_the_removed_preset_is_refused_with_what_to_write_instead_and_what_that_loses() -> None:
    pipelines = {"one": "dc1", "other": "dc2"}
    assert problems(mirror={"preset": "lenses-k2k"}) == [PRESET]
    assert problems(mirror={"preset": "lenses-k2k", "pipelines": pipelines}) == [PRESET, PIPELINES]
    for mirror in ({}, {"preset": "redpanda-migrator"}):
        for value in (pipelines, {}, None, "one"):
            assert problems(mirror={**mirror, "pipelines": value}) == [PIPELINES]


def test_what_the_error_names_instead_of_the_preset_loads() -> None:
    kafka, topics = {"bootstrap.servers": "a:1"}, {"include": ["orders"]}
    clusters = {"dc1": {"kafka": kafka, "origin": "dc1-to-dc2"}, "dc2": {"kafka": kafka}}
    mirror: dict[str, object] = {"origin_header": "k2k_pipeline", "offset_header": "k2k_offset"}
    config = parse_config({"clusters": clusters, "mirror": mirror, "topics": topics}, {})
    assert config.origins() == {"dc1-to-dc2": "dc1", "dc2": "dc2"}
    mirror = {"identity": "fingerprint", "keeps": ["timestamps"], "names": "mm2"}
    assert parse_config({"clusters": clusters, "mirror": mirror, "topics": topics}, {}).is_by_contents


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
