"""From commits to answers: what goes wrong with one partition stays there."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from builders.logs import log
from fakes.reconciler_site import ORDERS, Site, config_of, site_of
from offset_sync.model.values import TopicPartition
from offset_sync.state import translator
from offset_sync.translate.partition import Translations

SECOND = TopicPartition("orders", 1)


@pytest.mark.parametrize("where", ["translate_partition", "of_former_incarnations", "of_lost_records"])
def test_an_error_of_one_partition_is_that_partitions_own_whatever_is_done_with_it(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    site, whole = site_of("X", "Y"), getattr(translator, where)
    for alias in ("X", "Y"):
        site.put(log(alias, "X0:5"), SECOND, partitions=2)

    def fails(given: Any, *others: Any) -> Any:
        if getattr(given, "offset", given).tolist() == [3]:
            raise ValueError("repeats may not contain negative values")
        return whole(given, *others)

    with monkeypatch.context() as broken:
        broken.setattr(translator, where, fails)
        site.commit("X", "readers", 3)
        site.commit("X", "readers", 4, SECOND)
        site.reconcile()
        assert {(row.place, row.state, row.outcome) for row in site.rows()} == {
            (ORDERS, "TRANSLATION_FAILED", "WITHHELD"),
            (SECOND, "EXACT", "COMMITTED"),
        }
        assert caplog.text.count("X to Y: orders-0 cannot be translated") == 1
    site.reconcile()
    assert site.target_offset("Y", "readers") == 3


@pytest.mark.parametrize("times", [1, 5])
def test_a_record_that_comes_late_meanwhile_makes_answers_void(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """Y0 may be a hole that the mirror has left; then it comes after all, beyond the commit, while answers are made."""
    site, had_the_lock, whole = Site(config_of(["X", "Y"])), list[bool](), translator.translate_partition
    site.put(log("X", "Y1 X1 Y2 X3"))
    site.put(log("Y", "Y0:3 X1 X3"))

    def happens() -> None:
        had_the_lock.append(site.lock.acquire(timeout=0.2))
        site.put(log("X", f"Y1 X1 Y2 X3 Y0{' Y1' * (len(had_the_lock) - 1)}"))
        if had_the_lock[-1]:
            site.lock.release()

    def translate(*asked: Any) -> Translations:
        if len(had_the_lock) < times:
            other = threading.Thread(target=happens)
            other.start()
            other.join()
        return whole(*asked)

    monkeypatch.setattr(translator, "translate_partition", translate)
    site.commit("X", "readers", 4)
    site.reconcile()
    # After several retries it computes with the lock held.
    assert had_the_lock == ([True] if times == 1 else [True] * 3 + [False])
    assert site.target_offset("Y", "readers") == 0
