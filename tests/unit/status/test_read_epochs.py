"""Offsets that name the leader epoch of their last record, when the records of the losses are gone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fakes.clusters import MemoryEnds
from fakes.kept_offsets import kept, said, silent, site_of, translated, why
from fakes.reconciler_site import ORDERS, STARTED_MS, Site
from offset_sync.model.values import ABSENT, CLOCKS_APART_MS, ClusterPartition, TopicPartition
from offset_sync.state.incarnations import KEPT
from offset_sync.status.kept_offsets import KeptOffsets

LOG = ClusterPartition("X", *ORDERS)
LONG_AGO_MS = STARTED_MS - int(KEPT.total_seconds() * 1000)
WITHHELD = ("LOG_TRUNCATED", ABSENT)


def elected(log_start: int = 0) -> Site:
    """X has led in epochs 3, 5 and 8; 4 lost all that it had, 6 and 7 had nothing. The index has seen the last one."""
    site = site_of("X0:10", "X0:10")
    site.clusters["X"].logs[ORDERS] = MemoryEnds(log_start, 10, 8)
    epochs = {3: 0, 5: 4, 8: 7}
    last_deleted = max(epoch for epoch, start in epochs.items() if start <= log_start)
    site.clusters["X"].epochs[ORDERS] = {e: max(s, log_start) for e, s in epochs.items() if e >= last_deleted}
    site.index.epochs[LOG] = ("orders at X", 8)
    return site


@pytest.mark.parametrize(
    ("epoch", "last"), [(3, 4), (4, 4), (5, 7), (6, 7), (7, 7), (8, 10)], ids=lambda number: str(number)
)
def test_the_leader_is_asked_where_an_epoch_ended_and_what_it_had_beyond_is_lost(epoch: int, last: int) -> None:
    found = translated(elected(), kept(*((ORDERS, offset) for offset in range(1, 11)), leader_epoch=epoch))
    assert [target for _, target in said(found)] == [c if c <= last else ABSENT for c in range(1, 11)]
    assert {state for state, target in said(found) if target == ABSENT} <= {"LOG_TRUNCATED"}


def test_the_reason_says_where_to_go_on() -> None:
    found = translated(elected(), kept((ORDERS, 9), leader_epoch=4))
    assert why(found) == (
        "orders-0 lost the records of leader epoch 4 from 4 on at X, in an election; "
        "translate 4 without an epoch, which repeats the records above it"
    )


def test_offsets_of_several_epochs_of_a_partition_are_each_judged_by_their_own() -> None:
    columns = np.array([(0, 0, 4, 3), (0, 0, 5, 3), (0, 0, 7, 5), (0, 0, 8, 5), (0, 0, 9, ABSENT), (0, 0, 10, 8)])
    topic, partition, offset, epoch = columns.T.astype(np.int64)
    offsets = KeptOffsets(["orders"], topic, partition, offset, np.full(len(offset), ABSENT), epoch)
    assert translated(elected(), offsets).target_offset.tolist() == [4, ABSENT, 7, ABSENT, 9, 10]


@pytest.mark.parametrize("taken_at_ms", [ABSENT, STARTED_MS])
def test_while_the_leader_does_not_say_it_the_offset_is_withheld(taken_at_ms: int) -> None:
    site = elected()
    site.clusters["X"].epochs.clear()
    found = translated(site, kept((ORDERS, 2), leader_epoch=3, taken_at_ms=taken_at_ms))
    assert said(found) == [("CLUSTER_UNREACHABLE", ABSENT)]
    assert "the leader of orders-0 does not answer; try again" in why(found)


def test_a_leader_that_is_silent_is_asked_once_and_the_others_are_heard() -> None:
    site, other = elected(), TopicPartition("pay-in", 0)
    site.clusters["X"].topics["pay-in"] = site.clusters["Y"].topics["pay-in"] = site.clusters["X"].topics["orders"]
    site.clusters["X"].logs[other] = site.clusters["Y"].logs[other] = MemoryEnds(0, 0, 8)
    offsets = kept((ORDERS, 2), (other, 0), (ORDERS, 4), (other, 0), (other, 0))
    offsets = replace(offsets, leader_epoch=np.array([3, 3, 5, 5, 6]))
    before = site.clusters["X"].questions
    assert translated(site, offsets).target_offset.tolist() == [2, ABSENT, 4, ABSENT, ABSENT]
    assert site.clusters["X"].questions - before == 3, "the metadata, and one question for each epoch"


def test_an_epoch_that_the_log_has_not_come_to_is_of_another_log() -> None:
    found = translated(elected(), kept((ORDERS, 2), leader_epoch=9))
    assert said(found) == [("TOPIC_RECREATED", ABSENT)]
    assert "orders-0 has had no leader epoch 9 at X" in why(found)


@pytest.mark.parametrize(
    ("taken_at_ms", "answer"),
    [
        (ABSENT, WITHHELD),
        (LONG_AGO_MS + 2 * CLOCKS_APART_MS - 1, WITHHELD),
        (LONG_AGO_MS + 2 * CLOCKS_APART_MS, ("EXACT", 3)),
    ],
)
def test_of_an_epoch_that_retention_has_deleted_only_what_was_taken_within_the_week_is_known(
    taken_at_ms: int, answer: tuple[str, int]
) -> None:
    """Epoch 4 had records from 2 to 4, lost with the election of 5: the log begins at 6, so the loss is unknown."""
    found = translated(elected(log_start=6), kept((ORDERS, 3), leader_epoch=4, taken_at_ms=taken_at_ms))
    assert said(found) == [answer]
    if answer == WITHHELD:
        assert "cannot verify leader epoch 4 of orders-0 at X: election history older than 7 days is gone" in why(found)
        assert "give that time (--taken-at)" in why(found)


@pytest.mark.parametrize(
    ("epoch", "taken_at_ms", "answer"),
    [
        (8, ABSENT, ("EXACT", 3)),
        (9, ABSENT, ("EXACT", 3)),
        (5, ABSENT, WITHHELD),
        (5, LONG_AGO_MS, WITHHELD),
        (5, STARTED_MS, ("EXACT", 3)),
    ],
)
def test_of_a_lost_source_an_earlier_epoch_counts_only_for_what_was_taken_within_the_week(
    epoch: int, taken_at_ms: int, answer: tuple[str, int]
) -> None:
    found = translated(
        silent(elected()), kept((ORDERS, 3), leader_epoch=epoch, taken_at_ms=taken_at_ms), is_source_lost=True
    )
    assert said(found) == [answer]


def test_if_no_broker_names_epochs_none_can_be_judged() -> None:
    site = site_of()
    assert said(translated(site, kept((ORDERS, 3), leader_epoch=1))) == [WITHHELD]
    assert said(translated(site, kept((ORDERS, 3)))) == [("EXACT", 3)]
