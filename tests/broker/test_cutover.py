"""report_status and cutover on real brokers: planned there, back again, and without the source."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from broker.committed_offsets import commit, committed
from broker.crafted_logs import Clusters, Stamp, copied_log, create_topics, native_log, write_log
from broker.group_member import member
from broker.installation import Installation, install, until
from broker.job import ThreadJob
from consumer import moving

pytestmark = [pytest.mark.versions, pytest.mark.in_order, pytest.mark.timeout(1200)]

TOPIC, PLACE = "moved", ("moved", 0)
GROUPS = {"moved-tail": 20, "moved-middle": 9, "moved-none": 0}
BEGAN_MS = int(time.time() * 1000) - 60_000
UNREACHABLE = "127.0.0.1:1"


LOGS = {
    "dc1": [*native_log("dc1", 20), *copied_log("dc2", range(22, 30), first=20)],
    "dc2": [None, None, *copied_log("dc1", range(20), first=2), *native_log("dc2", 11, first=22)],
}


def write(clusters: Clusters, alias: str, end: int) -> None:
    """Let a log reach that far."""
    write_log(clusters[alias], {PLACE: LOGS[alias][:end]}, Stamp(since_ms=BEGAN_MS))


@pytest.fixture(scope="module")
def installation(clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """dc1 has produced 20 records; the mirror has brought 15 of them, two offsets higher."""
    for alias in ("dc1", "dc2"):
        create_topics(clusters[alias], {TOPIC: 1})
    write(clusters, "dc1", 20)
    write(clusters, "dc2", 17)
    commit(clusters["dc1"], {group: {PLACE: offset} for group, offset in GROUPS.items()})
    return installed(clusters, tmp_path_factory.mktemp("moved") / "installation")


def installed(clusters: Clusters, folder, **servers: str) -> Installation:  # type: ignore[no-untyped-def]
    return install(folder, {**clusters, **servers}, [TOPIC], status={"page": str(folder / "status.html")})


def cutover(installation: Installation, action: str, source: str, target: str, *options: str) -> list[str]:
    """Run the command here; return its failures."""
    return moving.cutover(installation, action, source, target, "--groups", "moved-.*", *options)


def offsets_at(clusters: Clusters, alias: str) -> dict[str, int]:
    return {group: by[PLACE].offset for group, by in committed(clusters[alias], GROUPS).items() if by}


@pytest.fixture(scope="module")
def jobs(installation: Installation) -> Iterator[list[ThreadJob]]:
    """index_records and sync_offsets, running as in production."""
    with installation.here("index_records") as index, installation.here("sync_offsets") as sync:
        yield [sync, index]


def test_a_group_does_not_move_while_records_that_it_has_read_are_not_mirrored(
    clusters: Clusters, installation: Installation, jobs: list[ThreadJob]
) -> None:
    until(lambda: offsets_at(clusters, "dc2") == {"moved-tail": 17, "moved-middle": 11, "moved-none": 2})
    installation.report()
    # The tail group has read five records that are not at dc2: they would come behind it and be read again.
    assert {row["group_id"]: (row["status"], row["lost"]) for row in installation.rows("sync_status")} == {
        "moved-tail": ("Mirroring", 0),
        "moved-middle": ("Mirroring", 5),
        "moved-none": ("Mirroring", 5),
    }
    assert (cutover(installation, "plan", "dc1", "dc2"), installation.rows("cutovers")) == ([], [])
    failures = cutover(installation, "apply", "dc1", "dc2", "--planned", "--timeout", "5s")
    assert ["wait until the mirror has copied all records" in each for each in failures] == [True] * 3
    assert offsets_at(clusters, "dc2") == {"moved-tail": 17, "moved-middle": 11, "moved-none": 2}


def test_a_planned_move_refuses_a_group_with_members_moves_the_others_and_may_be_repeated(
    clusters: Clusters, installation: Installation, jobs: list[ThreadJob]
) -> None:
    write(clusters, "dc2", 22)
    with member(clusters["dc1"], "moved-none", TOPIC):
        failures = cutover(installation, "apply", "dc1", "dc2", "--planned", "--timeout", "400s")
    assert failures == ["moved-none: it has members at dc1; stop them there first"]
    assert cutover(installation, "apply", "dc1", "dc2", "--planned", "--timeout", "400s") == []
    assert offsets_at(clusters, "dc2") == {"moved-tail": 22, "moved-middle": 11, "moved-none": 2}
    assert cutover(installation, "verify", "dc1", "dc2") == []
    # The driver asks for members now and then.
    until(lambda: not installation.report() and {r["status"] for r in installation.rows("sync_status")} == {"InSync"})


def test_the_way_back_is_the_same_command_with_the_clusters_exchanged(
    clusters: Clusters, installation: Installation, jobs: list[ThreadJob]
) -> None:
    # Their home is dc2 although none has committed there.
    assert cutover(installation, "apply", "dc2", "dc1", "--planned", "--timeout", "400s") == []
    assert cutover(installation, "apply", "dc1", "dc2", "--planned", "--timeout", "400s") == []
    assert offsets_at(clusters, "dc1") == GROUPS
    # They go on at dc2, which produces from now on; dc1 gets the missing records.
    write(clusters, "dc2", 30)
    commit(clusters["dc2"], {"moved-tail": {PLACE: 30}, "moved-middle": {PLACE: 24}, "moved-none": {PLACE: 26}})
    write(clusters, "dc1", 28)
    until(lambda: offsets_at(clusters, "dc1")["moved-tail"] == 28)
    assert cutover(installation, "apply", "dc2", "dc1", "--planned", "--timeout", "400s") == []
    assert offsets_at(clusters, "dc1") == {"moved-tail": 28, "moved-middle": 22, "moved-none": 24}


def test_uncaptured_commits_end_the_wait_and_without_the_source_the_tables_are_enough_and_tell_what_is_lost(
    clusters: Clusters, installation: Installation, jobs: list[ThreadJob]
) -> None:
    for job in jobs:
        job.terminate()
    commit(clusters["dc2"], {"moved-middle": {PLACE: 28}})
    failures = cutover(installation, "apply", "dc2", "dc1", "--planned", "--timeout", "2s")
    assert ["are index_records and sync_offsets running?" in each for each in failures] == [True] * 3
    assert offsets_at(clusters, "dc1")["moved-middle"] == 22
    write(clusters, "dc2", 33)
    assert (installation.index(), installation.sync()) == ([], [])
    installed(clusters, installation.folder, dc2=UNREACHABLE)
    assert cutover(installation, "apply", "dc2", "dc1", "--disaster") == []
    assert offsets_at(clusters, "dc1") == {"moved-tail": 28, "moved-middle": 26, "moved-none": 24}
    assert {row["lost"] for row in installation.rows("cutovers", mode="disaster", step="check")} == {3}
