"""A right that is missing is named with cluster, resource, operation and the right to grant, for every client."""

from __future__ import annotations

import pytest

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
