"""Copies are compared with the records that their stamps name: contents, and times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fakes.newest_logs import asked, known_config, natives, said_at, stamped
from offset_sync.jobs.checks.mirrors import check_mirrors
from offset_sync.kafka.tail_reader import TailRecord

CHECK = "copies: "
LONG = natives(500)


def at_dc2(copies: Sequence[TailRecord], originals: Sequence[TailRecord] = LONG, **sections: Any) -> list[str]:
    logs = {"dc1": {"orders": originals}, "dc2": {"orders": copies}}
    found = said_at("dc2", known_config(**sections), logs)
    return [each.replace(CHECK, "") for each in found if CHECK in each]


def later(records: Sequence[TailRecord], is_appended: bool = False) -> list[TailRecord]:
    contents = [replace(each.content, timestamp_ms=each.content.timestamp_ms + 40) for each in records]
    return [TailRecord(each, is_appended) for each in contents]


def test_copies_that_are_what_their_stamps_say_are_told_so_also_when_the_original_is_no_new_one() -> None:
    right = ["OK orders: copies have time, key and value of the records that their stamps name"]
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
        "WARN orders: 1 of 2 have another key or value than the record that their stamp names, first orders-0 at "
        "offset 19, of dc1 at 4; right only if the mirror changes records"
    )


def test_times_that_are_not_kept_are_told_with_whom_they_harm() -> None:
    (found,) = at_dc2(later(stamped(LONG)))
    assert found.startswith("WARN orders: 2 of 2 have another time than their originals, first orders-0 at offset 499")
    assert "report_status compares times" in found
    (appended,) = at_dc2(later(stamped(LONG), is_appended=True))
    assert "message.timestamp.type=LogAppendTime" in appended
    assert "set it to CreateTime there" in appended
    timed = {"topics": {"include": ["orders"], "strategy": "timestamp"}}
    assert "strategy timestamp goes by them" in at_dc2(later(stamped(LONG)), **timed)[0]


def test_an_origin_that_does_not_answer_costs_the_others_nothing() -> None:
    config = known_config(("dc1", "dc2", "dc3"))
    logs = {"dc1": {"orders": LONG}, "dc2": {"orders": stamped(LONG)}, "dc3": {"orders": stamped(LONG[:20])}}
    found = check_mirrors(config, asked(config, logs, is_silent={"dc1": True})).clusters
    assert [each.text for each in found["dc1"] if each.check == "mirror headers"] == ["no answer"]
    assert [each.check for each in found["dc2"] if each.level.value == "OK"] == ["mirror headers"]
