"""Settling again and again: what is asked of a target, and what is left alone."""

from __future__ import annotations

from builders.logs import indexed_at, log
from fakes.reconciler_site import ORDERS, Site, config_of, mirrored_site
from offset_sync.model.values import TopicPartition


def test_a_commit_is_answered_on_every_target_with_empty_metadata() -> None:
    site = mirrored_site("Y", "Z")
    site.commit("X", "readers", 4)
    assert site.reconcile() == []
    for alias in ("Y", "Z"):
        held = site.clusters[alias].group_offsets["readers", ORDERS]
        assert (held.offset, held.metadata) == (6, "")
    assert {(row.target, row.state, row.outcome, row.previous) for n in (0, 1) for row in site.rows(n)} == {
        ("Y", "EXACT", "COMMITTED", -1),
        ("Z", "EXACT", "COMMITTED", -1),
    }


def test_what_we_wrote_is_never_answered_back() -> None:
    site = mirrored_site()
    site.commit("X", "readers", 4)
    for _ in range(3):
        site.reconcile()
    assert site.clusters["X"].written == []
    assert site.target_offset("X", "readers") == 4


def test_nothing_is_asked_twice() -> None:
    site = mirrored_site()
    site.commit("X", "readers", 4)
    site.reconcile()
    assert len(site.asked) == 1
    site.reconciled()
    site.reconcile()
    assert (site.asked, site.reconciliations) == ([], [])


def test_a_repeated_answer_is_no_news() -> None:
    site = mirrored_site()
    site.commit("X", "readers", 4)
    site.reconcile()
    assert [row.is_news for row in site.rows()] == [True]
    site.reconcile()
    assert [(row.outcome, row.is_news) for row in site.rows()] == [("UNCHANGED", False)]


def test_a_new_commit_unsettles_its_own_key_only() -> None:
    site = mirrored_site()
    site.commit("X", "readers", 4)
    site.commit("X", "others", 5)
    site.reconciled().commit("X", "readers", 7)
    site.reconcile()
    assert [(row.group_id, row.wanted, row.previous) for row in site.rows()] == [("readers", 9, 6)]
    assert site.target_offset("Y", "others") == 7


def test_a_commit_of_the_same_offset_is_news_and_needs_no_write() -> None:
    site = mirrored_site()
    site.commit("X", "readers", 4)
    site.reconciled().commit("X", "readers", 4)
    site.reconcile()
    assert [(row.outcome, row.is_news) for row in site.rows()] == [("UNCHANGED", True)]
    assert site.asked == []


def test_the_first_pass_asks_about_everything_and_finds_what_the_book_does_not_know() -> None:
    site = mirrored_site()
    site.commit("X", "readers", 4)
    site.reconciled()
    del site.clusters["Y"].group_offsets["readers", ORDERS]  # without a record that we have read
    site.reconcile()
    assert site.asked == []
    site.reconcile(is_first=True)
    assert site.target_offset("Y", "readers") == 6


def test_a_driver_that_restarts_writes_no_offset_that_is_there_already() -> None:
    site = mirrored_site()
    site.commit("X", "readers", 4)
    site.reconciled()
    site.restart()
    written = len(site.clusters["Y"].written)
    site.reconcile(is_first=True)
    assert (len(site.asked), len(site.clusters["Y"].written)) == (1, written)
    assert site.rows()[0].outcome == "UNCHANGED"


def test_a_value_changed_at_the_target_is_compared_again() -> None:
    site = mirrored_site()
    site.commit("X", "readers", 4)
    site.reconciled().clusters["Y"].forget("readers", ORDERS)
    site.reconcile()
    assert site.target_offset("Y", "readers") == 6


def test_an_answer_at_the_frontier_is_asked_again_until_the_index_has_passed_it() -> None:
    site = mirrored_site()
    site.commit("X", "readers", 10)
    for _ in range(5):
        site.reconcile()
    assert (site.rows()[0].state, site.target_offset("Y", "readers")) == ("AT_FRONTIER", 12)
    site.put(log("X", "X0:14"))
    site.put(log("Y", ". . X0:10 . X10:14"))
    site.reconcile()
    assert (site.rows()[0].state, site.target_offset("Y", "readers")) == ("EXACT", 13)


def test_what_waits_for_the_index_is_answered_as_soon_as_the_index_grows_and_nothing_else_is_asked() -> None:
    site = mirrored_site()
    pay = TopicPartition("pay-1", 0)
    site.put(log("X", "X0:10"), pay)
    site.put(log("Y", "X0:10"), pay)
    site.commit("X", "at-the-end", 10)
    site.commit("X", "behind", 4)
    site.commit("X", "elsewhere", 10, pay)
    site.reconcile()
    site.reconciler.reconcile_waiting_for_index()
    site.reconciliations.clear()
    site.put(log("X", "X0:14"))
    site.put(log("Y", ". . X0:10 . X10:14"))
    assert site.reconciler.reconcile_waiting_for_index() == []
    assert [
        (row.group_id, row.state, row.wanted) for n in range(len(site.reconciliations)) for row in site.rows(n)
    ] == [("at-the-end", "EXACT", 13)]
    assert site.target_offset("Y", "at-the-end") == 13
    site.reconciliations.clear()
    assert (site.reconciler.reconcile_waiting_for_index(), site.reconciliations) == ([], [])


def test_a_topic_without_commits_may_grow() -> None:
    site = mirrored_site()
    assert (site.reconciler.reconcile_waiting_for_index(), site.reconciliations) == ([], [])


def test_what_was_answered_bounds_what_is_read_for_the_next_commit() -> None:
    site = mirrored_site()
    site.commit("X", "readers", 4)
    site.reconcile()
    pair, keys = site.state.last("X", "Y"), site.offsets.ids([("readers", "orders", 0)])
    assert [pair.window_start(keys, commit, 0) for commit in (3, 4, 9)] == [0, 6, 6]


def test_a_hole_too_young_to_be_one_is_asked_about_until_it_is_old() -> None:
    site = Site(config_of(["X", "Y"], sync={"hole_grace": "60s"}))
    site.put(indexed_at(log("X", "X0:5 Y1 X6:10"), 5, site.clock_ms[0]))  # Y1 is what shows that Y0 is missing
    site.put(log("Y", "Y0 Y1 X0:5 X6:10"))
    site.commit("X", "readers", 9)
    for _ in range(5):
        site.reconcile()
    assert site.target_offset("Y", "readers") == 0
    site.pass_time(60_001)
    site.reconcile()
    assert site.target_offset("Y", "readers") == 10


# Batches


def test_a_batch_reconciles_what_it_is_told_and_nothing_else() -> None:
    site = mirrored_site()
    site.commit("X", "others", 2)
    site.read_all()
    site.commit("X", "readers", 4)
    keys = site.read("X")
    assert site.reconciler.reconcile_batch("X", keys, 17) == []
    assert [(row.group_id, site.reconciliations[0].batch_id) for row in site.rows()] == [("readers", 17)]
    assert site.target_offset("Y", "others") is None


def test_a_batch_reconciles_only_where_its_source_owns_the_key() -> None:
    site = mirrored_site()
    site.commit("X", "readers", 4)
    site.commit("Y", "readers", 9)
    site.read_all()
    assert site.reconciler.reconcile_batch("X", site.offsets.ids([("readers", "orders", 0)]), 1) == []
    assert (site.reconciliations, site.clusters["Y"].questions) == ([], 0)


def test_a_batch_reconciles_nothing_on_behalf_of_another_source() -> None:
    site = mirrored_site("Y", "Z")
    site.commit("X", "readers", 4)
    site.commit("Y", "readers", 9)
    site.read_all()
    assert site.reconciler.reconcile_batch("X", site.offsets.ids([("readers", "orders", 0)]), 1) == []
    assert (site.reconciliations, site.asked) == ([], [])


def test_a_batch_goes_only_where_its_source_is_synced_to() -> None:
    site = mirrored_site("Y", "Z", directions=[["X", "Z"], ["Y", "X"]])
    site.commit("X", "readers", 4)
    site.reconciler.reconcile_batch("X", site.read("X"), 1)
    assert {target for target, _ in site.asked} == {"Z"}
    site.commit("Z", "readers", 9)
    assert site.reconciler.reconcile_batch("Z", site.read("Z"), 2) == []
    assert len(site.asked) == 1


def test_a_batch_asks_even_what_is_reconciled_nothing_again() -> None:
    site = mirrored_site()
    site.commit("X", "readers", 4)
    keys = site.read("X")
    site.reconciled()
    site.reconciler.reconcile_batch("X", keys, 2)
    assert site.asked == []
    assert [row.outcome for row in site.rows()] == ["UNCHANGED"]


def test_a_silent_target_is_named_by_full_passes_and_not_by_each_micro_batch() -> None:
    site = mirrored_site()
    site.clusters["Y"].is_down = True
    for number in range(3):
        site.commit("X", "readers", 4 + number)
        assert site.reconciler.reconcile_batch("X", site.read("X"), number) == []
        assert [(row.outcome, row.error) for row in site.rows()] == [("FAILED", "clusters.Y: does not answer")]
    line = "X to Y: 1 offsets not committed, first readers/orders/0: clusters.Y: does not answer"
    assert site.reconcile() == [line]
    site.clusters["Y"].is_down, site.clusters["Y"].refused["readers"] = False, "OFFSET_X"
    assert site.reconciler.reconcile_batch("X", site.state.all_rows(), 3) == [
        line.replace("clusters.Y: does not answer", "OFFSET_X")
    ]
