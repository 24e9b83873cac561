"""Read lists beside the answers: written first, kept up, taken away, and never in a group's way without need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from builders.logs import log
from fakes.clusters import MemoryCluster
from fakes.next_driver import begin_again_by_the_tables
from fakes.read_list_site import AT_X, AT_Y, EPOCH, HOLDS, listed_site, told, writes
from fakes.reconciler_site import ORDERS, Site, config_of
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import ClusterPartition, OffsetWrite, Outcome, TopicPartition, WriteOutcome
from offset_sync.state.group_homes import Move
from offset_sync.state.translator import Translation, Translator
from offset_sync.sync import crossings
from offset_sync.sync.held_lists import HeldLists
from offset_sync.translate.partition import Translations
from offset_sync.translate.read_list import FoundList


@pytest.fixture
def site() -> Site:
    """X and Y, as in ``fakes.read_list_site``."""
    return listed_site()


def test_a_list_is_there_before_the_answer(site: Site) -> None:
    site.commit("X", "readers", 4)
    site.commit("X", "others", 4)
    assert site.reconcile() == []
    assert told(site) == (2, [(3, 5)])
    assert sorted(writes(site)[1:]) == [("Y", "others", 2), ("Y", "readers", 2)]
    assert {group for group, _ in site.clusters["Y"].group_offsets} == {"readers", "others", HOLDS}
    site.reconcile()
    assert [each for each in writes(site) if each[1] == HOLDS] == []


def test_where_nothing_crosses_nothing_is_written(site: Site) -> None:
    site.commit("X", "readers", 2)
    site.reconcile()
    assert site.target_offset("Y", "readers") == 0
    assert told(site) == (0, [(1, 2), (3, 4)])
    plain = Site(site.config)
    for alias in "XY":
        plain.put(log(alias, "X0:9"))
        plain.index.epochs[ClusterPartition(alias, *ORDERS)] = ("id", EPOCH)
    plain.commit("X", "readers", 5)
    plain.reconcile()
    assert (plain.target_offset("Y", "readers"), told(plain)) == (5, None)


def grow(site: Site) -> None:
    site.index.grown.add(ORDERS)
    assert site.reconciler.reconcile_waiting_for_index() == []


def test_a_list_grows_with_the_targets_index_without_commits(site: Site) -> None:
    site.commit("X", "readers", 6)
    site.reconcile()
    assert told(site) == (2, [(3, 5)])
    site.put(log("Y", AT_Y + " Y2 X3"))
    grow(site)
    assert told(site) == (2, [(3, 5), (6, 7)])
    site.put(log("Y", AT_Y + " Y2 X3 X4"))
    grow(site)
    assert told(site) == (2, [(3, 5), (6, 8)])
    assert site.target_offset("Y", "readers") == 2
    site.asked.clear()
    site.put(log("Y", AT_Y + " Y2 X3 X4 Y3"))
    grow(site)
    assert site.asked == []  # all that it has read is there


@pytest.mark.parametrize("again", [2, 1, 0])
def test_of_a_group_that_goes_back_the_list_comes_first_and_else_the_answer_waits(site: Site, again: int) -> None:
    site.commit("X", "readers", 4)
    site.reconciled()
    site.commit("X", "readers", again)
    site.clusters["Y"].refused[HOLDS] = "GROUP_AUTHORIZATION_FAILED"
    (failure,) = site.reconcile()
    assert "its read list could not be replaced" in failure
    assert (site.target_offset("Y", "readers"), told(site)) == (2, (2, [(3, 5)]))
    site.clusters["Y"].refused.clear()
    site.asked.clear()
    assert site.reconcile() == []
    (start, ranges) = told(site) or (0, [])
    assert site.target_offset("Y", "readers") == start < 2
    assert [group for _, group, _ in writes(site)] == [HOLDS, "readers"]
    assert ranges == {2: [(1, 2), (3, 4)], 1: [(1, 2)], 0: []}[again]


def test_a_list_that_cannot_be_written_does_not_stop_a_group_that_goes_on(site: Site) -> None:
    site.commit("X", "readers", 2)
    site.reconciled()
    site.clusters["Y"].refused[HOLDS] = "GROUP_AUTHORIZATION_FAILED"
    site.commit("X", "readers", 4)
    assert site.reconcile() == []
    assert (site.target_offset("Y", "readers"), told(site)) == (2, (0, [(1, 2), (3, 4)]))
    site.clusters["Y"].refused.clear()
    site.reconcile()
    assert told(site) == (2, [(3, 5)])


def test_an_answer_that_goes_up_waits_for_a_list_that_is_of_another_cluster_and_not_right_any_more() -> None:
    site = Site(config_of(["X", "Y", "Z"], sync={"read_lists": {"groups": ["readers"]}, "refresh_interval": "1h"}))
    for alias, records in {"X": "X0 X1 X2 Y0", "Y": "Y0 X0 X1 X2", "Z": "Y0 X0 X1 X2"}.items():
        site.put(log(alias, records))
        site.index.epochs[ClusterPartition(alias, *ORDERS)] = (f"orders at {alias}", EPOCH)
    site.commit("X", "readers", 3)
    site.reconciled()
    assert (site.target_offset("Y", "readers"), told(site)) == (0, (0, [(1, 4)]))
    site.clusters["Y"].refused[HOLDS] = "GROUP_AUTHORIZATION_FAILED"
    site.commit("Z", "readers", 4)
    site.commit("Z", "readers", 2)
    (failure,) = site.reconcile()
    assert "its read list could not be replaced" in failure
    assert (site.target_offset("Y", "readers"), told(site)) == (0, (0, [(1, 4)]))
    site.clusters["Y"].refused.clear()
    site.reconcile()
    assert (site.target_offset("Y", "readers"), told(site)) == (2, (0, []))


def test_a_text_that_is_too_large_for_the_broker_is_taken_back_for_an_empty_list(site: Site) -> None:
    site.commit("X", "readers", 2)
    site.reconciled()
    refuse = site.clusters["Y"].refused
    refuse[HOLDS] = "OFFSET_METADATA_TOO_LARGE: of 4096 characters"
    site.commit("X", "readers", 4)
    site.reconcile()
    refuse.clear()
    site.reconcile()
    assert (site.target_offset("Y", "readers"), told(site)) == (2, (0, []))


def test_of_a_text_that_was_too_large_shorter_ones_are_tried_again(site: Site) -> None:
    site.clusters["Y"].refused[HOLDS] = "OFFSET_METADATA_TOO_LARGE: of 4096 characters"
    site.commit("X", "readers", 2)
    site.reconciled()
    site.clusters["Y"].refused.clear()
    site.reconcile()
    assert told(site) is None
    site.commit("X", "readers", 4)
    site.reconcile()
    assert told(site) == (2, [(3, 5)])


def test_a_dry_run_waits_for_no_list(site: Site) -> None:
    site.commit("X", "readers", 4)
    site.reconciled()
    site.is_dry_run = True
    site.commit("X", "readers", 2)
    assert site.reconcile() == []
    assert told(site) == (2, [(3, 5)])


def test_an_answer_does_not_wait_for_a_list_that_cannot_be_made(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    site.commit("X", "readers", 4)
    site.reconciled()
    monkeypatch.setattr(crossings, "read_list", lambda *_, **__: 1 // 0)
    site.commit("X", "readers", 5)
    assert site.reconcile() == []
    assert (site.target_offset("Y", "readers"), told(site)) == (2, (0, []))
    assert "X to Y: orders-0 is translated without a read list" in caplog.text


def test_what_may_have_been_written_is_asked_for_before_it_is_believed(site: Site) -> None:
    site.commit("X", "readers", 2)
    site.reconciled()
    write = site.write

    def lose_answers(target: str, writes: Sequence[OffsetWrite]) -> list[WriteOutcome]:
        done = write(target, writes)
        lost = {"outcome": Outcome.FAILED, "error": "REQUEST_TIMED_OUT", "is_in_doubt": True}
        return [replace(each, **lost) if each.group_id == HOLDS else each for each in done]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(site, "write", lose_answers)
        site.commit("X", "readers", 4)
        site.reconcile()
    assert told(site) == (2, [(3, 5)])
    site.commit("X", "readers", 2)
    site.reconcile()
    assert told(site) == (0, [(1, 2), (3, 4)])


def test_an_answer_that_had_to_be_found_again_has_its_list(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Translator.answers

    def again(self: Translator, asked: Translation) -> Translations:
        asked.questions[:] = [replace(each) for each in asked.questions]
        return whole(self, asked)

    monkeypatch.setattr(Translator, "answers", again)
    site.commit("X", "readers", 4)
    site.reconcile()
    assert told(site) == (2, [(3, 5)])


def test_a_group_that_is_not_named_costs_nothing(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, made = crossings.read_list, list[int]()

    def count(committed: int, *given: Any, **more: Any) -> FoundList:
        made.append(committed)
        return whole(committed, *given, **more)

    monkeypatch.setattr(crossings, "read_list", count)
    site.commit("X", "others", 5)
    site.commit("X", "readers", 4)
    site.reconcile()
    assert {*made} == {4}


def test_a_list_goes_with_an_answer_that_is_withheld(site: Site) -> None:
    site.commit("X", "readers", 4)
    site.reconciled()
    site.put(log("X", AT_X), topic_id="recreated")
    site.reconcile()
    assert (site.target_offset("Y", "readers"), told(site)) == (2, (0, []))


def note_members(site: Site, **groups: bool) -> None:
    for alias in "XY":
        site.state.homes.note_members(alias, ["readers"] if groups.get(alias) else [], site.clock_ms[0])


def test_a_group_with_members_at_both_clusters_gets_none(site: Site) -> None:
    site.commit("X", "readers", 4)
    site.reconciled()
    note_members(site, X=True, Y=True)
    site.reconcile()
    assert told(site) == (0, [])


def test_what_members_at_the_target_go_by_stays_as_it_is(site: Site) -> None:
    site.commit("X", "readers", 6)
    site.reconciled()
    note_members(site, Y=True)
    site.put(log("Y", AT_Y + " X3"))
    site.reconcile()
    assert told(site) == (2, [(3, 5)])


@pytest.mark.parametrize(("offsets", "stands"), [((3,), (2, [(3, 5)])), ((5,), (0, [])), ((4, 3), (0, []))])
def test_a_list_is_taken_away_where_the_group_has_moved_once_it_is_past_it_or_goes_back(
    site: Site, offsets: tuple[int, ...], stands: object
) -> None:
    site.commit("X", "readers", 4)
    site.reconciled()
    for offset in offsets:
        site.commit("Y", "readers", offset)
        site.reconcile()
    assert told(site) == stands
    assert site.target_offset("Y", "readers") == offsets[-1]


def test_a_group_that_went_back_before_its_list_was_written_has_none_once_that_is_known(site: Site) -> None:
    site.commit("Y", "readers", 5)
    site.reconcile()
    site.commit("X", "readers", 4)
    site.read_all()
    site.commit("Y", "readers", 3)
    site.pass_time(1)
    site.reconciler.reconcile_all()
    assert told(site) == (2, [(3, 5)])
    site.reconcile()
    assert (site.target_offset("Y", "readers"), told(site)) == (3, (0, []))


def test_a_group_that_was_set_back_where_it_was_before_it_moved_reads_all(site: Site) -> None:
    site.commit("X", "readers", 4)
    site.reconciled()
    site.commit("X", "readers", 1)
    site.commit("Y", "readers", 3)
    site.reconcile()
    assert told(site) == (0, [])


def test_what_a_group_was_set_back_to_elsewhere_after_its_last_word_at_home_is_not_listed_there(site: Site) -> None:
    other = TopicPartition("orders", 1)
    site.put(log("X", "X0"), other, partitions=2)
    site.put(log("Y", "Y0 X0"), other, partitions=2)
    site.commit("Y", "readers", 5)
    site.commit("X", "readers", 4)
    site.reconcile()
    assert told(site) == (2, [(3, 5)])
    site.commit("Y", "readers", 2)
    site.commit("X", "readers", 1, other)
    site.reconcile()
    assert (site.target_offset("Y", "readers"), told(site)) == (2, (0, []))
    site.pass_time(2_001)
    site.commit("X", "readers", 4)
    site.reconcile()
    assert told(site) == (2, [(3, 5)])


def test_what_we_have_brought_to_the_home_of_a_group_is_not_what_it_has_read(site: Site) -> None:
    other = TopicPartition("orders", 1)
    site.put(log("X", "X0 Y0 Y1"), other, partitions=2)
    site.put(log("Y", "Y0 Y1 X0", log_start=1), other, partitions=2)
    for alias in "XY":
        site.index.epochs[ClusterPartition(alias, *other)] = (f"orders at {alias}", EPOCH)
    site.commit("X", "readers", 1, other)
    site.commit("X", "readers", 4)
    site.reconciled()
    assert site.target_offset("Y", "readers", other) == 1  # Y0 is unread, and no longer there
    site.commit("Y", "readers", 5)
    site.reconciled()
    assert told(site, "X", other) is None
    site.commit("Y", "readers", 1, other)
    site.reconcile()
    assert told(site, "X", other) == (0, [(1, 2)])


def test_what_a_command_has_committed_for_a_group_that_it_has_moved_is_not_what_the_group_has_read(site: Site) -> None:
    site.state.homes.note_moves([Move("readers", "orders", "X", site.clock_ms[0], is_decided=False)])
    site.commit("X", "readers", 4)
    site.reconcile()
    assert (site.target_offset("Y", "readers"), told(site)) == (2, None)
    site.pass_time(2_001)
    site.commit("X", "readers", 4)
    site.reconcile()
    assert told(site) == (2, [(3, 5)])


def test_a_list_that_is_as_it_was_after_the_group_went_back_is_kept(site: Site) -> None:
    site.commit("Y", "readers", 5)
    site.reconcile()
    site.commit("X", "readers", 4)
    site.reconcile()
    site.commit("Y", "readers", 3)
    site.pass_time(2_001)
    site.commit("X", "readers", 4)
    site.reconcile()
    site.commit("Y", "readers", 4)
    site.reconcile()
    assert told(site) == (2, [(3, 5)])


def test_the_next_driver_knows_the_present_lists(site: Site) -> None:
    site.commit("X", "readers", 4)
    site.reconciled()
    begin_again_by_the_tables(site)
    site.reconcile(is_first=True)
    assert [each for each in writes(site) if each[1] == HOLDS] == []
    site.commit("X", "readers", 1)
    begin_again_by_the_tables(site)
    site.reconcile(is_first=True)
    assert told(site) == (0, [(1, 2)])


@pytest.mark.parametrize("said", [ClusterError("Y", "does not answer"), "no id that a list can carry"])
def test_while_present_lists_are_unknown_no_answer_goes_down(site: Site, said: str | ClusterError) -> None:
    site.commit("X", "readers", 4)
    site.reconciled()
    begin_again_by_the_tables(site)
    site.commit("X", "readers", 1)

    def silent(_deadline: float) -> str:
        if isinstance(said, str):
            return said
        raise said

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(site.clusters["Y"], "cluster_id", silent)
        (failure,) = site.reconcile(is_first=True)
    assert "its read list could not be replaced" in failure
    assert site.target_offset("Y", "readers") == 2
    site.reconcile()
    assert (site.target_offset("Y", "readers"), told(site)) == (0, (0, [(1, 2)]))


def test_lists_are_written_again_before_they_expire(site: Site) -> None:
    site.commit("X", "readers", 4)
    site.reconciled()
    site.pass_time(3_600_001)
    site.reconcile()
    assert sorted(writes(site)) == [("Y", HOLDS, 2), ("Y", "readers", 2)]


def test_groups_of_ours_are_never_synced() -> None:
    config = config_of(["X", "Y"], groups={"include": [".*", "__offset-sync.read.readers"], "exclude": []})
    assert not config.is_group_included(HOLDS)
    assert config.is_group_included("readers")


def test_that_lists_cannot_be_read_is_said_once_until_they_are_read_again(caplog: pytest.LogCaptureFixture) -> None:
    holder = MemoryCluster("Y", [0])
    lists = HeldLists("Y", holder)
    for holder.is_down in (True, True, False, True, True):
        lists.ask([HOLDS])
    assert caplog.text.count("clusters.Y: cannot read the stored read lists: clusters.Y: does not answer") == 2
