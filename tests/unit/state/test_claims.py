"""Who holds a job: what follows from the rows of the table, whatever their order."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from offset_sync.state.lease import Claim, ended, newer_than, next_epoch, to_claims, to_rows, unended

NOON = datetime(2026, 11, 22, 12, tzinfo=timezone.utc)


def claim(epoch: int, job: str = "sync_offsets", group_id: str | None = None, driver: str = "") -> Claim:
    return Claim(job, group_id, epoch, driver or f"driver-{epoch}", "host", 17, NOON + timedelta(seconds=epoch))


def test_the_first_epoch_is_1_and_each_job_counts_its_own() -> None:
    assert next_epoch([], "sync_offsets") == 1
    assert next_epoch([claim(1), claim(2), claim(7, "index_records")], "sync_offsets") == 3


def test_all_groups_of_a_cutover_count_together() -> None:
    assert next_epoch([claim(4, "cutover", "a"), claim(5, "cutover", "b")], "cutover") == 6


def test_a_claim_is_lost_to_a_later_one_on_the_same_job_and_to_nothing_else() -> None:
    mine = [claim(3)]
    assert newer_than([claim(1), claim(2), claim(3), claim(9, "index_records")], mine) is None
    assert newer_than([claim(4), claim(5), claim(1)], mine) == claim(5)


def test_a_cutover_is_lost_where_one_of_its_groups_is_claimed_again() -> None:
    mine = [claim(3, "cutover", "a"), claim(3, "cutover", "b")]
    assert newer_than([claim(4, "cutover", "c")], mine) is None
    assert newer_than([claim(4, "cutover", "c"), claim(5, "cutover", "b")], mine) == claim(5, "cutover", "b")


def test_what_a_later_driver_has_left_is_not_given_back() -> None:
    assert newer_than([claim(4), *ended([claim(4)], NOON)], [claim(3)]) is not None
    assert newer_than(ended([claim(4)], NOON), [claim(3)]) is not None


def test_drivers_may_still_write_that_came_after_the_last_that_has_ended() -> None:
    first, second = claim(1), claim(2)
    (over,) = ended([second], NOON)
    assert unended([second, first], "sync_offsets", None) == [first, second]
    for rows in ([first, second, over], [over, second, first]):
        assert unended(rows, "sync_offsets", None) == []
    assert unended([claim(3), over], "sync_offsets", None) == [claim(3)]
    assert unended([claim(1, "cutover", "a")], "cutover", "b") == []


def test_rows_of_the_table_are_claims_again() -> None:
    claims = [claim(1), claim(2, "cutover", "a"), *ended([claim(1)], NOON)]
    assert to_claims(to_rows(claims)) == claims


@given(st.permutations([claim(epoch) for epoch in range(1, 7)]))
def test_of_all_claims_exactly_one_is_not_lost(rows: list[Claim]) -> None:
    kept = [each for each in rows if newer_than(rows, [each]) is None]
    assert kept == [claim(6)]


def test_a_claim_says_who_and_since_when_in_one_line() -> None:
    assert claim(1).who == "process 17 on host, since 2026-11-22 12:00:01 UTC"
    assert (claim(1).what, claim(1, "cutover", "a").what) == ("sync_offsets", "cutover of group a")
