"""What the broker's answers about committed offsets mean: per partition, and for what to do next."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from offset_sync.kafka.error_codes import MOVED_COORDINATOR, RETRIABLE, UNREACHABLE, UNSTABLE
from offset_sync.kafka.group_offset_requests import GroupAnswer, RequestFailure
from offset_sync.model.values import TopicPartition

Errors: TypeAlias = "dict[TopicPartition, str | None]"
"""Per partition None (done) or a text that begins with the Kafka error name."""


def errors_by_partition(partitions: Iterable[TopicPartition], answer: GroupAnswer) -> Errors:
    """Return the error of each of *partitions*; one that the broker did not mention counts as unanswered."""
    if isinstance(answer, RequestFailure):
        return dict.fromkeys(partitions, answer.error)
    mentioned = {TopicPartition(each.topic, each.partition): each.error for each in answer}
    return {each: mentioned.get(each, "_TIMED_OUT") for each in partitions}


def is_worth_repeating(answer: GroupAnswer, is_patient: bool) -> bool:
    """Return whether a second request may succeed; only a patient caller waits for open transactions."""
    names = _error_names(answer) & RETRIABLE
    return bool(names) and (is_patient or names != {UNSTABLE})


def is_unreachable(answer: GroupAnswer) -> bool:
    """Return whether there was no answer at all."""
    return isinstance(answer, RequestFailure) and answer.error in UNREACHABLE


def needs_new_client(answer: GroupAnswer) -> bool:
    """Return whether the coordinator has moved or does not answer, so that another broker may have to be asked."""
    return not (MOVED_COORDINATOR | UNREACHABLE).isdisjoint(_error_names(answer))


def _error_names(answer: GroupAnswer) -> set[str]:
    if isinstance(answer, RequestFailure):
        return {answer.error}
    return {each.error for each in answer if each.error is not None}
