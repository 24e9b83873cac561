"""What is made of the words in which a leader says where an epoch ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from unittest.mock import MagicMock

import pytest

from offset_sync.kafka import leader_epochs
from offset_sync.kafka.leader_epochs import LeaderEpochs, _Reported
from offset_sync.model.values import EpochChange, EpochEnd, ReportedEnd, TopicPartition

ORDERS = TopicPartition("orders", 0)
AT = "offset 1152921504606846976"
END = ": Local: Partition log truncation detected (broker 7)"
IDLE, UNCLEAN = EpochEnd(2, 150, 1), EpochEnd(2, 100, 1)


def words(epoch: int, end: int, of_epoch: int) -> str:
    """Return the words of librdkafka 2, as ``tests/broker`` sees them."""
    told = f"broker end offset is {end} (offset leader epoch {of_epoch})"
    return f"Partition log truncation detected at {AT} (leader epoch {epoch}): {told}. Reset to INVALID.{END}"


@pytest.mark.parametrize(
    ("known", "end", "of_epoch", "ended", "expected"),
    [
        (2, 150, 2, [UNCLEAN], ReportedEnd(150)),
        (2, 150, 1, [UNCLEAN], ReportedEnd(100)),
        (2, 150, 1, [IDLE], ReportedEnd(150)),
        (2, 90, 1, [UNCLEAN], ReportedEnd(90)),
        (2, 150, 1, [], ReportedEnd(150, is_certain=False)),
        (2, 150, 0, [UNCLEAN], ReportedEnd(100, is_certain=False)),
        (3, 150, 1, [UNCLEAN, EpochEnd(3, 120, 2)], ReportedEnd(100)),
        (3, 150, 2, [EpochEnd(3, 100, 1)], ReportedEnd(150, is_certain=False)),
        (3, 150, 1, [UNCLEAN, EpochEnd(3, 0, 2)], ReportedEnd(0, is_certain=False)),
        (5, 120, 5, [EpochEnd(5, 0, 3)], ReportedEnd(120)),
        (3, 120, 2, [EpochEnd(1, 0, 0), EpochEnd(3, 120, 1)], ReportedEnd(120, is_certain=False)),
    ],
    ids=[
        "it has the epoch",
        "epoch 2 began below",
        "nothing was written in epoch 2",
        "it has less of epoch 1 too",
        "epoch 2 was not seen to begin",
        "epoch 1 was not seen to begin",
        "two that it does not have",
        "epoch 2 may have begun later than at 100",
        "cut in between at an unknown offset",
        "it has the epoch, and was cut before",
        "epoch 2 was not seen to begin, and the one before it was, since the cut",
    ],
)
def test_records_end_where_a_known_epoch_began_that_the_leader_lacks(
    known: int, end: int, of_epoch: int, ended: Sequence[EpochEnd], expected: ReportedEnd
) -> None:
    told = _Reported.of(words(known, end, of_epoch))
    assert (told, told.of_change(EpochChange(known, 9, ended))) == ((end, of_epoch, "7"), expected)


@pytest.mark.parametrize(
    ("second", "found"),
    [
        (words(2, 100, 2), {ORDERS: ReportedEnd(100)}),
        (words(2, 100, 2).replace("broker 7", "broker 8"), {}),
        (
            f"No epoch found less or equal to {AT}: broker end offset is -1 (offset leader epoch -1). Reset.{END}",
            {ORDERS: ReportedEnd(0)},
        ),
        ("fetch failed due to requested offset not available: Broker: Offset out of range (broker 7)", {}),
    ],
)
def test_the_leader_under_the_present_epoch_is_believed_and_what_is_no_answer_is_no_truncation(
    second: str, found: Mapping[TopicPartition, ReportedEnd], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter([words(3, 150, 3), second])

    @contextmanager
    def answering(*_asked: object) -> Iterator[MagicMock]:
        error = MagicMock(**{"name.return_value": "_AUTO_OFFSET_RESET", "str.return_value": next(answers)})
        message = MagicMock(**{"topic.return_value": "orders", "partition.return_value": 0})
        message.error.return_value = error
        yield MagicMock(**{"poll.return_value": message, "consume.return_value": []})

    monkeypatch.setattr(leader_epochs, "log_consumer", answering)
    assert LeaderEpochs("dc1", {}).ends_in_time({ORDERS: EpochChange(2, 3)}) == found
