"""The steps of a move, among clusters that say what the test wants."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pytest

from fakes.moves import CROSSING, GOOD, MIRRORING, OTHER, FakeClusters, Move
from offset_sync.cutover.plan import Activity, Committed, Mode, Options, Reader, Step
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import Outcome, State, Status, TopicPartition
from offset_sync.status.assessment import Verdict


def blocking(clusters: FakeClusters, mode: Mode = Mode.PLANNED) -> list[str]:
    (plan,) = Move(clusters).cutover.plan(["g"], mode)
    return plan.blocking


def test_a_planned_move_checks_waits_checks_again_commits_reads_back_and_verifies() -> None:
    move = Move(FakeClusters(unread_left=[9, 9, 4, 0]))
    assert move.apply() == []
    assert move.written() == [
        ("check", "done"),
        ("wait", "done"),
        ("check", "done"),
        ("commit", "done"),
        ("read_back", "done"),
        ("verify", "done"),
        ("home", "done"),
    ]
    assert move.clusters.committed == [["g"]]
    assert move.said[0] == "waiting, for at most 10 s: 9 records"


def test_a_plan_asks_and_does_nothing_else() -> None:
    move = Move(FakeClusters([[CROSSING, replace(MIRRORING, topic_partition=OTHER)]]))
    (plan,) = move.cutover.plan(["g"], Mode.PLANNED)
    assert (plan.duplicates, plan.lost, plan.blocking, len(plan.partitions)) == (2, 3, [], 2)
    assert (plan.at_source, plan.at_target) == (Activity.INACTIVE, Activity.INACTIVE)
    assert (move.steps, move.clusters.committed) == ([], [])


SILENT = ClusterError("X", "no answer")


@pytest.mark.parametrize(
    ("site", "words"),
    [
        (FakeClusters(here=["g"]), "it has members at X; stop them there first"),
        (FakeClusters(there=["g"]), "it has members at Y; stop them there first"),
        (FakeClusters(transactions={"g": "producer 4001 holds commits back"}), "producer 4001 holds commits back"),
        (FakeClusters(here=SILENT), "if X is lost, use --disaster"),
        (FakeClusters(there=ClusterError("Y", "no answer")), "groups cannot be moved to a target that does not answer"),
        (FakeClusters([[]]), "it has no commits at X to move"),
        (FakeClusters([[]], elsewhere={"g": ["Y"]}), "its newest commits are at Y"),
        (
            FakeClusters(elsewhere={"g": ["Z"]}),
            "some of its newest commits are at Z; stop it there and move it from there first",
        ),
        (
            FakeClusters([[replace(GOOD, status=Status.WITHHELD, reason="TOPIC_RECREATED")]]),
            "orders-0 is withheld: TOPIC_RECREATED (1 partitions); see docs/operations.md",
        ),
    ],
)
def test_every_reason_not_to_move_is_named_and_nothing_is_committed(site: FakeClusters, words: str) -> None:
    move = Move(site)
    (failure,) = move.apply()
    assert words in failure
    assert move.written() == [("check", "refused")]
    assert site.committed == []


def test_an_idle_partition_that_never_left_the_target_keeps_no_group_from_going_back() -> None:
    assert blocking(FakeClusters(elsewhere={"g": ["Y"]})) == []
    (reason,) = blocking(FakeClusters(elsewhere={"g": ["Y", "Z"]}))
    assert reason == "some of its newest commits are at Z; stop it there and move it from there first"


@pytest.mark.parametrize("mode", Mode)
def test_many_groups_take_no_more_appends_than_one(mode: Mode) -> None:
    """On slow storage each takes half a minute."""
    one, many = Move(FakeClusters()), Move(FakeClusters())
    assert one.apply("a", mode=mode) == []
    assert many.apply("a", "b", "c", mode=mode) == []
    assert many.appends == one.appends
    assert many.written().count(("verify", "done")) == 3


def test_a_disaster_asks_nothing_of_the_source_and_waits_for_nothing() -> None:
    site = FakeClusters([[MIRRORING]], here=SILENT, unread_left=[5], ranges={"g": ["orders-0 X [5, 8)"]})
    move = Move(site)
    assert move.apply(mode=Mode.DISASTER) == []
    assert move.seconds == 0
    assert "g: never mirrored, so not at Y: orders-0 X [5, 8)" in move.said
    assert [step.detail for step in move.steps if step.step is Step.VERIFY] == ["orders-0 X [5, 8)"]
    assert blocking(FakeClusters(here=["g"]), Mode.DISASTER) == []
    assert blocking(FakeClusters(there=["g"]), Mode.DISASTER) != []


def test_one_group_that_may_not_move_keeps_no_other() -> None:
    move = Move(FakeClusters(here=["b"]))
    assert move.apply("a", "b", "c") == ["b: it has members at X; stop them there first"]
    assert move.clusters.committed == [["a", "c"]]


def test_a_wait_that_is_too_long_moves_nothing_and_says_what_is_left() -> None:
    move = Move(FakeClusters(unread_left=[3]))
    (failure,) = move.apply(timeout=5.0)
    assert "not read within 5 s: 3 records; are index_records and sync_offsets running?" in failure
    assert move.written()[-1] == ("wait", "failed")
    assert (move.clusters.committed, move.seconds) == ([], 5.0)


def test_a_member_that_joins_while_others_wait_stops_the_move() -> None:
    class Joining(FakeClusters):
        def unread(self, groups: Collection[str]) -> dict[str, int]:
            self.here = ["g"]
            return {}

    move = Move(Joining())
    assert move.apply() == ["g: it has members at X; stop them there first"]
    assert move.clusters.committed == []


@pytest.mark.parametrize(
    ("outcome", "held", "words"),
    [
        (Outcome.FAILED, 7, "FAILED; Y holds 7, wanted 7"),
        (Outcome.TARGET_ACTIVE, 3, "TARGET_ACTIVE; Y holds 3, wanted 7"),
        (Outcome.COMMITTED, 6, "COMMITTED; Y holds 6, wanted 7"),
        (Outcome.COMMITTED, None, "Y holds None"),
        (Outcome.COMMITTED, ClusterError("Y", "gone"), "gone"),
    ],
)
def test_what_the_target_itself_does_not_confirm_has_failed(
    outcome: Outcome, held: int | ClusterError | None, words: str
) -> None:
    move = Move(FakeClusters(outcome=outcome, held=held))
    failures = move.apply()
    assert words in failures[0]
    assert ("read_back", "failed") in move.written()


def test_where_the_running_sync_was_a_moment_later_it_is_translated_and_read_back_again() -> None:
    class Overtaken(FakeClusters):
        def translate_and_commit(self, groups: Collection[str]) -> list[Committed]:
            wanted = 9 if self.committed else 7
            return [replace(each, target_offset=wanted) for each in super().translate_and_commit(groups)]

    move = Move(Overtaken(held=9))
    assert move.apply() == []
    assert [result for step, result in move.written() if step == "read_back"] == ["failed", "done"]
    move = Move(FakeClusters(held=9))
    assert "Y holds 9, wanted 7" in move.apply()[0]
    assert len(move.clusters.committed) == 4  # three times more


BEHIND = replace(GOOD, status=Status.BEHIND, reason="the target is 2 records behind")


def test_a_move_is_verified_once_more_where_sync_offsets_worked_beside() -> None:
    move = Move(FakeClusters([[GOOD], [GOOD], [BEHIND], [GOOD]]))
    assert move.apply(timeout=60.0) == []
    assert move.seconds == 1


def test_a_group_that_is_not_verified_stays_at_home_at_the_source() -> None:
    move = Move(FakeClusters([[GOOD], [GOOD], [BEHIND], [BEHIND], [GOOD]]))
    assert move.apply(timeout=60.0) == ["g orders-0: Behind: the target is 2 records behind; repeat apply"]
    assert move.homes() == []


def test_verifying_says_what_to_do() -> None:
    remedies = {
        Status.MIRRORING: "wait until the mirror",
        Status.BEHIND: "repeat apply",
        Status.STALLED: "start the job or mirror that has stopped",
        Status.TARGET_ACTIVE: "stop the group's members at Y",
        Status.WITHHELD: "Withheld, by reason",
    }
    for status, remedy in remedies.items():
        (line,) = Move(FakeClusters([[replace(GOOD, status=status, reason="so")]])).cutover.verify(["g"])
        assert line.startswith(f"g orders-0: {status.word}: so; ")
        assert remedy in line
    (line,) = Move(FakeClusters([[CROSSING]])).cutover.verify(["g"])
    assert "send all producers to Y" in line


def test_nothing_to_verify_is_not_good() -> None:
    move = Move(FakeClusters([[]]))
    assert move.cutover.verify(["g"]) == ["g: nothing to verify: its newest commits are not at X"]
    assert move.written() == [("verify", "failed")]


def test_a_move_may_be_repeated() -> None:
    move = Move(FakeClusters(outcome=Outcome.UNCHANGED))
    assert (move.apply(), move.apply()) == ([], [])
    assert move.written()[:7] == move.written()[7:]


def test_a_group_that_has_committed_meanwhile_is_not_called_moved() -> None:
    class Gone(FakeClusters):
        def translate_and_commit(self, groups: Collection[str]) -> list[Committed]:
            return []

    move = Move(Gone())
    assert move.apply() == ["g orders-0: its position has changed during the move; repeat apply"]
    assert move.homes() == []


YOUNG = {"g": Reader(2_000, is_member=False)}
REFUSED = "committed 2 s ago at X without members: stop the reader, or pass --confirm-readers"


def test_a_reader_without_membership_has_to_be_stopped_or_confirmed() -> None:
    assert blocking(FakeClusters(reading=YOUNG)) == [REFUSED]
    assert blocking(FakeClusters(reading={"g": Reader(2_000, is_member=True)})) == []
    assert blocking(FakeClusters(reading=YOUNG), Mode.DISASTER) == []
    assert Move(FakeClusters(reading=YOUNG), options=Options(are_readers_confirmed=True)).apply() == []
    assert Move(FakeClusters(reading=YOUNG)).apply() == [f"g: {REFUSED}"]


def test_a_group_of_unknown_members_has_to_be_confirmed_at_the_source_only() -> None:
    unseen = (
        "X does not list it: it is of another type, or Describe on it is missing (operations.md, Minimal ACLs); "
        "if its members are stopped, pass --confirm-readers"
    )
    assert blocking(FakeClusters(unseen=["g"])) == [unseen]
    assert blocking(FakeClusters(unseen=["g"]), Mode.DISASTER) == []
    assert Move(FakeClusters(unseen=["g"]), options=Options(are_readers_confirmed=True)).apply() == []
    assert Move(FakeClusters(unseen=["g"], here=["g"]), options=Options(are_readers_confirmed=True)).apply() == [
        "g: it has members at X; stop them there first"
    ]


def test_a_share_group_is_refused_in_its_own_words() -> None:
    reason = "share group at X: acknowledgements are not offsets, and only brokers can write them"
    assert blocking(FakeClusters([[]], shared=["g"])) == [reason]
    assert Move(FakeClusters([[]], shared=["g"])).cutover.verify(["g"]) == [f"g: {reason}"]


FRESH = replace(GOOD, uncommitted="1-2, 4")


def test_partitions_that_a_group_never_committed_begin_at_the_targets_start() -> None:
    starts = {TopicPartition("orders", number): 100 for number in (1, 2, 4)}
    site = FakeClusters([[FRESH]], held_starts=starts)
    (plan,) = Move(site).cutover.plan(["g"], Mode.PLANNED)
    assert plan.notes == ["never committed 3 partitions of orders (1-2, 4): apply commits the start at Y"]
    move = Move(site)
    assert move.apply() == []
    assert site.started == [("g", "orders", number) for number in (1, 2, 4)]
    assert [step.target_offset for step in move.steps if step.step is Step.COMMIT] == [7, 100, 100, 100]


def test_they_are_left_out_where_a_person_says_so() -> None:
    site = FakeClusters([[FRESH]])
    move = Move(site, options=Options(are_uncommitted_left=True))
    assert (move.apply(), site.started) == ([], [])
    (plan,) = move.cutover.plan(["g"], Mode.PLANNED)
    assert plan.notes == ["never committed 3 partitions of orders (1-2, 4): left out"]


def test_a_start_that_is_not_read_back_fails() -> None:
    move = Move(FakeClusters([[FRESH]]))
    failures = move.apply()
    assert len(failures) == 3
    assert "Y holds None, wanted 100" in failures[0]
    assert move.homes() == []


def test_two_clusters_that_commit_block_no_move_and_are_named() -> None:
    words = "committed at both X (5, 3 s ago) and Y (7, 1 s ago)"
    withheld = replace(GOOD, status=Status.WITHHELD, reason=words, contest=words, state=State.COMMITTED_AT_BOTH)
    for row in (withheld, replace(GOOD, contest=words)):
        (plan,) = Move(FakeClusters([[row]])).cutover.plan(["g"], Mode.PLANNED)
        assert (plan.blocking, plan.notes, plan.verdict) == ([], [f"{words}; apply decides"], Verdict.UNKNOWN)
