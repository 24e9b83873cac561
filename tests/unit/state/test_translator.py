"""From commits to answers: what goes wrong with one partition stays there."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from builders.logs import HOUR_MS, log
from fakes.clusters import CommitRecord
from fakes.reconciler_site import ORDERS, STARTED_MS, Site, config_of
from offset_sync.model.values import ClusterPartition, EpochEnd, TopicPartition
from offset_sync.state import translator
from offset_sync.sync.read_lists import ReadLists
from offset_sync.sync.reconciler import Reconciler
from offset_sync.translate.partition import Translations

SECOND = TopicPartition("orders", 1)


def site_of_two_partitions() -> Site:
    site = Site(config_of(["X", "Y"]))
    for alias in ("X", "Y"):
        for each in (ORDERS, SECOND):
            site.put(log(alias, "X0:5"), each, partitions=2)
    return site


@pytest.mark.parametrize("where", ["translate_partition", "of_former_incarnations", "of_lost_records"])
def test_an_error_of_one_partition_is_that_partitions_own_whatever_is_done_with_it(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    site, whole = site_of_two_partitions(), getattr(translator, where)

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
        site.commit("X", "readers", 5, SECOND)
        site.reconcile()
        assert site.target_offset("Y", "readers", SECOND) == 5
    site.reconcile()
    assert site.target_offset("Y", "readers") == 3


class Meanwhile:
    """Lets something happen while answers are computed, so many times; in a thread that wants the lock."""

    def __init__(self, site: Site, monkeypatch: pytest.MonkeyPatch, times: int, happens: Callable[[], None]) -> None:
        self._site, self._left, self._happens = site, times, happens
        self._whole = translator.translate_partition
        self.had_the_lock: list[bool] = []
        monkeypatch.setattr(translator, "translate_partition", self.translate)

    def translate(self, *asked: Any) -> Translations:
        """Answer by what was known before."""
        if self._left:
            self._left -= 1
            other = threading.Thread(target=self._happen)
            other.start()
            other.join()
        return self._whole(*asked)

    def _happen(self) -> None:
        self.had_the_lock.append(self._site.lock.acquire(timeout=0.2))
        self._happens()
        if self.had_the_lock[-1]:
            self._site.lock.release()


@pytest.mark.parametrize("times", [1, 2, 5])
def test_a_record_that_comes_late_meanwhile_makes_answers_void(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """Y0 may be a hole that the mirror has left; then it comes after all, beyond the commit."""
    site = Site(config_of(["X", "Y"]))
    site.put(log("X", "Y1 X1 Y2 X3"))
    site.put(log("Y", "Y0:3 X1 X3"))
    texts = iter(["Y1 X1 Y2 X3 Y0", *(f"Y1 X1 Y2 X3 Y0{' Y1' * n}" for n in range(1, 9))])
    meanwhile = Meanwhile(site, monkeypatch, times, lambda: site.put(log("X", next(texts))))
    site.commit("X", "readers", 4)
    site.reconcile()
    # After several retries it computes with the lock held.
    assert meanwhile.had_the_lock == [True] * min(times, 3) + [False] * (times > 3)
    assert site.target_offset("Y", "readers") == 0


@pytest.mark.parametrize(
    ("at_source", "complete_for_s", "answer"),
    [("X0:2 Y0 Y2 Y1", None, 1), ("X0:2 Y0 Y2", None, 3), ("X0:2 Y0 Y2 X2", 59, 1), ("X0:2 Y0 Y2 X2", 60, 3)],
)
def test_a_hole_does_not_age_while_the_index_is_behind(at_source: str, complete_for_s: int | None, answer: int) -> None:
    """It became visible an hour ago, and the index has reached 4; records that came so many s later are indexed too."""
    site = Site(config_of(["X", "Y"]))
    site.put(log("X", at_source, frontier=4))
    if complete_for_s is not None:
        index = site.index.logs[ClusterPartition("X", *ORDERS)]
        index.complete_until_ms = STARTED_MS - HOUR_MS + complete_for_s * 1000
    site.put(log("Y", "Y0:3"))
    site.commit("X", "readers", 4)
    site.reconcile()
    assert site.target_offset("Y", "readers") == answer


@pytest.mark.parametrize(
    ("epoch", "expected"), [(3, "LOG_TRUNCATED"), (4, "EXACT"), (-1, "EXACT")], ids=["lost", "present", "unknown"]
)
@pytest.mark.parametrize("is_noticed", [True, False])
def test_a_commit_to_records_that_an_election_has_lost_is_withheld_though_they_were_never_indexed(
    is_noticed: bool, epoch: int, expected: str
) -> None:
    """Indexed up to 4, committed 7, then the log was cut to 5 and went on: no group has read the present records."""
    site = Site(config_of(["X", "Y"]))
    site.put(log("X", "X0:9"))
    site.put(log("Y", "X0:9"))
    ended = EpochEnd(4, 5)
    if is_noticed:
        site.state.index.ended[ClusterPartition("X", *ORDERS)] = [ended]  # type: ignore[attr-defined]
    else:
        fetch = site.fetch

        def fetch_and_compare(*asked: Any) -> Any:
            said = fetch(*asked)
            return said | {"X": replace(said["X"], ended={ORDERS: ended})}

        site.reconciler = Reconciler(
            site.config,
            site.state,
            SimpleNamespace(fetch=fetch_and_compare),
            site.writers,
            site.reconciliations,
            ReadLists(site.config, site.state, {}),
        )
    for group, offset in (("readers", 7), ("others", 5)):
        site.clusters["X"]._store(CommitRecord(group, ORDERS, offset, STARTED_MS, leader_epoch=epoch))
    site.reconcile()
    assert {(row.group_id, row.state) for row in site.rows()} == {("readers", expected), ("others", "EXACT")}
    assert site.target_offset("Y", "readers") == (None if expected == "LOG_TRUNCATED" else 7)
