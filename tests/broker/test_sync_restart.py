"""Both jobs killed with SIGKILL at the instructions that matter, and started again: nothing twice, nothing missing.

Each job dies once and is then let through. The simulation dies at every point, and so does ``make restarts``; here
processes, checkpoints of Spark and Delta tables are real.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pytest

from broker.committed_offsets import Partition, commit, commits_recorded, committed
from broker.crafted_logs import Clusters, Entries, crafted_logs, create_topics, question, write_log
from broker.installation import Installation, Row, install
from generators.mirrored_logs import World
from offset_sync.state import failpoints
from oracles.translation import answers

pytestmark = [
    pytest.mark.broker,
    pytest.mark.versions,
    pytest.mark.long,
    pytest.mark.in_order,
    pytest.mark.timeout(900),
]

TOPIC, GROUP = "killed", "killed-group"
ALIASES = ("dc1", "dc2")
WORLD = World(
    ALIASES, ALIASES, (ALIASES, ALIASES[::-1]), 120, resend=0.2, reorder=0.2, drop=0.2, marker=0.2, malformed=0.1
)
LOGS: dict[Partition, dict[str, Entries]] = {
    (TOPIC, number): {**crafted_logs(WORLD, 300 + number)} for number in range(3)
}
HALVES = {place: len(logs["dc1"]) // 2 for place, logs in LOGS.items()}


@dataclass(frozen=True)
class Killed:
    """The installation whose jobs have died as they were told to, and were let through once."""

    clusters: Clusters
    installation: Installation

    def offsets(self, alias: str) -> dict[Partition, int]:
        """Return what the group has on a cluster now."""
        return offsets_at(self.clusters, alias)


def offsets_at(clusters: Clusters, alias: str) -> dict[Partition, int]:
    return {place: value.offset for place, value in committed(clusters[alias], [GROUP])[GROUP].items()}


def wanted(offsets: dict[Partition, int] = HALVES) -> dict[Partition, int]:
    """What the oracle wants on dc2."""
    return {
        place: answers(question("dc1", "dc2", logs), [offsets[place]])[0].clamped_offset for place, logs in LOGS.items()
    }


def dies(installation: Installation, job: str, point: str) -> None:
    assert installation.run(job, "--once", kill_at=point).exit_code == -9, point


@pytest.fixture(scope="module")
def killed(clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Killed:
    for alias in ALIASES:
        create_topics(clusters[alias], {TOPIC: len(LOGS)})
        write_log(clusters[alias], {place: logs[alias] for place, logs in LOGS.items()})
    installation = install(tmp_path_factory.mktemp("killed"), clusters, [TOPIC])
    commit(clusters["dc1"], {GROUP: dict[Partition, int | tuple[int, str]](HALVES)})
    dies(installation, "index_records", failpoints.AFTER_RUNS)
    assert installation.rows("record_runs") != []
    assert installation.index() == []
    dies(installation, "sync_offsets", failpoints.AFTER_COMMIT)
    assert offsets_at(clusters, "dc2") == wanted(), "what was committed before the kill is right"
    assert installation.rows("offset_translations") == []
    assert installation.sync() == []
    return Killed(clusters, installation)


def covered(rows: list[Row]) -> list[tuple[str, int, int, str]]:
    return sorted(
        (row["cluster"], row["partition"], row["start_offset"] + step, row["origin"])
        for row in rows
        for step in range(row["length"])
    )


def test_the_tables_hold_every_record_and_every_commit_once(killed: Killed) -> None:
    records = [
        (alias, place[1], record)
        for place, logs in LOGS.items()
        for alias in ALIASES
        for record in logs[alias]
        if record is not None
    ]
    written = sorted((alias, number, record.offset, record.origin) for alias, number, record in records)
    assert covered(killed.installation.rows("record_runs")) == written
    found = [(row["cluster"], row["partition"], row["offset"]) for row in killed.installation.rows("quarantine")]
    malformed = [(alias, number, record.offset) for alias, number, record in records if record.is_malformed]
    assert sorted(found) == sorted(malformed) != []
    rows = killed.installation.rows("offset_commits")
    seen = Counter((row["cluster"], row["log_partition"], row["log_offset"]) for row in rows)
    assert seen.most_common(1)[0][1] == 1
    genuine = [(row["group_id"], row["partition"]) for row in rows if row["topic"] == TOPIC and row["cluster"] == "dc1"]
    assert sorted(genuine) == [(GROUP, place[1]) for place in LOGS]


def test_a_commit_whose_history_was_lost_is_found_known_as_ours_and_nothing_moves_afterwards(killed: Killed) -> None:
    rows = killed.installation.translations(group_id=GROUP, source_cluster="dc1")
    assert {row["partition"]: (row["target_offset"], row["outcome"]) for row in rows} == {
        partition: (offset, "UNCHANGED") for (_, partition), offset in wanted().items()
    }
    before = {alias: commits_recorded(killed.clusters[alias], TOPIC) for alias in ALIASES}
    assert killed.installation.sync() == []
    rows = killed.installation.rows("offset_commits", cluster="dc2", topic=TOPIC)
    assert [row["group_id"] for row in rows if not row["is_own"]] == []
    assert killed.installation.translations(source_cluster="dc2", topic=TOPIC) == []
    assert list((killed.installation.folder / "checkpoints" / "sync_offsets.intents").glob("*.json")) == []
    assert {alias: commits_recorded(killed.clusters[alias], TOPIC) for alias in ALIASES} == before
    assert [killed.offsets(alias) for alias in ALIASES] == [HALVES, wanted()]
    # What the driver that died has written is no commit of a second reader: a rewind is followed.
    commit(killed.clusters["dc1"], {GROUP: dict.fromkeys(LOGS, 0)})
    assert killed.installation.sync() == []
    assert killed.offsets("dc2") == wanted(dict.fromkeys(LOGS, 0))
