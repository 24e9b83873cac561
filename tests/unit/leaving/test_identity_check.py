"""Copies at the same offset as their originals (strategy identity) are compared with them byte for byte, by check."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from fakes.newest_logs import MemoryLogs, asked, copied, known_config, natives, record, told
from leaving.said_at import said_at
from offset_sync.kafka.requests import LogEnds
from offset_sync.kafka.tail_reader import TailRecord
from offset_sync.model.values import TopicPartition

CHECK = "copies: "
LINKED: dict[str, Any] = {"topics": {"include": ["orders"], "strategy": "identity", "origin": "dc1"}}
ORIGINALS = natives(100)


def linked(copies: Sequence[TailRecord], originals: Sequence[TailRecord] = ORIGINALS) -> list[str]:
    found = said_at("dc2", known_config(**LINKED), {"dc1": {"orders": originals}, "dc2": {"orders": copies}})
    return [each.replace(CHECK, "") for each in found if CHECK in each]


def test_a_copy_that_is_the_same_as_far_as_it_goes_is_told_so() -> None:
    assert linked(ORIGINALS) == ["OK orders: byte for byte the same at the 50 offsets compared"]
    assert linked(ORIGINALS[:20]) == ["OK orders: byte for byte the same at the 20 offsets compared"]


def test_headers_are_not_asked_for() -> None:
    found = said_at("dc2", known_config(**LINKED), {"dc1": {"orders": ORIGINALS}, "dc2": {"orders": ORIGINALS}})
    assert "SKIP mirror headers: no topic here whose copies are identified by headers" in found


def test_another_record_at_the_same_offset_fails() -> None:
    for other in (record(99, value=b"own", at_ms=1_099), record(99, {"IDC": b"dc1"})):
        (found,) = linked([*ORIGINALS[:-1], other])
        assert found.startswith(
            "FAIL orders: at the same offset is another record than the original's, first orders-0 at"
        )
        assert "at offset 99" in found
        assert "COPY_WRITTEN" in found


def test_other_times_fail_with_the_reason() -> None:
    def moved(is_appended: bool) -> list[TailRecord]:
        return [TailRecord(replace(each.content, timestamp_ms=7), is_appended) for each in ORIGINALS]

    assert "have other timestamps than their originals, first orders-0 at offset 50" in linked(moved(False))[0]
    assert "message.timestamp.type=LogAppendTime" in linked(moved(True))[0]


def test_a_copy_that_reaches_beyond_its_original_was_written_to() -> None:
    (found,) = linked([*ORIGINALS, record(100), record(101)])
    assert found.startswith("FAIL orders: orders-0 ends 2 offsets after its original, so a producer writes there")


def test_an_original_that_grows_while_it_is_asked_is_no_copy_that_was_written_to() -> None:
    config = known_config(**LINKED)

    class Growing(MemoryLogs):
        asked = 0

        def ends(self, partitions: Iterable[TopicPartition], deadline: float = 0.0) -> dict[TopicPartition, LogEnds]:
            found = super().ends(partitions)
            self.asked += 1
            return {place: replace(each, log_end=each.log_end - (self.asked == 1)) for place, each in found.items()}

    clusters = asked(config, {"dc1": {"orders": ORIGINALS}, "dc2": {"orders": ORIGINALS}})
    source = Growing("dc1", {TopicPartition("orders", 0): ORIGINALS})
    clusters["dc1"] = replace(clusters["dc1"], admin=source, reader=source)
    assert [each[:2] for each in told(config, clusters)["clusters.dc2"] if CHECK in each] == ["OK"]


def test_without_a_common_offset_or_an_answer_for_the_original_the_topic_is_named() -> None:
    (found,) = linked(copied(ORIGINALS[:5]), natives(10, 90))
    assert found.startswith("SKIP orders: copy and original have no offsets in common yet, or one of their clusters")
    config = known_config(**LINKED)
    clusters = asked(config, {"dc1": {"orders": ORIGINALS}, "dc2": {"orders": ORIGINALS}}, is_silent={"dc1": True})
    found_here = told(config, clusters)
    assert [each[:4] for each in found_here["clusters.dc2"] if CHECK in each] == ["SKIP"]
    assert [each for each in found_here["clusters.dc1"] if CHECK in each] == []
