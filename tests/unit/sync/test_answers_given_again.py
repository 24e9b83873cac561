"""The regular pass checks answers until they are at the target; it recomputes none that cannot have changed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from builders.logs import log
from fakes.reconciler_site import Site, config_of, mirrored_site
from offset_sync.translate import exact
from offset_sync.translate.read_window import ReadWindow


class Windows(list[Sequence[int]]):
    """The commits of each look at the logs."""

    def look(self, committed: Sequence[int], *given: object) -> ReadWindow:
        """Note the commits, and look."""
        self.append(list(committed))
        return ReadWindow(committed, *given)  # type: ignore[arg-type]


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Windows:
    found = Windows()
    monkeypatch.setattr(exact, "ReadWindow", found.look)
    return found


def started_site() -> Site:
    site = mirrored_site()
    site.commit("X", "readers", 4)
    site.reconcile(is_first=True)
    return site


def test_what_the_first_pass_has_answered_is_not_computed_again(looks: Windows) -> None:
    site = started_site()
    assert looks == [[4]]
    for _ in range(4):
        site.reconcile()
    assert looks == [[4]]
    rows = [site.rows(number)[0] for number in range(len(site.reconciliations))]
    assert [(row.wanted, row.state, row.outcome) for row in rows] == [
        (6, "EXACT", "COMMITTED"),
        (6, "EXACT", "UNCHANGED"),
        (6, "EXACT", "UNCHANGED"),
    ]


def test_of_several_commits_only_the_new_one_is_computed(looks: Windows) -> None:
    site = started_site()
    site.commit("X", "others", 5)
    site.reconcile()
    assert looks == [[4], [5]]
    assert [(row.group_id, row.wanted) for row in sorted(site.rows(), key=lambda row: row.wanted)] == [
        ("readers", 6),
        ("others", 7),
    ]


def test_a_write_that_was_refused_is_tried_with_the_same_answer(looks: Windows) -> None:
    site = mirrored_site()
    site.clusters["Y"].refused["readers"] = "UNKNOWN_MEMBER_ID"
    site.commit("X", "readers", 4)
    site.reconcile(is_first=True)
    assert site.target_offset("Y", "readers") is None
    del site.clusters["Y"].refused["readers"]
    site.reconcile()
    assert (looks, site.target_offset("Y", "readers")) == ([[4]], 6)


def late_site() -> Site:
    """X does not have one of Y's records; a group at X was answered once."""
    site = Site(config_of(["X", "Y"]))
    site.put(log("X", "Y0 Y1 Y3 Y4"))
    site.put(log("Y", "Y0:6"))
    site.commit("X", "readers", 4)
    site.reconcile(is_first=True)
    return site


def test_a_record_that_comes_late_has_it_recomputed(looks: Windows) -> None:
    site = late_site()
    assert site.target_offset("Y", "readers") == 5
    site.put(log("X", "Y0 Y1 Y3 Y4 Y2"))
    site.reconcile()
    assert (looks, site.target_offset("Y", "readers")) == ([[4], [4]], 2)


def test_a_log_start_that_moves_has_it_recomputed(looks: Windows) -> None:
    site = started_site()
    site.put(log("Y", ". . X0:10", log_start=9))
    site.reconcile()
    assert len(looks) == 2
    found = site.reconciliations[-1].translated.answers
    assert (found.wanted.tolist(), found.lost.tolist()) == ([9], [3])


def test_a_recreated_topic_withholds_the_kept_answer(looks: Windows) -> None:
    site = started_site()
    site.put(log("Y", ". . X0:10"), topic_id="another")
    site.reconcile()
    assert [(row.state, row.outcome) for row in site.rows()] == [("TOPIC_RECREATED", "WITHHELD")]
    assert looks == [[4]]


def test_an_answer_of_a_micro_batch_is_computed_once_more_where_no_pass_had_seen_its_partition(looks: Windows) -> None:
    site = mirrored_site()
    site.commit("X", "readers", 4)
    site.reconciler.reconcile_batch("X", site.read("X"), 1)
    for _ in range(3):
        site.reconcile()
    assert looks == [[4], [4]]
