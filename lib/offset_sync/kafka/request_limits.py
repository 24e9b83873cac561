"""Values that must not reach the client, because C or the wire format would cut them off or wrap them round.

Each check returns None or the reason. One bad value must cost its own row only: a string above 32,767 bytes makes the
broker close the connection with hundreds of other requests on it, and a NUL would silently name *another* group.
"""

from __future__ import annotations

import re

from offset_sync.model.values import OffsetWrite, TopicPartition

LONGEST_S = 3600.0
"""The most time that librdkafka lets a request about the cluster take, and what every one of ours is given.

We wait as long as we want to, and leave the answer unread. When the time of such a request is up inside the client, it
may end the process: SIGABRT for a group whose coordinator is found later (librdkafka issue 4605), and for ListOffsets
memory is freed twice (2.16, seen with a broker that was paused; ``broker/test_client_timeouts.py``).
"""
_WIRE_STRING_BYTES = 32_767
_INT32_MAX = 2**31 - 1
_INT64_MAX = 2**63 - 1
_TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")


def invalid_group(group_id: str) -> str | None:
    """Return why no request can be made for *group_id*, or None."""
    if not group_id:
        return "the empty group id has no coordinator that a client could look up"
    if "\0" in group_id:
        return "the group id contains a NUL, which would name another group"
    size = _utf8_size(group_id)
    if size is None:
        return "the group id is no valid Unicode"
    if size > _WIRE_STRING_BYTES:
        return f"the group id takes {size} bytes, more than {_WIRE_STRING_BYTES}"
    return None


def invalid_partition(partition: TopicPartition) -> str | None:
    """Return why no partition can have this topic and number, or None."""
    if not is_topic_name(partition.topic):
        return "no valid topic name"
    if not 0 <= partition.partition <= _INT32_MAX:
        return f"partition {partition.partition} is out of range"
    return None


def invalid_write(write: OffsetWrite) -> str | None:
    """Return why *write* cannot be sent, or None; it begins with a Kafka error name."""
    reason = invalid_partition(TopicPartition(write.topic, write.partition))
    if reason is not None:
        return f"_INVALID_ARG: {reason}"
    if not 0 <= write.offset <= _INT64_MAX:
        return f"_INVALID_ARG: offset {write.offset} is out of range"
    if write.leader_epoch is not None and not 0 <= write.leader_epoch <= _INT32_MAX:
        return f"_INVALID_ARG: leader epoch {write.leader_epoch} is out of range"
    return None


def is_topic_name(topic: str) -> bool:
    """Return whether Kafka would accept *topic* as a name."""
    return _TOPIC_NAME.fullmatch(topic) is not None and topic not in (".", "..")


def _utf8_size(text: str) -> int | None:
    try:
        return len(text.encode())
    except UnicodeEncodeError:  # a lone surrogate
        return None
