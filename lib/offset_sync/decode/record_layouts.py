"""Record types, kinds and versions of ``__consumer_offsets``; format knowledge as values, no bytes are read here.

Source: schema files of Kafka's group coordinator, 4.3.0 and 4.4.0, and ``CoordinatorRecordSerde``.
"""

from __future__ import annotations

from dataclasses import dataclass

COMMIT = "commit"
GROUP = "group"
GROUP_EPOCH = "group_epoch"
MEMBER = "member"
STREAMS = "streams"
STREAMS_MEMBER = "streams_member"
SHARE = "share"
SHARE_MEMBER = "share_member"
IGNORED = "ignored"
MALFORMED = "malformed"
KINDS = (COMMIT, GROUP, GROUP_EPOCH, MEMBER, STREAMS, STREAMS_MEMBER, SHARE, SHARE_MEMBER, IGNORED, MALFORMED)
"""Every kind, in the order of the codes of the dictionary column ``kind``."""

# Type 9 and 18 existed in some releases only; every type that is not listed here is ignored, as the broker does.
KIND_OF_TYPE = {
    0: COMMIT,
    1: COMMIT,
    2: GROUP,
    3: GROUP_EPOCH,  # 3 and 5: KIP-848
    5: MEMBER,
    10: SHARE_MEMBER,  # 10 and 11: KIP-932
    11: SHARE,
    17: STREAMS,  # 17 and 19: KIP-1071
    19: STREAMS_MEMBER,
}
"""The record types that are decoded."""

VERSIONS_OF_KIND = {COMMIT: range(5), GROUP: range(5), GROUP_EPOCH: range(1), MEMBER: range(1)}
"""The value versions that are known, per kind whose values are read.

Of streams and share groups only the key is read: the group or the member exists as long as the record does, whatever
the value says and in whichever version.
"""

MEMBER_KINDS = (MEMBER, STREAMS_MEMBER, SHARE_MEMBER)
"""The kinds whose keys name a member."""

ABSENT = -1
"""What the format itself writes for a leader epoch or an expiry that is not there."""

TOPIC_ID_TAG = 0
TOPIC_ID_BYTES = 16


@dataclass(frozen=True)
class CommitLayout:
    """Which fields an offset commit value has; the order is always offset, epoch, metadata, times, tags."""

    has_epoch: bool
    is_flexible: bool  # compact metadata, tagged fields
    has_expiry: bool


COMMIT_LAYOUTS = (
    CommitLayout(has_epoch=False, is_flexible=False, has_expiry=False),
    CommitLayout(has_epoch=False, is_flexible=False, has_expiry=True),
    CommitLayout(has_epoch=False, is_flexible=False, has_expiry=False),
    CommitLayout(has_epoch=True, is_flexible=False, has_expiry=False),
    CommitLayout(has_epoch=True, is_flexible=True, has_expiry=False),
)
"""Layout per value version."""


def unknown_version(version: int, record_type: int) -> str:
    """Return the error of a known record type with a value version that is not."""
    return f"value version {version} is unknown for record type {record_type}"
