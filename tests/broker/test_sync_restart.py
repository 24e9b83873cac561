"""Both jobs killed with SIGKILL at the instructions that matter, and started again: nothing twice, nothing missing.

Each of the two jobs dies at one point, is started again and dies at the next, and is then let through.
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

pytestmark = [pytest.mark.broker, pytest.mark.versions, pytest.mark.long, pytest.mark.timeout(1800)]

TOPIC = "killed"
ALIASES = ("dc1", "dc2")
SIGKILLED = -9
WORLD = World(
    ALIASES, ALIASES, (ALIASES, ALIASES[::-1]), 120, resend=0.2, reorder=0.2, drop=0.2, marker=0.2, malformed=0.1
)
DIES_INDEXING = failpoints.INDEX_RECORDS
DIES_SYNCING = (
    failpoints.IN_COMMITS,
    failpoints.AFTER_HISTORY,
    failpoints.BEFORE_COMMIT,
    failpoints.AFTER_COMMIT,
    failpoints.BEFORE_HISTORY,
    failpoints.IN_HISTORY,
)
Logs = dict[Partition, dict[str, Entries]]
LOGS: Logs = {(TOPIC, number): {**crafted_logs(WORLD, 300 + number)} for number in range(3)}
NOTED, PLAIN = "killed-noted", "killed-plain"


@dataclass(frozen=True)
class Killed:
    """Exit codes of the starts that were to die, and what the tables held after each."""

    clusters: Clusters
    installation: Installation
    index_exits: list[int]
    sync_exits: list[int]
    runs: list[int]
    history: list[list[Row]]
    held: dict[str, dict[Partition, int]]

    def offsets(self, alias: str) -> dict[str, dict[Partition, int]]:
        """Return what the two groups have on a cluster now."""
        found = committed(self.clusters[alias], [PLAIN, NOTED])
        return {group: {place: value.offset for place, value in by.items()} for group, by in found.items()}


@pytest.fixture(scope="module")
def killed(clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Killed:
    for alias in ALIASES:
        create_topics(clusters[alias], {TOPIC: len(LOGS)})
        write_log(clusters[alias], {place: logs[alias] for place, logs in LOGS.items()})
    servers = {alias: clusters[alias].bootstrap_servers for alias in ALIASES}
    installation = install(tmp_path_factory.mktemp("killed"), servers, [TOPIC])
    halves = {place: len(logs["dc1"]) // 2 for place, logs in LOGS.items()}
    commit(clusters["dc1"], {PLAIN: {**halves}, NOTED: {place: (half, "m") for place, half in halves.items()}})
    index_exits, runs, sync_exits, history = [], [], [], []
    for point in DIES_INDEXING:
        index_exits.append(installation.run("index_records", "--once", kill_at=point).exit_code)
        runs.append(len(installation.rows("record_runs")))
    assert installation.index() == []
    for point in DIES_SYNCING:
        sync_exits.append(installation.run("sync_offsets", "--once", kill_at=point).exit_code)
        history.append(installation.rows("offset_commits"))
    held = committed(clusters["dc2"], [PLAIN, NOTED])
    values = {group: {place: value.offset for place, value in by.items()} for group, by in held.items()}
    assert (installation.rows("offset_translations"), installation.sync()) == ([], [])
    return Killed(clusters, installation, index_exits, sync_exits, runs, history, values)


def wanted() -> dict[Partition, int]:
    """What the oracle wants on dc2."""
    return {
        place: answers(question("dc1", "dc2", logs), [len(logs["dc1"]) // 2])[0].clamped_offset
        for place, logs in LOGS.items()
    }


def test_each_start_died_where_it_was_told_to(killed: Killed) -> None:
    assert killed.index_exits == [SIGKILLED] * len(DIES_INDEXING)
    assert killed.sync_exits == [SIGKILLED] * len(DIES_SYNCING)
    assert killed.runs[:-1] == [0, 0] < killed.runs[-1:]
    assert [bool(rows) for rows in killed.history] == [False, *[True] * (len(DIES_SYNCING) - 1)]


def test_the_index_holds_every_record_once(killed: Killed) -> None:
    covered = [
        (row["cluster"], row["partition"], row["start_offset"] + step, row["origin"])
        for row in killed.installation.rows("record_runs")
        for step in range(row["length"])
    ]
    written = [
        (alias, place[1], record.offset, record.origin)
        for place, logs in LOGS.items()
        for alias in ALIASES
        for record in logs[alias]
        if record is not None
    ]
    assert sorted(covered) == sorted(written)


def test_the_quarantine_holds_every_malformed_record_once(killed: Killed) -> None:
    found = [(row["cluster"], row["partition"], row["offset"]) for row in killed.installation.rows("quarantine")]
    malformed = [
        (alias, place[1], record.offset)
        for place, logs in LOGS.items()
        for alias in ALIASES
        for record in logs[alias]
        if record is not None and record.is_malformed
    ]
    assert malformed
    assert sorted(found) == sorted(malformed)


def test_the_commits_of_a_repeated_batch_are_in_the_history_once(killed: Killed) -> None:
    rows = killed.installation.rows("offset_commits")
    seen = Counter((row["cluster"], row["log_partition"], row["log_offset"]) for row in rows)
    assert seen.most_common(1)[0][1] == 1
    genuine = [(row["group_id"], row["partition"]) for row in rows if row["topic"] == TOPIC and row["cluster"] == "dc1"]
    assert sorted(genuine) == sorted((group, place[1]) for group in (PLAIN, NOTED) for place in LOGS)


def test_offsets_committed_before_the_kill_are_there_and_right(killed: Killed) -> None:
    assert killed.held == killed.offsets("dc2") == {PLAIN: wanted(), NOTED: wanted()}


def test_a_commit_whose_history_was_lost_is_found_and_written_down(killed: Killed) -> None:
    for group in (PLAIN, NOTED):
        rows = killed.installation.translations(group_id=group, source_cluster="dc1")
        assert {row["partition"]: (row["target_offset"], row["outcome"]) for row in rows} == {
            partition: (offset, "UNCHANGED") for (_, partition), offset in wanted().items()
        }


def test_our_commits_are_known_as_ours_though_their_history_was_lost(killed: Killed) -> None:
    assert killed.installation.sync() == []
    rows = killed.installation.rows("offset_commits", cluster="dc2", topic=TOPIC)
    assert [row["group_id"] for row in rows if not row["is_own"]] == []
    assert killed.installation.translations(source_cluster="dc2", topic=TOPIC) == []
    assert list((killed.installation.folder / "checkpoints" / "sync_offsets.intents").glob("*.json")) == []


def test_nothing_moves_afterwards(killed: Killed) -> None:
    before = {alias: commits_recorded(killed.clusters[alias], TOPIC) for alias in ALIASES}
    assert killed.installation.sync() == []
    assert {alias: commits_recorded(killed.clusters[alias], TOPIC) for alias in ALIASES} == before
    halves = {place: len(logs["dc1"]) // 2 for place, logs in LOGS.items()}
    assert killed.offsets("dc1") == {PLAIN: halves, NOTED: halves}
