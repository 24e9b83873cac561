"""Copies are compared with their originals: those that their stamps name, or at the same offset (strategy identity)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from fakes.newest_logs import MemoryLogs, asked, copied, known_config, natives, record, said_at, stamped, told
from offset_sync.kafka.requests import LogEnds
from offset_sync.kafka.tail_reader import TailRecord
from offset_sync.model.values import TopicPartition

CHECK = "copies: "
LONG = natives(500)
LINKED: dict[str, Any] = {"topics": {"include": ["orders"], "strategy": "identity", "origin": "dc1"}}
ORIGINALS = natives(100)


def at_dc2(copies: Sequence[TailRecord], originals: Sequence[TailRecord] = LONG, **sections: Any) -> list[str]:
    logs = {"dc1": {"orders": originals}, "dc2": {"orders": copies}}
    found = said_at("dc2", known_config(**sections), logs)
    return [each.replace(CHECK, "") for each in found if CHECK in each]


def later(records: Sequence[TailRecord], is_appended: bool = False) -> list[TailRecord]:
    contents = [replace(each.content, timestamp_ms=each.content.timestamp_ms + 40) for each in records]
    return [TailRecord(each, is_appended) for each in contents]


def test_copies_that_are_what_their_stamps_say_are_told_so_also_when_the_original_is_no_new_one() -> None:
    right = ["OK orders: copies have the timestamp, key and value of the records that their stamps name"]
    assert at_dc2(stamped(LONG)) == right
    assert at_dc2(stamped(LONG[:20])) == right


def test_nothing_is_said_where_no_original_is_there() -> None:
    assert at_dc2(stamped(LONG[:20]), LONG[400:]) == []
    assert at_dc2(stamped(LONG[:20]), LONG[:0]) == []
    assert at_dc2(natives(20)) == []


def test_a_stamp_of_another_record_is_told_with_both_places() -> None:
    false = TailRecord(replace(stamped([LONG[4]], first=19)[0].content, value=b"another"))
    (found,) = at_dc2([*stamped(LONG[:19]), false])
    assert found.startswith(
        "WARN orders: 1 of 1 have another key or value than the record that their stamp names, first orders-0 at "
        "offset 19, of dc1 at 4; correct only if the mirror changes records"
    )


def test_times_that_are_not_kept_are_told_with_whom_they_harm() -> None:
    (found,) = at_dc2(later(stamped(LONG)))
    assert found.startswith(
        "WARN orders: 1 of 1 have another timestamp than their originals, first orders-0 at offset 499"
    )
    assert "report_status compares timestamps" in found
    (appended,) = at_dc2(later(stamped(LONG), is_appended=True))
    assert "message.timestamp.type=LogAppendTime" in appended
    assert "set it to CreateTime there" in appended
    timed = {"topics": {"include": ["orders"], "strategy": "timestamp"}}
    assert "strategy timestamp uses them" in at_dc2(later(stamped(LONG)), **timed)[0]


def test_an_origin_that_does_not_answer_costs_the_others_nothing() -> None:
    config = known_config(("dc1", "dc2", "dc3"))
    logs = {"dc1": {"orders": LONG}, "dc2": {"orders": stamped(LONG)}, "dc3": {"orders": stamped(LONG[:20])}}
    found = told(config, asked(config, logs, is_silent={"dc1": True}))
    assert found["clusters.dc1"] == ["FAIL mirror headers: no answer"]
    assert [each.partition(":")[0] for each in found["clusters.dc2"]] == ["OK mirror headers"]


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
