"""Who wrote a commit and where its group is at home: two readers, tools that alter, resets, copied metadata.

Both clusters hold the same records at the same offsets, so an offset means the same at either.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest

from broker.crafted_logs import Clusters
from broker.performer import Performer
from broker.stage import MODES, SILENCE, SYNC, Case, Pause, Stage
from offset_sync.kafka.requests import Committed

pytestmark = [pytest.mark.broker, pytest.mark.long, pytest.mark.timeout(1200)]

FORMER_TAG = "offset-sync"
"""What earlier versions gave their commits as metadata."""
STREAMS_METADATA = base64.b64encode(b"\x02" + (1_700_000_000_000).to_bytes(8, "big")).decode()


def check_is_called_at_both(case: Performer) -> None:
    """Assert that the report withholds the group and names both clusters."""
    rows = [(row["status"], row["state"], row["reason"]) for row in case.report()]
    assert {row[:2] for row in rows} == {("Withheld", "COMMITTED_AT_BOTH")}, rows
    assert all("dc1" in reason and "dc2" in reason for _, _, reason in rows), rows


def client_at_the_target_commits(case: Performer, offset: int, metadata: str) -> Iterator[Pause]:
    case.fill()
    case.commit("dc1", 60)
    yield SYNC
    case.becomes(dc2=60)
    case.commit("dc2", offset, metadata)
    yield SYNC
    assert case.offset("dc2") == offset
    yield SILENCE
    case.becomes(dc2=offset, dc1=offset)


def a_client_at_the_target_that_keeps_our_metadata_commits_below(case: Performer) -> Iterator[Pause]:
    yield from client_at_the_target_commits(case, 10, FORMER_TAG)


def a_client_at_the_target_that_keeps_our_metadata_commits_above(case: Performer) -> Iterator[Pause]:
    yield from client_at_the_target_commits(case, 90, FORMER_TAG)


def a_client_at_the_target_without_metadata_commits_below(case: Performer) -> Iterator[Pause]:
    yield from client_at_the_target_commits(case, 10, "")


def a_client_at_the_target_without_metadata_commits_above(case: Performer) -> Iterator[Pause]:
    yield from client_at_the_target_commits(case, 90, "")


def of_one_id_and_two_readers_without_membership_neither_is_moved(case: Performer) -> Iterator[Pause]:
    case.fill()
    here, there = case.keep_committing("dc1", 100), case.keep_committing("dc2", 50)
    yield SYNC
    assert case.offsets() == {"dc1": 100, "dc2": 50}
    there.offset = 60
    yield SILENCE
    assert (case.offsets(), here.problems, there.problems) == ({"dc1": 100, "dc2": 60}, [], [])
    assert "COMMITTED_AT_BOTH" in case.states()
    check_is_called_at_both(case)
    here.stop()
    yield SILENCE
    assert case.offsets() == {"dc1": 100, "dc2": 60}, "the group was not set back, so it is moved forward only"
    assert {row["status"] for row in case.report(source_cluster="dc2")} == {"Behind"}


def a_second_reader_that_starts_at_the_target_is_not_moved(case: Performer) -> Iterator[Pause]:
    case.fill()
    here = case.keep_committing("dc1", 40)
    yield SYNC
    case.becomes(dc2=40)
    there = case.keep_committing("dc2", 20)
    here.offset = 100
    yield SILENCE
    assert (case.offsets(), here.problems, there.problems) == ({"dc1": 100, "dc2": 20}, [], [])
    check_is_called_at_both(case)
    there.stop()
    yield SILENCE
    case.becomes(dc1=100, dc2=100)


def partitions_that_are_read_at_two_sides_are_not_exchanged(case: Performer) -> Iterator[Pause]:
    case.fill(partitions=2)
    case.keep_committing("dc1", 40, partition=0)
    case.keep_committing("dc2", 50, partition=1)
    yield SYNC
    yield SILENCE
    assert case.offset("dc1", 0) == 40
    assert case.offset("dc2", 1) == 50
    assert "COMMITTED_AT_BOTH" in case.states()
    assert case.offset("dc2", 0) is None
    assert case.offset("dc1", 1) is None


def tool_alters_the_offset(case: Performer, offset: int) -> Iterator[Pause]:
    case.fill(records=800)
    reader = case.keep_committing("dc1", 500)
    yield SYNC
    case.becomes(dc2=500)
    tool = case.keep_committing("dc2", offset, every=2)
    yield SILENCE
    assert (case.offsets(), tool.problems, reader.problems) == ({"dc1": 500, "dc2": offset}, [], [])
    check_is_called_at_both(case)
    tool.stop()
    yield SILENCE
    reader.offset = 520
    yield SYNC
    assert case.offset("dc1") == 520
    is_right = case.offset("dc2") == 520
    assert is_right or {row["status"] for row in case.report()} != {"InSync"}


def a_tool_that_writes_a_larger_offset_at_the_target_moves_no_reader(case: Performer) -> Iterator[Pause]:
    yield from tool_alters_the_offset(case, 700)


def a_tool_that_writes_a_smaller_offset_at_the_target_moves_no_reader(case: Performer) -> Iterator[Pause]:
    yield from tool_alters_the_offset(case, 300)


def a_tool_that_alters_the_offset_at_the_target_of_a_member_moves_nothing(case: Performer) -> Iterator[Pause]:
    case.fill(records=800)
    case.join("dc1", 500)
    yield SYNC
    case.becomes(dc2=500)
    case.keep_committing("dc2", 700, every=2)
    yield SILENCE
    assert case.offsets() == {"dc1": 500, "dc2": 700}
    if case.mode == "running":  # else the tool's last commit that was captured may be older than the silence by now
        check_is_called_at_both(case)


def our_commits_have_no_metadata_so_that_old_streams_applications_start(case: Performer) -> Iterator[Pause]:
    case.fill()
    case.commit("dc1", 60, STREAMS_METADATA)
    yield SYNC
    case.becomes(dc2=60)
    assert case.held("dc2") == Committed(60, "")
    assert base64.b64decode("", validate=True) == b""  # Streams takes that for: no timestamp known


def a_reset_at_the_home_is_followed(case: Performer) -> Iterator[Pause]:
    case.fill()
    case.commit("dc1", 60)
    yield SYNC
    case.becomes(dc2=60)
    case.commit("dc1", 20)
    yield SYNC
    case.becomes(dc1=20, dc2=20)


def a_reset_at_the_target_of_a_silent_home_is_followed_at_once(case: Performer) -> Iterator[Pause]:
    case.fill()
    case.commit("dc1", 60)
    yield SILENCE
    case.becomes(dc2=60)
    case.commit("dc2", 20)
    yield SYNC
    case.becomes(dc1=20, dc2=20)
    assert "REWIND" in case.states(source_cluster="dc2")


def a_reset_at_the_target_of_a_home_with_members_does_not_move_them(case: Performer) -> Iterator[Pause]:
    case.fill()
    leaving = case.join("dc1", 60)
    yield SILENCE
    case.becomes(dc2=60)
    case.commit("dc2", 20)
    case.take_in()  # before it is older than the silence
    yield SYNC
    assert "COMMITTED_AT_BOTH" in case.states()
    assert case.offset("dc1") == 60
    yield SILENCE
    assert case.offsets() == {"dc1": 60, "dc2": 20}, "the newer commit stays, as long as no group reads on"
    leaving.close()
    yield SYNC
    assert case.offset("dc2") == 20
    assert case.offset("dc1") == 60 or case.mode == "once", "--once remembers no members: 20 is the group's last word"
    case.commit("dc1", 70)
    yield SYNC
    case.becomes(dc1=70, dc2=70)


def a_group_that_commits_what_we_have_written_is_at_home_there(case: Performer) -> Iterator[Pause]:
    case.fill()
    case.commit("dc1", 60)
    yield SILENCE
    case.becomes(dc2=60)
    case.commit("dc2", 60)
    yield SYNC
    case.delete_group("dc1")  # as when its offsets expire at the side that it left
    yield SYNC
    case.becomes(dc1=60, dc2=60)
    case.commit("dc2", 65)
    yield SYNC
    case.becomes(dc1=65, dc2=65)


def a_group_that_leaves_and_is_back_within_the_silence_loses_nothing(case: Performer) -> Iterator[Pause]:
    case.fill()
    case.commit("dc1", 60)
    yield SYNC
    case.becomes(dc2=60)
    case.commit("dc2", 70)
    case.commit("dc1", 65)
    yield SYNC
    assert case.offset("dc1") == 65
    yield SILENCE
    assert case.offset("dc1") == 65
    is_right = case.offset("dc2") == 65
    assert is_right or {row["status"] for row in case.report()} != {"InSync"}


def a_group_deleted_at_home_and_started_from_zero_is_followed(case: Performer) -> Iterator[Pause]:
    case.fill()
    case.commit("dc1", 60)
    yield SYNC
    case.becomes(dc2=60)
    case.delete_group("dc1")
    yield SYNC
    assert case.offsets() == {"dc1": None, "dc2": 60}
    case.commit("dc1", 5)
    yield SYNC
    case.becomes(dc1=5, dc2=5)


CASES: list[Case] = [
    a_client_at_the_target_that_keeps_our_metadata_commits_below,
    a_client_at_the_target_that_keeps_our_metadata_commits_above,
    a_client_at_the_target_without_metadata_commits_below,
    a_client_at_the_target_without_metadata_commits_above,
    of_one_id_and_two_readers_without_membership_neither_is_moved,
    a_second_reader_that_starts_at_the_target_is_not_moved,
    partitions_that_are_read_at_two_sides_are_not_exchanged,
    a_tool_that_writes_a_larger_offset_at_the_target_moves_no_reader,
    a_tool_that_writes_a_smaller_offset_at_the_target_moves_no_reader,
    a_tool_that_alters_the_offset_at_the_target_of_a_member_moves_nothing,
    our_commits_have_no_metadata_so_that_old_streams_applications_start,
    a_reset_at_the_home_is_followed,
    a_reset_at_the_target_of_a_silent_home_is_followed_at_once,
    a_reset_at_the_target_of_a_home_with_members_does_not_move_them,
    a_group_that_commits_what_we_have_written_is_at_home_there,
    a_group_that_leaves_and_is_back_within_the_silence_loses_nothing,
    a_group_deleted_at_home_and_started_from_zero_is_followed,
]


@pytest.fixture(scope="module")
def stage(clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return Stage(clusters, tmp_path_factory.mktemp("counts"), CASES)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", [each.__name__ for each in CASES])
def test_each_reader_keeps_its_position(stage: Stage, case: str, mode: str) -> None:
    stage.ended_well(case, mode)
