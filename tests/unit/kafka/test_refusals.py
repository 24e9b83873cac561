"""A right that is missing is named with cluster, resource, operation and the right to grant, for every client."""

from __future__ import annotations

import pytest

from offset_sync.ingest.query_errors import with_root
from offset_sync.kafka.requests import explained, with_remedy

MANUAL = "to the principal of this program (docs/operations.md, Minimal ACLs)"


@pytest.mark.parametrize(
    ("said", "begins", "grants"),
    [
        ("Not authorized to access group: offset-sync-12ab", "group offset-sync-12ab: GROUP_AUTH", "grant Describe on"),
        ("x: Not authorized to access group: billing", "group billing: GROUP_AUTHORIZATION_FAILED", "grant Read on"),
        ("Not authorized to access topics: [orders]", "topic orders: TOPIC_AUTHORIZATION_FAILED", "grant Read"),
    ],
)
def test_what_java_says_of_a_refusal_becomes_what_is_to_be_granted(said: str, begins: str, grants: str) -> None:
    line = explained(said)
    assert line.startswith(begins)
    assert grants in line
    assert line.endswith(MANUAL)
    assert explained("Connection refused") == "Connection refused"


def test_an_error_of_a_partition_goes_on_with_the_right_and_others_stay_as_they_are() -> None:
    said = with_remedy("dc2", "GROUP_AUTHORIZATION_FAILED")
    what = "the operation Read is not allowed; grant Read on the group"
    assert said == f"GROUP_AUTHORIZATION_FAILED: clusters.dc2: {what} {MANUAL}"
    assert str(with_remedy("dc2", "TOPIC_AUTHORIZATION_FAILED")).startswith("TOPIC_AUTHORIZATION_FAILED: ")
    # Compared with the names of errors elsewhere, so these must not grow.
    assert [with_remedy("dc2", error) for error in ("UNKNOWN_MEMBER_ID", None)] == ["UNKNOWN_MEMBER_ID", None]


def test_a_commit_for_a_share_group_is_refused_with_the_reason() -> None:
    said = "GROUP_ID_NOT_FOUND: is a share group at dc2: offsets of share groups cannot be committed"
    assert with_remedy("dc2", "GROUP_ID_NOT_FOUND") == said


def test_a_client_that_cannot_be_created_is_reported_with_the_cause() -> None:
    cause = "org.KafkaException: Failed to x\n  at a.b\nCaused by: c.D: e\nCaused by: java.NoSuchFileException: /me.pem"
    line = "Failed to construct kafka consumer"
    assert with_root(line, cause) == f"{line}: java.NoSuchFileException: /me.pem"
    assert with_root(line, "") == line
