"""Settling again and again: what is asked of a target, and what is left alone."""

from __future__ import annotations

from offset_sync.testing.settling import ORDERS, Site, config_of, mirrored_site
from offset_sync.testing.written import indexed_at, log
from offset_sync.translate.commits import OWN_TAG


def test_a_commit_is_answered_on_every_target_and_marked_as_ours() -> None:
    made = mirrored_site("Y", "Z")
    made.commit("X", "readers", 4)
    assert made.settle() == []
    for alias in ("Y", "Z"):
        standing = made.clusters[alias].standing["readers", ORDERS]
        assert (standing.offset, standing.metadata) == (6, OWN_TAG)
    assert {(row.target, row.state, row.outcome, row.previous) for n in (0, 1) for row in made.rows(n)} == {
        ("Y", "EXACT", "COMMITTED", -1),
        ("Z", "EXACT", "COMMITTED", -1),
    }


def test_what_we_wrote_is_never_answered_back() -> None:
    made = mirrored_site()
    made.commit("X", "readers", 4)
    for _ in range(3):
        made.settle()
    assert made.clusters["X"].written == []
    assert made.standing("X", "readers") == 4


def test_nothing_is_asked_twice_and_a_settled_key_costs_no_question() -> None:
    made = mirrored_site()
    made.commit("X", "readers", 4)
    made.settle()
    assert len(made.asked) == 1
    made.settled()
    questions = made.clusters["Y"].questions
    made.settle()
    assert made.settlements == []
    assert made.clusters["Y"].questions == questions


def test_a_repeated_answer_is_no_news() -> None:
    made = mirrored_site()
    made.commit("X", "readers", 4)
    made.settle()
    assert [row.is_news for row in made.rows()] == [True]
    made.settle()
    assert [(row.outcome, row.is_news) for row in made.rows()] == [("UNCHANGED", False)]


def test_a_new_commit_unsettles_its_own_key_only() -> None:
    made = mirrored_site()
    made.commit("X", "readers", 4)
    made.commit("X", "others", 5)
    made.settled().commit("X", "readers", 7)
    made.settle()
    assert [(row.group_id, row.wanted, row.previous) for row in made.rows()] == [("readers", 9, 6)]
    assert made.standing("Y", "others") == 7


def test_a_commit_of_the_same_offset_is_news_and_needs_no_write() -> None:
    made = mirrored_site()
    made.commit("X", "readers", 4)
    made.settled().commit("X", "readers", 4)
    made.settle()
    assert [(row.outcome, row.is_news) for row in made.rows()] == [("UNCHANGED", True)]
    assert made.asked == []


def test_the_first_pass_asks_about_everything_and_finds_what_the_book_does_not_know() -> None:
    made = mirrored_site()
    made.commit("X", "readers", 4)
    made.settled()
    del made.clusters["Y"].standing["readers", ORDERS]  # without a record that we have read
    made.settle()
    assert made.asked == []
    made.settle(is_first=True)
    assert made.standing("Y", "readers") == 6


def test_a_driver_that_starts_anew_writes_nothing_that_stands_already() -> None:
    made = mirrored_site()
    made.commit("X", "readers", 4)
    made.settled()
    made.restart()
    written = len(made.clusters["Y"].written)
    made.settle(is_first=True)
    assert (len(made.asked), len(made.clusters["Y"].written)) == (1, written)
    assert made.rows()[0].outcome == "UNCHANGED"


def test_a_value_changed_at_the_target_is_compared_again() -> None:
    made = mirrored_site()
    made.commit("X", "readers", 4)
    made.settled().clusters["Y"].forget("readers", ORDERS)
    made.settle()
    assert made.standing("Y", "readers") == 6


def test_an_answer_at_the_frontier_is_asked_again_until_the_index_has_passed_it() -> None:
    made = mirrored_site()
    made.commit("X", "readers", 10)
    for _ in range(5):
        made.settle()
    assert (made.rows()[0].state, made.standing("Y", "readers")) == ("AT_FRONTIER", 12)
    made.put(log("X", "X0:14"))
    made.put(log("Y", ". . X0:10 . X10:14"))
    made.settle()
    assert (made.rows()[0].state, made.standing("Y", "readers")) == ("EXACT", 13)


def test_a_hole_too_young_to_be_one_is_asked_about_until_it_is_old() -> None:
    made = Site(config_of(["X", "Y"], sync={"hole_grace": "60s"}))
    made.put(indexed_at(log("X", "X0:5 Y1 X6:10"), 5, made.clock_ms[0]))  # Y1 is what shows that Y0 is missing
    made.put(log("Y", "Y0 Y1 X0:5 X6:10"))
    made.commit("X", "readers", 9)
    for _ in range(5):
        made.settle()
    assert made.standing("Y", "readers") == 0
    made.pass_time(60_001)
    made.settle()
    assert made.standing("Y", "readers") == 10


# Batches


def test_a_batch_settles_what_it_is_told_and_nothing_else() -> None:
    made = mirrored_site()
    made.commit("X", "others", 2)
    made.read_all()
    made.commit("X", "readers", 4)
    keys = made.read("X")
    assert made.settler.settle_batch("X", keys, 17) == []
    assert [(row.group_id, made.settlements[0].batch_id) for row in made.rows()] == [("readers", 17)]
    assert made.standing("Y", "others") is None


def test_a_batch_settles_only_where_its_source_owns_the_key() -> None:
    made = mirrored_site()
    made.commit("X", "readers", 4)
    made.commit("Y", "readers", 9)
    made.read_all()
    assert made.settler.settle_batch("X", made.book.ids([("readers", "orders", 0)]), 1) == []
    assert (made.settlements, made.clusters["Y"].questions) == ([], 0)


def test_a_batch_goes_only_where_its_source_is_synced_to() -> None:
    made = mirrored_site("Y", "Z", directions=[["X", "Z"], ["Y", "X"]])
    made.commit("X", "readers", 4)
    made.settler.settle_batch("X", made.read("X"), 1)
    assert {target for target, _ in made.asked} == {"Z"}
    made.commit("Z", "readers", 9)
    assert made.settler.settle_batch("Z", made.read("Z"), 2) == []
    assert len(made.asked) == 1


def test_a_batch_asks_even_what_is_settled_nothing_anew() -> None:
    made = mirrored_site()
    made.commit("X", "readers", 4)
    keys = made.read("X")
    made.settled()
    made.settler.settle_batch("X", keys, 2)
    assert made.asked == []
    assert [row.outcome for row in made.rows()] == ["UNCHANGED"]
