"""What the brokers of this run can do: those of `make test-versions` are chosen by an environment variable."""

from __future__ import annotations

import os

import pytest

from offset_sync_demo.kafka.broker_files import VERSIONS_VARIABLE


def versions() -> list[tuple[int, int]]:
    """Return the versions of dc1, dc2, … in turn."""
    chosen = os.environ.get(VERSIONS_VARIABLE) or "4.3"
    pairs = [each.split(".") for each in chosen.split(",")]
    return [(int(major), int(minor)) for major, minor in pairs]


PROTOCOLS = ("classic", "consumer") if min(versions()) >= (4, 0) else ("classic",)
"""The group protocols of every broker: KIP-848 is complete from 4.0 on."""

WRITE_TOPIC_IDS = {alias for alias, version in zip(("dc1", "dc2"), versions() * 2, strict=False) if version >= (4, 1)}
"""The clusters whose commit records have the id of their topic: value version 4, from 4.1 on."""

needs_streams_groups = pytest.mark.skipif(min(versions()) < (4, 2), reason="streams and share groups came with 4.2")
