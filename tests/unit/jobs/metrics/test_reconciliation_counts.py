"""Settlements as they go by: counted by outcome, and each commit timed once, when it arrives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fakes.metrics_site import XY, Watched
from fakes.reconciler_site import mirrored_site
from offset_sync.jobs.metrics.sync_collector import CountedHistory, SyncMetrics
from offset_sync.sync.reconciliation import Reconciliation


@pytest.fixture
def watched() -> Watched:
    return Watched(mirrored_site())


def test_reconciliations_are_counted_by_outcome_and_timed_once_per_commit(watched: Watched) -> None:
    watched.site.commit("X", "readers", 4)
    watched.site.read("X")
    watched.site.pass_time(1_500)
    for _ in range(3):
        watched.reconcile()
    scraped = watched.scrape()
    assert scraped.value("commit_latency_seconds_count", **XY) == 1
    assert scraped.value("commit_latency_seconds_sum", **XY) == pytest.approx(1.5, abs=0.01)
    assert scraped.value("commit_latency_seconds_bucket", le="1.0", **XY) == 0
    assert scraped.value("commit_latency_seconds_bucket", le="2.0", **XY) == 1
    assert scraped.value("outcomes_total", outcome="COMMITTED", **XY) == 1
    assert scraped.value("outcomes_total", outcome="UNCHANGED", **XY) >= 1


def test_a_refresh_of_what_stands_there_is_no_latency(watched: Watched) -> None:
    watched.site.commit("X", "readers", 4)
    watched.reconcile()
    watched.site.pass_time(13 * 3_600_000)
    for _ in range(4):
        watched.reconcile()
    assert watched.scrape().value("outcomes_total", outcome="COMMITTED", **XY) == 2
    assert watched.scrape().value("commit_latency_seconds_count", **XY) == 1


def test_a_reconciliation_is_recorded_first_and_a_mistake_in_counting_stops_nothing(
    watched: Watched, caplog: pytest.LogCaptureFixture
) -> None:
    watched.site.commit("X", "readers", 4)
    watched.site.reconcile()
    recorded: list[Reconciliation] = []
    watched.metrics.waiting.clear()
    CountedHistory(recorded, watched.metrics).append(watched.site.reconciliations[-1])
    assert recorded == watched.site.reconciliations[-1:]
    assert "a reconciliation was not counted" in caplog.text


def test_what_a_new_driver_finds_at_the_target_took_nobody_knows_how_long(watched: Watched) -> None:
    watched.site.commit("X", "readers", 4)
    watched.reconcile()
    watched.metrics = SyncMetrics(watched.site.config)
    watched.reconcile()
    assert watched.scrape().value("outcomes_total", outcome="UNCHANGED", **XY) == 1
    assert watched.scrape().value("commit_latency_seconds_count", **XY) == 0


def test_a_disordered_timestamp_is_counted_once_however_often_it_is_said(watched: Watched) -> None:
    watched.site.commit("X", "readers", 4)
    watched.site.reconcile()
    plain = watched.site.reconciliations[-1]
    answers = replace(plain.translated.answers, is_disordered=np.array([True]))
    disordered = replace(plain, translated=replace(plain.translated, answers=answers))
    again = replace(disordered, is_news=np.array([False]))
    for reconciliation in (plain, disordered, again, again):
        watched.metrics.count(reconciliation)
    assert watched.scrape().value("timestamp_disordered_total", **XY) == 1
