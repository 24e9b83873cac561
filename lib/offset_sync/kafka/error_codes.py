"""Kafka's and librdkafka's error names, grouped by what can be done about them; imports no client.

The names are those of ``rd_kafka_err2name``: a leading underscore marks errors of the client itself.
"""

from __future__ import annotations

import re

from offset_sync.model.errors import ClusterError

_TO_US = "to the principal of this program (docs/operations.md, Minimal ACLs)"
_OWN_GROUPS = "offset-sync"


class TransientError(ClusterError):
    """The same request may well succeed a little later."""


class SilentError(TransientError):
    """No answer came at all: a group's coordinator is silent, and may be for long."""


class NotAuthorizedError(ClusterError):
    """We may not describe a topic, or not read it.

    If we may not describe it nobody can tell whether it exists, so it must not be taken for absent.
    """

    def __init__(self, cluster: str, topic: str, operation: str = "Describe") -> None:
        remedy = "grant Read, which brings it," if operation == "Describe" else f"grant {operation}"
        or_else = "" if topic.startswith("__") else ", or exclude the topic in the configuration"
        super().__init__(
            cluster,
            f"topic {topic}: TOPIC_AUTHORIZATION_FAILED: the operation {operation} is not allowed; {remedy} "
            f"{_TO_US}{or_else}",
        )


def group_refusal(operation: str) -> str:
    """Return what is said where *operation* on a group, which is named before it, is refused."""
    remedy = "Read, which brings it," if operation == "Describe" else operation
    return f"GROUP_AUTHORIZATION_FAILED: the operation {operation} is not allowed; grant {remedy} on the group {_TO_US}"


def with_remedy(cluster: str, error: str | None) -> str | None:
    """Return the error of one partition of a group; one about rights goes on with what is missing and where.

    A commit without a member is refused with GROUP_ID_NOT_FOUND for share groups alone (Kafka 4.1 to 4.4): a group that
    does not exist would be made by it.
    """
    if error == "GROUP_AUTHORIZATION_FAILED":
        return f"{error}: clusters.{cluster}: {group_refusal('Read').partition(': ')[2]}"
    if error == "TOPIC_AUTHORIZATION_FAILED":
        return f"{error}: clusters.{cluster}: the operation Read is not allowed; grant Read on the topic {_TO_US}"
    if error == "GROUP_ID_NOT_FOUND":
        return f"{error}: is a share group at {cluster}: offsets of share groups cannot be committed"
    return error


def explained(line: str) -> str:
    """Return what a Java client said, or which right is missing where it said that it was refused."""
    found = re.search(r"Not authorized to access (group|topics?): \[?([^\]]+)", line)
    if found is None:
        return line
    name = found[2].strip()
    if found[1] == "group" and name.startswith(_OWN_GROUPS):
        what = f"the operation Describe is not allowed; grant Describe on groups with the prefix {_OWN_GROUPS} {_TO_US}"
        return f"group {name}: GROUP_AUTHORIZATION_FAILED: {what}"
    if found[1] == "group":
        return f"group {name}: {group_refusal('Read')}"
    return f"topic {name}: TOPIC_AUTHORIZATION_FAILED: the operation Read is not allowed; grant Read {_TO_US}"


NOT_AUTHORIZED = frozenset({"TOPIC_AUTHORIZATION_FAILED"})
"""We may not describe the topic, whether it exists or not."""

UNREACHABLE = frozenset(
    {"_TIMED_OUT", "_TIMED_OUT_QUEUE", "_TRANSPORT", "_ALL_BROKERS_DOWN", "_RESOLVE", "NETWORK_EXCEPTION"}
)
"""No answer came. A write may have been applied all the same."""

MOVED_COORDINATOR = frozenset({"NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE"})
"""The broker that was asked does not coordinate the group (now): look the coordinator up again."""

UNSTABLE = "UNSTABLE_OFFSET_COMMIT"
"""A transaction that is still open has committed an offset for the partition."""

RETRIABLE = (
    UNREACHABLE
    | MOVED_COORDINATOR
    | {
        "REQUEST_NOT_SENT",  # ours, of group_offset_requests
        "COORDINATOR_LOAD_IN_PROGRESS",
        "REQUEST_TIMED_OUT",
        "LEADER_NOT_AVAILABLE",
        "NOT_LEADER_FOR_PARTITION",
        "OFFSET_NOT_AVAILABLE",
        "FENCED_LEADER_EPOCH",
        "UNKNOWN_LEADER_EPOCH",
        "NOT_ENOUGH_REPLICAS",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        "KAFKA_STORAGE_ERROR",
        "THROTTLING_QUOTA_EXCEEDED",
        UNSTABLE,
    }
)
"""The same request may well succeed a little later."""

MAYBE_APPLIED = (
    UNREACHABLE
    | MOVED_COORDINATOR
    | {"REQUEST_TIMED_OUT", "NOT_LEADER_FOR_PARTITION", "NOT_ENOUGH_REPLICAS_AFTER_APPEND"}
    | {"KAFKA_STORAGE_ERROR", "UNKNOWN"}
)
"""A write that failed so may have been applied all the same: the coordinator appends first, and answers afterwards."""

ACTIVE_GROUP = frozenset({"UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS", "STALE_MEMBER_EPOCH"})
"""The group has members, and the broker accepts offsets from nobody else (wire-format, section 7)."""

ABSENT_TOPIC = frozenset(
    {"UNKNOWN_TOPIC_OR_PART", "UNKNOWN_TOPIC_ID", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION", "TOPIC_EXCEPTION", "_NOENT"}
)
"""The topic or the partition does not exist (or the name is not a valid one)."""
