"""What was withheld while a source answered stays so when it is silent, as in a disaster."""

from __future__ import annotations

from fakes.clusters import MemoryEnds
from fakes.reconciler_site import ORDERS, Site, mirrored_site


def answer(site: Site) -> tuple[str, str, int | None]:
    """State and outcome of the only row, and the offset at Y."""
    (row,) = site.rows()
    return row.state, row.outcome, site.target_offset("Y", row.group_id, row.place)


def test_a_commit_beyond_the_end_stays_withheld_when_the_source_is_silent_and_a_new_one_is_answered() -> None:
    site = mirrored_site()
    site.commit("X", "readers", 15)
    site.commit("X", "others", 4)
    site.reconcile()
    site.clusters["X"].is_down = True
    site.reconciler.reconcile_all(is_first=True)
    assert {(row.group_id, row.state, row.outcome) for row in site.rows()} == {
        ("readers", "COMMIT_BEYOND_END", "WITHHELD"),
        ("others", "EXACT", "UNCHANGED"),
    }
    site.commit("X", "readers", 9)
    site.reconcile()
    assert site.target_offset("Y", "readers") == 11


def test_a_lower_commit_is_answered_though_one_beyond_the_end_was_there_before_the_cluster_fell_silent() -> None:
    site = mirrored_site()
    site.commit("X", "readers", 15)
    site.reconcile()
    site.clusters["Y"].is_down = True
    site.commit("X", "readers", 9)
    site.reconcile()
    site.clusters["Y"].is_down = False
    site.clusters["X"].is_down = True
    site.reconcile()
    assert site.target_offset("Y", "readers") == 11


def test_a_log_that_was_cut_stays_withheld_when_the_source_is_silent() -> None:
    site = mirrored_site()
    site.commit("X", "readers", 4)
    site.clusters["X"].logs[ORDERS] = MemoryEnds(0, 6)
    site.reconcile()
    assert answer(site) == ("LOG_TRUNCATED", "WITHHELD", None)
    site.clusters["X"].is_down = True
    site.commit("X", "late", 3)
    site.reconcile()
    assert {(row.group_id, row.state) for row in site.rows()} == {
        ("readers", "LOG_TRUNCATED"),
        ("late", "LOG_TRUNCATED"),
    }


def test_a_commit_that_comes_alone_long_after_the_source_has_fallen_silent_is_withheld_with_its_log() -> None:
    site = mirrored_site()
    site.commit("X", "readers", 4)
    site.clusters["X"].logs[ORDERS] = MemoryEnds(0, 6)
    site.reconcile()
    site.clusters["X"].is_down = True
    for _ in range(3):
        site.reconcile()
    site.commit("X", "late", 3)
    site.reconciler.reconcile_batch("X", site.read("X"), 1)
    assert answer(site) == ("LOG_TRUNCATED", "WITHHELD", None)
