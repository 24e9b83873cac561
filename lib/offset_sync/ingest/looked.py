"""What was found out about the logs that a micro-batch of ``__consumer_offsets`` was read from."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from offset_sync.kafka.log_reader import OffsetRange
from offset_sync.model.values import TopicPartition


class Looked(NamedTuple):
    """What was found out *at* a time that every row of the micro-batch bears.

    *again* is what has to be read once more, in the place of all that Spark has read of these logs. *begun* of them
    have begun another life, *whole* are those of which nothing more is to be read again then. *is_certain*: what was
    acknowledged before and not read yet will be read.
    """

    at: datetime
    again: Mapping[TopicPartition, OffsetRange] = {}
    begun: frozenset[TopicPartition] = frozenset()
    whole: frozenset[TopicPartition] = frozenset()
    is_certain: bool = True
