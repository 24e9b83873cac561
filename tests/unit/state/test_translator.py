"""From commits to answers: what goes wrong with one partition stays there."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from builders.logs import HOUR_MS, indexed_at, log
from fakes.clusters import CommitRecord
from fakes.reconciler_site import ORDERS, STARTED_MS, Site, config_of
from offset_sync.model.values import ClusterPartition, EpochEnd, TopicPartition
from offset_sync.state import translator
from offset_sync.sync.reconciler import Reconciler
from offset_sync.translate.index.runs import Int64s
from offset_sync.translate.partition import Translations

SECOND = TopicPartition("orders", 1)


def test_an_error_of_one_partition_is_that_partitions_own(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(config_of(["X", "Y"]))
    for alias in ("X", "Y"):
        for each in (ORDERS, SECOND):
            site.put(log(alias, "X0:5"), each, partitions=2)
    whole = translator.translate_partition

    def fails_once(committed: Int64s, *others: Any) -> Translations:
        if committed.tolist() == [3]:
            raise ValueError("repeats may not contain negative values")
        return whole(committed, *others)

    monkeypatch.setattr(translator, "translate_partition", fails_once)
    site.commit("X", "readers", 3)
    site.commit("X", "readers", 4, SECOND)
    site.reconcile()
    assert {(row.place, row.state, row.outcome) for row in site.rows()} == {
        (ORDERS, "TRANSLATION_FAILED", "WITHHELD"),
        (SECOND, "EXACT", "COMMITTED"),
    }
    assert "X to Y: orders-0 cannot be translated" in caplog.text
    assert "repeats may not contain negative values" in caplog.text
    site.commit("X", "readers", 4)
    site.reconcile()
    assert site.target_offset("Y", "readers") == 4


def test_a_hole_does_not_age_while_nobody_looks_after_the_clusters_were_asked() -> None:
    """A driver that is paused there for two minutes knows nothing of what came meanwhile."""
    site = Site(config_of(["X", "Y"]))
    site.put(indexed_at(log("X", "X0:2 Y0 Y2"), 3, STARTED_MS - 30_000))
    site.put(log("Y", "Y0:3"))
    site.commit("X", "readers", 4)

    class Paused:
        def fetch(self, *asked: Any) -> Any:
            said = site.fetch(*asked)
            site.pass_time(120_000)
            return said

    paused = Reconciler(site.config, site.state, Paused(), site.writers, site.reconciliations)
    at_rest, site.reconciler = site.reconciler, paused
    site.reconcile()
    assert site.target_offset("Y", "readers") == 1
    site.reconciler = at_rest
    site.reconcile()
    assert site.target_offset("Y", "readers") == 3


@pytest.mark.parametrize(
    ("at_source", "complete_for_s", "answer"),
    [("X0:2 Y0 Y2 Y1", None, 1), ("X0:2 Y0 Y2", None, 3), ("X0:2 Y0 Y2 X2", 59, 1), ("X0:2 Y0 Y2 X2", 60, 3)],
)
def test_a_hole_does_not_age_while_the_index_is_behind(at_source: str, complete_for_s: int | None, answer: int) -> None:
    """It became visible an hour ago, and the index has reached 4; what stood there so many s later is indexed too."""
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
    """Indexed up to 4, committed 7, then the log was cut to 5 and went on: nobody has read what stands there now."""
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
            site.config, site.state, SimpleNamespace(fetch=fetch_and_compare), site.writers, site.reconciliations
        )
    for group, offset in (("readers", 7), ("others", 5)):
        site.clusters["X"]._store(CommitRecord(group, ORDERS, offset, STARTED_MS, leader_epoch=epoch))
    site.reconcile()
    assert {(row.group_id, row.state) for row in site.rows()} == {("readers", expected), ("others", "EXACT")}
    assert site.target_offset("Y", "readers") == (None if expected == "LOG_TRUNCATED" else 7)
