"""Clients of librdkafka that are dropped."""

from __future__ import annotations

import threading

import pytest

from offset_sync.kafka.group_offsets import GroupOffsets
from offset_sync.kafka.librdkafka import library

OPTIONS = {"bootstrap.servers": "127.0.0.1:1", "group.id": "unused"}


def test_whoever_drops_a_client_does_not_wait_for_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    may_end, has_ended, destroy = threading.Event(), threading.Event(), library().destroy_flags

    def destroy_when_it_may(pointer: int, flags: int) -> None:
        may_end.wait(30)
        destroy(pointer, flags)
        has_ended.set()

    monkeypatch.setattr(library(), "destroy_flags", destroy_when_it_may)
    client = GroupOffsets(OPTIONS)
    del client
    assert not has_ended.is_set()
    may_end.set()
    assert has_ended.wait(60)
