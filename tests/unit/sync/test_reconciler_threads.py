"""Settling from several threads: an older answer never overtakes a newer one, and none waits for silence."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence

import pytest

from fakes.reconciler_site import mirrored_site
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import OffsetWrite, TopicPartition, WriteOutcome
from offset_sync.state.cluster_metadata import ClusterMetadata

PATIENCE_S = 10.0


def in_thread(function: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    return thread


def test_a_newer_answer_waits_until_an_older_one_has_arrived(monkeypatch: pytest.MonkeyPatch) -> None:
    site = mirrored_site()
    is_writing, may_write, order = threading.Event(), threading.Event(), []
    write = site.write

    def slow_write(target: str, writes: Sequence[OffsetWrite]) -> list[WriteOutcome]:
        is_writing.set()
        assert may_write.wait(PATIENCE_S)
        order.append([each.offset for each in writes])
        return write(target, writes)

    monkeypatch.setattr(site, "write", slow_write)
    # Else the batch leaves the direction behind where the machine is busy, and is alive no more.
    monkeypatch.setattr("offset_sync.sync.reconciler.PATIENCE_S", PATIENCE_S)
    site.commit("X", "readers", 4)
    site.read_all()
    older = in_thread(site.reconciler.reconcile_all)
    assert is_writing.wait(PATIENCE_S)
    site.commit("X", "readers", 7)
    keys = site.read("X")
    newer = in_thread(lambda: site.reconciler.reconcile_batch("X", keys, 1))
    newer.join(0.2)
    assert newer.is_alive()
    may_write.set()
    for thread in (older, newer):
        thread.join(PATIENCE_S)
    assert (order, site.target_offset("Y", "readers")) == ([[6], [9]], 9)


def test_a_target_that_hangs_does_not_hold_up_another(monkeypatch: pytest.MonkeyPatch) -> None:
    site = mirrored_site("Y", "Z")
    may_write, has_written = threading.Event(), threading.Event()
    write = site.write

    def slow_write(target: str, writes: Sequence[OffsetWrite]) -> list[WriteOutcome]:
        if target == "Y":
            assert may_write.wait(PATIENCE_S)
        outcomes = write(target, writes)
        if target == "Z":
            has_written.set()
        return outcomes

    monkeypatch.setattr(site, "write", slow_write)
    site.commit("X", "readers", 4)
    site.read_all()
    reconcile = in_thread(site.reconciler.reconcile_all)
    assert has_written.wait(PATIENCE_S)
    assert (site.target_offset("Y", "readers"), site.target_offset("Z", "readers")) == (None, 6)
    may_write.set()
    reconcile.join(PATIENCE_S)
    assert site.target_offset("Y", "readers") == 6


def test_the_book_is_free_while_clusters_are_asked_and_written_to(monkeypatch: pytest.MonkeyPatch) -> None:
    site = mirrored_site()
    look, write, was_free = site.fetch, site.write, []

    def note() -> None:
        def try_lock() -> None:
            was_free.append(site.lock.acquire(timeout=PATIENCE_S / 5))
            if was_free[-1]:
                site.lock.release()

        in_thread(try_lock).join()

    def noting_look(
        aliases: Collection[str], places: Collection[TopicPartition]
    ) -> dict[str, ClusterMetadata | ClusterError]:
        note()
        return look(aliases, places)

    def noting_write(target: str, writes: Sequence[OffsetWrite]) -> list[WriteOutcome]:
        note()
        return write(target, writes)

    monkeypatch.setattr(site, "fetch", noting_look)
    monkeypatch.setattr(site, "write", noting_write)
    site.commit("X", "readers", 4)
    site.reconcile()
    assert was_free == [True, True]


def test_commits_that_come_in_while_reconciling_are_reconciled_in_the_end() -> None:
    site = mirrored_site()
    has_ended = threading.Event()

    def reconcile() -> None:
        while not has_ended.is_set():
            site.reconciler.reconcile_all()

    reconciling = [in_thread(reconcile) for _ in range(2)]
    for number in range(40):
        site.commit("X", f"group {number % 4}", number % 10)
        site.reconciler.reconcile_batch("X", site.read("X"), number)
        site.read("Y")
    has_ended.set()
    for thread in reconciling:
        thread.join(PATIENCE_S)
    site.reconcile()
    expected = {f"group {number % 4}": number % 10 + 2 for number in range(36, 40)}
    assert {group: site.target_offset("Y", group) for group in expected} == expected
    assert site.clusters["X"].written == []
