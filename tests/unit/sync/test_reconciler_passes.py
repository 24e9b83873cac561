"""The reconcile pass: what is asked of a target, what is left alone, and what waits for a log that is unread."""

from __future__ import annotations

from collections.abc import Sequence
from unittest.mock import MagicMock

import pytest

from fakes.reconciler_site import ORDERS, Site, SiteWriter, mirrored_site
from offset_sync.model.values import OffsetWrite, WriteOutcome


def test_the_first_pass_asks_about_everything_and_finds_what_the_book_does_not_know() -> None:
    site = mirrored_site()
    site.commit("X", "readers", 4)
    site.reconciled()
    del site.clusters["Y"].group_offsets["readers", ORDERS]  # without a record that we have read
    site.reconcile()
    assert site.asked == []
    site.reconcile(is_first=True)
    assert site.target_offset("Y", "readers") == 6
    site.read_all()
    site.offsets.clusters["Y"].own_writes.note_recorded()
    site.reconcile(is_first=True)
    assert [*site.files.values()] == ["[]"], "what was found there is not noted as written"


def test_a_newer_commit_during_our_query_is_left_to_its_own_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    site = mirrored_site()
    site.commit("X", "readers", 8)

    def fetch_slowly(*asked: Sequence[str]) -> object:
        monkeypatch.undo()
        site.commit("X", "readers", 2)
        site.read("X")
        return site.fetch(*asked)  # type: ignore[arg-type]

    monkeypatch.setattr(site, "fetch", fetch_slowly)
    site.reconcile()
    assert site.asked == []
    site.reconcile()
    assert site.target_offset("Y", "readers") == 4


def test_what_was_deleted_together_with_its_topic_stays_at_the_target_and_is_refreshed() -> None:
    site = mirrored_site(sync={"refresh_interval": "1d"})
    site.commit("X", "g", 5)
    site.reconciled()
    del site.clusters["X"].topics["orders"]
    site.clusters["X"].forget("g", ORDERS)
    site.reconcile()
    assert [(row.state, row.outcome) for row in site.rows()] == [("TOPIC_MISSING", "WITHHELD")]
    for is_down in (False, True):  # the source that said so is gone in the end
        site.clusters["X"].is_down = is_down
        site.pass_time(24 * 3_600_000 + 1)
        site.asked.clear()
        for _ in range(2):
            site.reconcile()
        assert [(target, write.offset, write.refresh) for target, write in site.asked] == [("Y", 7, True)]


def test_a_writer_that_raises_leaves_at_most_one_write_in_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    site = mirrored_site()

    def fails(_writer: SiteWriter, _writes: Sequence[OffsetWrite]) -> Sequence[WriteOutcome]:
        raise RuntimeError("the Spark job of the writes failed")

    site.commit("X", "g", 3)
    with monkeypatch.context() as patched:
        patched.setattr(SiteWriter, "write", fails)
        for _ in range(3):
            with pytest.raises(RuntimeError, match="Spark job"):
                site.reconcile()
    site.reconcile()
    site.read_all()
    site.commit("Y", "g", 6)
    site.reconcile()
    assert [row.source for row in site.rows()] == ["Y"]


def test_nothing_is_sent_that_the_next_driver_would_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    site = mirrored_site()
    site.commit("X", "g", 3)
    with monkeypatch.context() as patched:
        patched.setattr(site.state, "before_write", MagicMock(side_effect=OSError("disk full")))
        site.reconcile()
    assert [row.error for row in site.rows()] == ["not sent, as it cannot be stored: disk full"]
    assert site.asked == []
    site.reconcile()
    assert [(target, write.offset) for target, write in site.asked] == [("Y", 5)]


# A cluster whose log of commits cannot be read at the start may hold a newer commit than all that is known


def begin(site: Site) -> None:
    """Read every log but that of X, and make the first pass."""
    site.state.unread.begin(site.clusters)
    for alias in site.clusters.keys() - {"X"}:
        site.read(alias)
        site.state.unread.note_read([alias])
    site.reconciler.reconcile_all(is_first=True)


def test_a_commit_made_before_our_eyes_counts_so_a_failover_goes_on() -> None:
    site = mirrored_site("Y", "Z")
    site.commit("Y", "g", 9)
    site.restart()
    begin(site)
    site.clusters["X"].is_down = True
    site.commit("Y", "g", 10)
    site.reconcile_batch("Y")
    assert site.target_offset("Z", "g") == 10


def test_a_commit_on_the_way_to_the_end_of_a_log_does_not_count() -> None:
    site = mirrored_site()
    site.commit("X", "g", 3)
    site.read_all()
    site.commit("X", "g", 8)
    site.commit("X", "g", 4)
    begin(site)
    site.reconcile_batch("X", at_most=2)
    assert site.target_offset("Y", "g") == 5
    site.read("X")
    site.state.unread.note_read(["X"])
    site.reconciler.reconcile_all()
    assert site.target_offset("Y", "g") == 6
