"""Crafted logs on three clusters, a group at every offset: the offsets on every target after --once are the oracle's.

Logs hold re-sent, reordered, late and dropped records, markers, aborted records, malformed headers, echoes, and records
of a cluster that is not configured. Each job is killed once with SIGKILL at the instruction that matters most.
"""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import pytest

from broker.committed_offsets import Partition, commit, commits_recorded, committed
from broker.crafted_logs import (
    Clusters,
    Entries,
    Stamp,
    copied_log,
    crafted_logs,
    create_topics,
    native_log,
    question,
    write_log,
)
from broker.installation import Installation, install
from generators.mirrored_logs import World
from offset_sync.ingest import commit_ingester
from offset_sync.ingest.kafka_source import read_by_tasks
from offset_sync.state import failpoints
from oracles.translation import answers

pytestmark = [pytest.mark.versions, pytest.mark.in_order, pytest.mark.timeout(1200)]

ALIASES = ("dc1", "dc2", "dc3")
PAIRS = list(permutations(ALIASES, 2))
ALL = (*ALIASES, "far")  # the last one is not configured
FAN_OUT = (("dc1", "dc2"), ("dc1", "dc3"))
STAMP = Stamp(value_of={"dc1": "IDC1"})
FAULTS = {"resend": 0.3, "reorder": 0.3, "drop": 0.4, "late": 0.2, "marker": 0.3, "malformed": 0.1, "echo": 0.1}
Logs = dict[str, Entries]


def worlds() -> dict[Partition, Logs]:
    """Every partition with what each cluster's log of it holds."""
    far, mesh = tuple(permutations(ALL, 2)), tuple(PAIRS)
    found: dict[Partition, Logs] = {}
    for number in range(4):
        producers = ("dc1", "dc2", "far") if number % 2 else ALL
        world = World(ALL, producers, far, 60, **FAULTS)
        found["mesh-any-order", number] = {**crafted_logs(world, number)}
    for number in range(3):
        world = World(ALIASES, ("dc1",), FAN_OUT, 40, **FAULTS | {"drop": 0.2 * number, "marker": 0.2 * (number % 2)})
        found["mesh-fan-out", number] = {**crafted_logs(world, 100 + number)}
    found["mesh-one-way", 0] = {**crafted_logs(World(ALIASES, ("dc1",), mesh, 40), 208)}
    found["mesh-both-ways", 0] = {**crafted_logs(World(ALIASES, ("dc1", "dc2"), mesh, 40), 201)}
    found["mesh-transactions", 0] = {**crafted_logs(World(ALIASES, ("dc1", "dc2"), mesh, 40, marker=0.9), 202)}
    found["mesh-empty", 0] = {alias: [] for alias in ALIASES}
    found["mesh-empty", 1] = {"dc1": native_log("dc1", 5), "dc2": [], "dc3": copied_log("dc1", [0, 1, 2])}
    return found


@dataclass(frozen=True)
class Mesh:
    """The clusters, what was crafted on them, and the two jobs that have run."""

    clusters: Clusters
    worlds: dict[Partition, Logs]
    installation: Installation

    def groups(self, source: str, place: Partition) -> list[str]:
        """Return one group for every offset that can be committed at *source*."""
        topic, partition = place
        return [f"{topic}-{partition}-{source}-{c}" for c in range(len(self.worlds[place][source]) + 1)]

    def expected(self, source: str, target: str) -> dict[str, dict[Partition, int]]:
        """Return what the oracle wants on *target* for the groups of *source*."""
        wanted: dict[str, dict[Partition, int]] = {}
        for place, logs in self.worlds.items():
            groups = self.groups(source, place)
            found = answers(question(source, target, logs), range(len(groups)))
            wanted |= {group: {place: answer.clamped_offset} for group, answer in zip(groups, found)}
            wanted.setdefault(f"all-of-{source}", {})[place] = found[len(groups) // 2].clamped_offset
        return wanted

    def found(self, target: str, groups: list[str]) -> dict[str, dict[Partition, int]]:
        """Return what the groups have on *target*."""
        found = committed(self.clusters[target], groups)
        return {group: {place: value.offset for place, value in offsets.items()} for group, offsets in found.items()}


@pytest.fixture(scope="module")
def mesh(three_clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Mesh:
    partitions: dict[str, int] = {}
    found = worlds()
    for topic, partition in found:
        partitions[topic] = max(partitions.get(topic, 0), partition + 1)
    for alias in ALIASES:
        create_topics(three_clusters[alias], partitions)
        write_log(three_clusters[alias], {place: logs[alias] for place, logs in found.items()}, STAMP)
    installation = install(
        tmp_path_factory.mktemp("mesh"), three_clusters, ["mesh-.*"], of_clusters={"dc1": {"origin": "IDC1"}}
    )
    mesh = Mesh(three_clusters, found, installation)
    commit_everywhere(mesh)
    for job, point in (("index_records", failpoints.AFTER_RUNS), ("sync_offsets", failpoints.AFTER_COMMIT)):
        assert installation.run(job, "--once", kill_at=point).exit_code == -9, point
        assert (installation.index(), installation.sync() if job == "sync_offsets" else []) == ([], [])
    return mesh


def commit_everywhere(mesh: Mesh) -> None:
    """Commit every offset of every log in a group of its own, and half of each log in one group of all partitions."""
    for source in ALIASES:
        offsets: dict[str, dict[Partition, int]] = {}
        for place in mesh.worlds:
            groups = mesh.groups(source, place)
            offsets |= {group: {place: number} for number, group in enumerate(groups)}
            offsets.setdefault(f"all-of-{source}", {})[place] = len(groups) // 2
        commit(mesh.clusters[source], offsets)


def test_every_group_is_exactly_where_the_oracle_says_and_none_is_moved_where_it_committed_itself(mesh: Mesh) -> None:
    for source, target in PAIRS:
        wanted = mesh.expected(source, target)
        assert len(wanted) > 200
        assert mesh.found(target, list(wanted)) == wanted, (source, target)
    for source in ALIASES:
        groups = [group for place in mesh.worlds for group in mesh.groups(source, place)]
        numbers = [number for place in mesh.worlds for number in range(len(mesh.groups(source, place)))]
        found = mesh.found(source, groups)
        assert [next(iter(found[group].values())) for group in groups] == numbers


def test_runs_cover_every_record_once_and_malformed_headers_are_in_quarantine_once_each(mesh: Mesh) -> None:
    written = [
        (alias, *place, record)
        for place, logs in mesh.worlds.items()
        for alias in ALIASES
        for record in logs[alias]
        if record is not None
    ]
    covered = [
        (row["cluster"], row["topic"], row["partition"], row["start_offset"] + step, row["origin"])
        for row in mesh.installation.rows("record_runs")
        for step in range(row["length"])
    ]
    assert sorted(covered) == sorted((*log, record.offset, record.origin) for *log, record in written)
    rows = mesh.installation.rows("quarantine")
    found = [(row["cluster"], row["topic"], row["partition"], row["offset"]) for row in rows]
    malformed = [(*log, record.offset) for *log, record in written if record.is_malformed]
    assert sorted(found) == sorted(malformed)
    assert len(malformed) > 10
    assert all(row["error"] for row in rows)


def history(mesh: Mesh) -> list[tuple[object, ...]]:
    """Return the commits that the history holds, each with whether it is ours at the end."""
    names = ("cluster", "log_partition", "log_offset", "group_id", "topic", "partition", "committed_offset", "is_own")
    rows = [row for row in mesh.installation.rows("offset_commits") if row["topic"].startswith("mesh-")]
    return [tuple(row[name] for name in names) for row in rows]


def test_a_second_run_writes_nothing_and_with_the_checkpoints_lost_all_is_read_again_and_nothing_moves(
    mesh: Mesh, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last reads by tasks of Spark, each a share: what they read is what the driver reads where it is little."""
    before = {alias: commits_recorded(mesh.clusters[alias], "mesh-") for alias in ALIASES}
    assert (mesh.installation.index(), mesh.installation.sync()) == ([], [])
    commits, told = history(mesh), len(mesh.installation.translations())
    assert {*Counter(each[:3] for each in commits).values()} == {1}, "a record of a log is a row"
    own = Counter((each[0], bool(each[-1])) for each in commits)
    groups = {alias: sum(len(mesh.groups(alias, place)) + 1 for place in mesh.worlds) for alias in ALIASES}
    assert {alias: own[alias, False] for alias in ALIASES} == groups, "what the killed driver has written is ours"
    shutil.rmtree(Path(mesh.installation.folder, "checkpoints"))
    by_tasks = list[int]()
    monkeypatch.setattr(commit_ingester, "read_by_tasks", lambda *asked: by_tasks.append(1) or read_by_tasks(*asked))
    monkeypatch.setattr("offset_sync.ingest.checkpoint.DRIVER_MAX_RECORDS", 0)
    assert (mesh.installation.index(), mesh.installation.sync()) == ([], [])
    assert by_tasks
    assert {alias: commits_recorded(mesh.clusters[alias], "mesh-") for alias in ALIASES} == before
    assert ({*history(mesh)}, len(mesh.installation.translations())) == ({*commits}, told)


def test_a_rewind_of_what_the_killed_driver_has_written_is_followed(mesh: Mesh) -> None:
    offsets = dict.fromkeys(mesh.worlds, 0)
    commit(mesh.clusters["dc1"], {"all-of-dc1": dict[Partition, int | tuple[int, str]](offsets)})
    assert mesh.installation.sync() == []
    for target in ("dc2", "dc3"):
        wanted = {
            place: answers(question("dc1", target, logs), [0])[0].clamped_offset for place, logs in mesh.worlds.items()
        }
        assert mesh.found(target, ["all-of-dc1"])["all-of-dc1"] == wanted
