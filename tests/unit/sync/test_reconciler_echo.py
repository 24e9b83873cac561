"""Our own commit is not taken for a genuine one, even if the target's log brings it before the target's answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from builders.commits import commit, take_in
from fakes.reconciler_site import Site, SiteWriter, mirrored_site
from offset_sync.model.values import OffsetWrite, WriteOutcome
from offset_sync.state.committed_offsets import CommittedOffsets
from offset_sync.sync.read_lists import ReadLists
from offset_sync.sync.reconciler import Reconciler


class HastyWriter(SiteWriter):
    """Commits, and reads the target's log before the answer is heard."""

    site: HastySite

    def write(self, writes: Sequence[OffsetWrite]) -> Sequence[WriteOutcome]:
        outcomes = super().write(writes)
        if self.site.reads_at_once:
            self.site.read(self.target)
        return outcomes


class HastySite(Site):
    """A site where the log of the target is read while the answers to a batch are still under way."""

    def restart(self) -> None:
        super().restart()
        self.reads_at_once = True
        writers = {alias: HastyWriter(self, alias) for alias in self.clusters}
        self.reconciler = Reconciler(
            self.config, self.state, self, writers, self.reconciliations, ReadLists(self.config, self.state, {})
        )


def hasty_site() -> HastySite:
    calm = mirrored_site()
    site = HastySite(calm.config, clock_ms=calm.clock_ms, index=calm.index)
    site.clusters.update(calm.clusters)
    return site


@pytest.mark.parametrize("metadata", ["", "m"])
def test_a_commit_that_is_read_before_its_answer_is_ours(metadata: str) -> None:
    site = hasty_site()
    for offset in (3, 5, 8):
        site.commit("X", "readers", offset, metadata=metadata)
        site.reconcile()
        assert site.target_offset("Y", "readers") == offset + 2
    assert {row.source for number in range(len(site.reconciliations)) for row in site.rows(number)} == {"X"}
    site.commit("X", "readers", 1, metadata=metadata)
    site.reconcile()
    assert site.target_offset("Y", "readers") == 3


def test_a_pass_that_finds_our_value_there_keeps_that_it_is_ours() -> None:
    site = hasty_site()
    site.reads_at_once = False
    site.commit("X", "readers", 5, metadata="m")
    site.reconcile()
    site.reconciler.reconcile_all(is_first=True)
    assert [row.outcome for row in site.rows()] == ["UNCHANGED"]
    site.reconcile()
    assert {row.source for number in range(len(site.reconciliations)) for row in site.rows(number)} == {"X"}


@pytest.mark.parametrize("is_written", [True, False])
def test_a_write_whose_answer_was_lost_is_ours_as_often_as_it_is_repeated(is_written: bool) -> None:
    committed = CommittedOffsets(["X"])
    own_writes = committed.clusters["X"].own_writes
    key, offset = committed.ids([("g", "orders", 0)]), np.array([9])
    log = [commit(9, 1)] * is_written
    for _ in range(2):
        own_writes.begin(key, offset)
    log += [commit(9, 2), commit(12, 3)]
    assert take_in(committed, *log) == [True] * (len(log) - 1) + [False]


def test_what_failed_in_pass_after_pass_is_ours_once_when_it_is_written_at_last() -> None:
    site = hasty_site()
    site.reads_at_once = False
    site.commit("X", "readers", 5)
    site.clusters["Y"].refused["readers"] = "GROUP_AUTHORIZATION_FAILED"
    for _ in range(5):
        site.reconcile()
    assert {row.outcome for row in site.rows()} == {"FAILED"}
    site.clusters["Y"].refused.clear()
    site.reconcile()
    site.commit("Y", "readers", 7)  # what we wrote, once more: a reader there
    site.reconcile()
    assert [row.source for row in site.rows()] == ["Y"]


def test_a_refused_value_is_genuine_when_another_client_commits_it() -> None:
    site = hasty_site()
    site.commit("X", "readers", 5, metadata="m")
    site.clusters["Y"].refused["readers"] = "UNKNOWN_MEMBER_ID"
    site.reconcile()
    site.commit("Y", "readers", 7, metadata="n")
    site.reconcile()
    assert [row.source for row in site.rows()] == ["Y"]


# What failed: only what may have been applied can be ours


def owners(site: Site) -> list[str]:
    return [row.source for row in site.rows()]


@pytest.mark.parametrize("error", ["GROUP_AUTHORIZATION_FAILED", "INVALID_COMMIT_OFFSET_SIZE"])
def test_what_a_person_commits_after_writes_were_refused_is_the_groups_own(error: str) -> None:
    site = hasty_site()
    site.clusters["Y"].refused["readers"] = error
    for offset in (3, 5, 8):
        site.commit("X", "readers", offset)
        site.reconcile()
    site.clusters["Y"].refused.clear()
    site.commit("Y", "readers", 5)  # the answer to 3, of which Y has refused a write
    site.reconcile()
    assert (owners(site), site.target_offset("Y", "readers")) == (["Y"], 5)


def test_a_write_that_was_applied_without_an_answer_is_ours_when_the_target_holds_it() -> None:
    site = hasty_site()
    site.reads_at_once = False
    site.clusters["Y"].loses_answers = True
    site.commit("X", "readers", 5)
    site.read("X")
    site.reconciler.reconcile_all()
    assert ([row.outcome for row in site.rows()], site.target_offset("Y", "readers")) == (["FAILED"], 7)
    site.clusters["Y"].is_down = site.clusters["Y"].loses_answers = False
    site.reconciler.reconcile_all()  # Y is read, and its log has not brought the record yet
    assert [row.outcome for row in site.rows()] == ["UNCHANGED"]
    site.commit("X", "readers", 1)
    site.reconcile()
    assert (owners(site), site.target_offset("Y", "readers")) == (["X"], 3)


def test_a_write_that_was_not_applied_and_got_no_answer_is_forgotten_when_the_target_was_read() -> None:
    site = hasty_site()
    site.reads_at_once = False
    site.clusters["Y"].refused["readers"] = "_TIMED_OUT"
    site.commit("X", "readers", 3)
    site.reconcile()
    site.clusters["Y"].refused["readers"] = "GROUP_AUTHORIZATION_FAILED"
    site.commit("X", "readers", 8)
    site.reconcile()
    site.clusters["Y"].refused.clear()
    site.commit("Y", "readers", 5)
    site.reconcile()
    assert owners(site) == ["Y"]


def test_a_writer_that_raises_leaves_at_most_one_write_in_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    site = mirrored_site()

    def fails(_writer: SiteWriter, _writes: Sequence[OffsetWrite]) -> Sequence[WriteOutcome]:
        raise RuntimeError("the Spark job of the writes failed")

    site.commit("X", "readers", 3)
    with monkeypatch.context() as patched:
        patched.setattr(SiteWriter, "write", fails)
        for _ in range(3):
            with pytest.raises(RuntimeError, match="Spark job"):
                site.reconcile()
    site.reconcile()
    site.read_all()
    site.commit("Y", "readers", 5)
    site.reconcile()
    assert owners(site) == ["Y"]
