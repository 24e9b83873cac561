"""Headers of another name and form, one direction only, topics left out: a configuration that changes all of it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from broker.committed_offsets import Partition, commit, committed
from broker.crafted_logs import Clusters, Entries, Stamp, crafted_logs, create_topics, question, write_log
from broker.installation import Installation, install
from generators.mirrored_logs import World
from oracles.translation import answers

pytestmark = [pytest.mark.broker, pytest.mark.versions, pytest.mark.timeout(1200)]

ALIASES = ("dc1", "dc2")
STAMP = Stamp("X-Origin", "X-Position", is_text=False, value_of={"dc1": "Zürich", "dc2": "Genève"})
WORLD = World(ALIASES, ALIASES, (ALIASES, ALIASES[::-1]), 60, resend=0.2, drop=0.2, malformed=0.15, echo=0.1)
SYNCED: list[Partition] = [("binary-in", 0), ("binary-in", 1)]
LEFT_OUT: list[Partition] = [("binary-off", 0), ("binary-excluded", 0)]
LOGS: dict[Partition, dict[str, Entries]] = {
    place: {**crafted_logs(WORLD, 400 + number)} for number, place in enumerate([*SYNCED, *LEFT_OUT])
}


@dataclass(frozen=True)
class Binary:
    """The clusters and the installation that has run."""

    clusters: Clusters
    installation: Installation

    def offsets(self, alias: str, place: Partition) -> dict[str, int]:
        """Return what each group of a partition has on a cluster."""
        found = committed(self.clusters[alias], groups(place))
        return {group: by[place].offset for group, by in found.items() if by}


def groups(place: Partition) -> list[str]:
    """One group per offset of dc1's log."""
    return [f"{place[0]}-{place[1]}-{c}" for c in range(len(LOGS[place]["dc1"]) + 1)]


@pytest.fixture(scope="module")
def binary(clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Binary:
    for alias in ALIASES:
        create_topics(clusters[alias], {"binary-in": 2, "binary-off": 1, "binary-excluded": 1})
        write_log(clusters[alias], {place: logs[alias] for place, logs in LOGS.items()}, STAMP)
    installation = install(
        tmp_path_factory.mktemp("binary"),
        {alias: clusters[alias].bootstrap_servers for alias in ALIASES},
        ["binary-.*"],
        origins=STAMP.value_of,
        mirror={"origin_header": "X-Origin", "offset_header": "X-Position", "offset_encoding": "int64"},
        topics={"exclude": [".*-excluded"], "overrides": [{"topics": ["binary-off"], "strategy": "off"}]},
        directions=[["dc1", "dc2"]],
    )
    commit(clusters["dc2"], {"binary-other-way": {SYNCED[0]: 1}})
    commit(clusters["dc1"], {group: {place: c} for place in LOGS for c, group in enumerate(groups(place))})
    assert (installation.index(), installation.sync()) == ([], [])
    return Binary(clusters, installation)


@pytest.mark.parametrize("place", SYNCED)
def test_binary_offsets_and_other_names_give_the_same_answers(binary: Binary, place: Partition) -> None:
    found = answers(question("dc1", "dc2", LOGS[place]), range(len(groups(place))))
    wanted = {group: answer.clamped_offset for group, answer in zip(groups(place), found)}
    assert binary.offsets("dc2", place) == wanted


def test_origins_are_recorded_under_their_alias(binary: Binary) -> None:
    assert {row["origin"] for row in binary.installation.rows("record_runs")} == {*ALIASES, ""}


def test_binary_offsets_that_cannot_be_read_are_in_quarantine(binary: Binary) -> None:
    wanted = {
        (alias, *place, record.offset)
        for place in SYNCED
        for alias in ALIASES
        for record in LOGS[place][alias]
        if record is not None and record.is_malformed
    }
    rows = binary.installation.rows("quarantine")
    assert wanted
    assert {(row["cluster"], row["topic"], row["partition"], row["offset"]) for row in rows} == wanted


@pytest.mark.parametrize("place", LEFT_OUT)
def test_a_topic_left_out_is_neither_indexed_nor_synced(binary: Binary, place: Partition) -> None:
    assert binary.installation.rows("record_runs", topic=place[0]) == []
    assert binary.installation.rows("indexed_topics", topic=place[0]) == []
    assert binary.offsets("dc2", place) == {}
    assert binary.installation.translations(topic=place[0]) == []


def test_a_direction_that_is_not_named_is_not_synced(binary: Binary) -> None:
    assert committed(binary.clusters["dc1"], ["binary-other-way"]) == {"binary-other-way": {}}
    assert {(r["source_cluster"], r["target_cluster"]) for r in binary.installation.translations()} == {ALIASES}
