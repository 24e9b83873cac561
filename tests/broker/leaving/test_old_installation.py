"""An installation that an earlier commit has left behind in the middle of its work: today's jobs go on with it.

See ``support/leaving/take_installation.py``. What has to come out is told from the logs alone, with none of our code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from broker.committed_offsets import Partition
from broker.installation import Installation
from broker.log_contents import UNREADABLE, Record, first_unread, log_start, read_records
from leaving.kept_installation import ORIGINS, environment_of, start_kept_clusters, unpack
from leaving.moments import TABLE_OF, Moment, take_moment, writers
from offset_sync_demo.kafka.brokers import EmbeddedCluster, kill_clusters
from offset_sync_demo.kafka.clients import list_partitions, stable_ends

pytestmark = [pytest.mark.broker, pytest.mark.timeout(1800)]

TOPICS = ("orders", "payments", "audit-log", "misc")
HOMES = dict.fromkeys(("billing", "reports", "ledger", "newcomer", "auditor", "audit-late"), "dc1")
HOMES |= dict.fromkeys(("returns", "moved"), "dc2")
RETIRED, RETIRED_PLACE = "retired", ("payments", 0)
AWAY = {"dc1": "dc2", "dc2": "dc1"}
APPENDED = ("offset_commits", "group_events", "offset_translations", "quarantine", "indexed_topics", "cutovers")
Clusters = dict[str, EmbeddedCluster]
Key = tuple[str, str, int]


@dataclass(frozen=True)
class Continued:
    """The state before, after one pass of both jobs, and after all; what the logs hold; failures of each job."""

    installation: Installation
    before: Moment
    passed: Moment
    after: Moment
    ended: list[list[str]]
    records: dict[str, dict[Partition, list[Record]]]
    starts: dict[str, dict[Partition, int]]
    ends: dict[str, dict[Partition, int]]

    def wanted(self) -> dict[str, dict[Key, int]]:
        """Return what each group has to have at the cluster that it is not at home at."""
        found: dict[str, dict[Key, int]] = {"dc1": {}, "dc2": {}}
        for group, home in HOMES.items():
            away = AWAY[home]
            for place, offset in self.before.held[home][group].items():
                here, there = self.records[home][place], self.records[away][place]
                found[away][(group, *place)] = first_unread(here, offset, there, self.ends[away][place])
        return found


def held(moment: Moment, alias: str) -> dict[Key, int]:
    return {(group, *place): offset for group, by in moment.held[alias].items() for place, offset in by.items()}


@pytest.fixture(scope="module")
def kept(spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Installation, Clusters]]:
    """The installation as it was left, with both clusters running again."""
    folder = tmp_path_factory.mktemp("kept")
    unpack(folder)
    clusters = start_kept_clusters(folder)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment_of(folder, clusters).items():
            patch.setenv(name, value)
        yield Installation(folder), clusters
    kill_clusters(clusters)


@pytest.fixture(scope="module")
def continued(kept: tuple[Installation, Clusters]) -> Continued:
    installation, clusters = kept
    groups = [*HOMES, RETIRED]
    ended: list[list[str]] = []

    def moment_after(*jobs: Callable[[], list[str]]) -> Moment:
        ended.extend(job() for job in jobs)
        return take_moment(installation, clusters, groups)

    places = {alias: list_partitions(cluster, TOPICS) for alias, cluster in clusters.items()}
    return Continued(
        installation,
        before=moment_after(),
        passed=moment_after(installation.index, installation.sync),
        after=moment_after(installation.sync, installation.report, installation.maintain),
        ended=ended,
        records={
            alias: {place: read_records(cluster, place, ORIGINS) for place in places[alias]}
            for alias, cluster in clusters.items()
        },
        starts={alias: log_start(cluster, places[alias]) for alias, cluster in clusters.items()},
        ends={alias: stable_ends(cluster, places[alias]) for alias, cluster in clusters.items()},
    )


def test_it_was_left_in_the_middle_of_its_work(continued: Continued) -> None:
    before = continued.before
    unfinished = {
        name: max(query.planned) for name, query in before.queries.items() if query.planned.keys() > query.done
    }
    assert {job for job, _ in unfinished} == TABLE_OF.keys()
    # Of each job one such micro-batch is in the tables already: under another number it would come there twice.
    assert {name[0] for name, batch in unfinished.items() if before.queries[name].in_table == batch} == TABLE_OF.keys()
    assert min(max(query.done) for query in before.queries.values()) >= 3
    assert {intent[1] for intent in before.intents if intent[0] == "dc2"} >= {"ledger"}
    assert [name for name in APPENDED if not before.tables[name]] == []


def test_every_job_ends_well(continued: Continued) -> None:
    assert continued.ended == [[]] * 5


def test_the_index_holds_every_record_once_and_knows_where_it_comes_from(continued: Continued) -> None:
    found: Counter[tuple[str, Partition, int, tuple[str, int]]] = Counter()
    for row in continued.after.tables["record_runs"]:
        for step in range(row["length"]):
            identity = (row["origin"], row["origin_start"] + step) if row["origin"] else UNREADABLE
            found[row["cluster"], (row["topic"], row["partition"]), row["start_offset"] + step, identity] += 1
    there = Counter(
        (alias, place, record.offset, record.identity)
        for alias, by_place in continued.records.items()
        for place, records in by_place.items()
        for record in records
    )
    # What the log has dropped may still be in the index.
    kept = Counter({key: count for key, count in found.items() if key[2] >= continued.starts[key[0]][key[1]]})
    assert kept == there
    assert set(found.values()) == {1}


def test_a_record_with_unreadable_headers_is_in_quarantine_once(continued: Continued) -> None:
    rows = continued.after.tables["quarantine"]
    unreadable = [
        (alias, *place, record.offset)
        for alias, by_place in continued.records.items()
        for place, records in by_place.items()
        for record in records
        if record.identity == UNREADABLE
    ]
    assert sorted((row["cluster"], row["topic"], row["partition"], row["offset"]) for row in rows) == unreadable
    assert len(unreadable) == 2


def test_every_commit_record_is_in_the_history_once(continued: Continued) -> None:
    rows = continued.after.tables["offset_commits"]
    found = Counter((row["cluster"], row["log_partition"], row["log_offset"]) for row in rows)
    there = {
        (alias, each.log_partition, each.log_offset) for alias, log in continued.after.commits.items() for each in log
    }
    assert found == Counter(there)
    assert len(continued.before.tables["offset_commits"]) < len(found)
    events = Counter(row["cluster"] for row in continued.after.tables["group_events"])
    assert events == Counter(continued.after.group_records)


def test_commits_are_told_apart_as_made_by_the_group_or_by_us(continued: Continued) -> None:
    rows = [row for row in continued.after.tables["offset_commits"] if row["group_id"] in HOMES.keys() - {"moved"}]
    wrong = [row for row in rows if row["is_own"] == (row["cluster"] == HOMES[row["group_id"]])]
    assert wrong == []
    assert {row["group_id"] for row in rows} == HOMES.keys() - {"moved"}


def test_new_commits_are_translated_and_those_of_the_groups_stay(continued: Continued) -> None:
    wanted = continued.wanted()
    for alias in AWAY:
        found = held(continued.after, alias)
        assert {key: found.get(key) for key in wanted[alias]} == wanted[alias]
        at_home = {key: offset for key, offset in held(continued.before, alias).items() if HOMES.get(key[0]) == alias}
        assert at_home.items() <= found.items()


def test_only_what_has_changed_is_written_and_once(continued: Continued) -> None:
    for alias, wanted in continued.wanted().items():
        before = held(continued.before, alias)
        changed = Counter(key for key, offset in wanted.items() if before.get(key) != offset)
        assert changed
        assert continued.passed.written(alias) - continued.before.written(alias) == changed
        assert continued.after.written(alias) == continued.passed.written(alias)


def test_an_offset_that_was_deleted_is_left_alone(continued: Continued) -> None:
    key = (RETIRED, *RETIRED_PLACE)
    assert key not in held(continued.after, "dc1")
    assert held(continued.after, "dc2")[key] == held(continued.before, "dc2")[key]


def test_the_write_that_was_announced_and_never_confirmed_is_known_as_ours(continued: Continued) -> None:
    read_before = {
        (row["cluster"], row["log_partition"], row["log_offset"]) for row in continued.before.tables["offset_commits"]
    }
    unread = [
        each
        for each in continued.before.commits["dc2"]
        if ("dc2", each.log_partition, each.log_offset) not in read_before
    ]
    assert {each.key for each in unread if each.key[0] == "ledger"}
    rows = continued.after.tables["offset_translations"]
    assert {row["source_cluster"] for row in rows if row["group_id"] == "ledger"} == {"dc1"}


def test_every_query_goes_on_under_its_own_name_and_number(continued: Continued) -> None:
    for name, query in continued.after.queries.items():
        before = continued.before.queries[name]
        assert query.id == before.id
        assert query.unfinished == set()
        # What was planned is done as it was planned, and only then something else.
        assert {number: query.planned[number] for number in before.unfinished} == {
            number: before.planned[number] for number in before.unfinished
        }
        assert max(query.done) > max(before.planned), name
        assert query.in_table is not None
        assert query.in_table >= max(before.planned)
    for job, table in TABLE_OF.items():
        ids = {f"{job}-{query.id}" for (other, _), query in continued.after.queries.items() if other == job}
        assert writers(continued.installation, table) == ids


def test_nothing_that_was_written_down_is_gone(continued: Continued) -> None:
    for name in (*APPENDED, "sync_drift"):
        assert rows_of(continued.before, name) - rows_of(continued.after, name) == Counter(), name
    assert rows_of(continued.before, "indexed_topics") - rows_of(continued.after, "indexed_topics") == Counter()
    assert rows_of(continued.after, "cutovers") == rows_of(continued.before, "cutovers")


def rows_of(moment: Moment, table: str) -> Counter[str]:
    """Return the rows by what they say: a column that has come since says nothing of an old row."""
    told = ([(name, value) for name, value in row.items() if value is not None] for row in moment.tables[table])
    return Counter(repr(sorted(each)) for each in told)


def test_the_report_has_the_status_of_every_group(continued: Continued) -> None:
    rows = {
        (row["target_cluster"], row["group_id"], row["topic"], row["partition"]): row
        for row in continued.after.tables["sync_status"]
    }
    wanted = {(alias, *key): offset for alias, by_key in continued.wanted().items() for key, offset in by_key.items()}
    assert {key: rows[key]["target_offset"] for key in wanted} == wanted
    assert {row["status"] for row in rows.values()} <= {"InSync", "Mirroring"}
    assert rows["dc2", "billing", "orders", 0]["status"] == "InSync"
