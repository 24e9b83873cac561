"""What the newest copies show of a mirror without headers: order, what it keeps, and whether copies are copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from fakes.newest_logs import asked, copied, known_config, natives, record, told
from offset_sync.kafka.tail_reader import TailRecord
from offset_sync.model.values import RecordContent, TopicPartition
from offset_sync.status.record_comparison import RecordComparer, RecordPair

CHECK = "copies: "
ORIGINALS = natives(100)
AS_THE_FILE_SAYS = "OK 100 copies have originals, and order and timestamps and headers hold as the file says"
WITH_HEADERS = [record(offset, {"trace": b"%d" % offset}) for offset in range(100)]


def at_dc2(copies: Sequence[TailRecord], originals: Sequence[TailRecord] = ORIGINALS, **mirror: Any) -> list[str]:
    config = known_config(mirror={"names": "mm2"}, extensions={"contents": mirror})
    found = told(config, asked(config, {"dc1": {"orders": originals}, "dc2": {"dc1.orders": copies}}))["clusters.dc2"]
    return [each.replace(CHECK, "").replace("dc1.orders: ", "") for each in found if CHECK in each]


def moved(records: Sequence[TailRecord], is_appended: bool = False) -> list[TailRecord]:
    return [TailRecord(replace(each.content, timestamp_ms=9_000), is_appended) for each in records]


def test_a_mirror_that_does_what_the_file_says_is_told_so() -> None:
    assert at_dc2(copied(ORIGINALS)) == [AS_THE_FILE_SAYS]
    assert at_dc2(copied(WITH_HEADERS), WITH_HEADERS) == [AS_THE_FILE_SAYS]
    assert at_dc2(copied(ORIGINALS), order="any") == ["OK 100 copies have originals, and keeps hold as the file says"]
    config = known_config(mirror={"names": "mm2"}, extensions={"contents": {}})
    skipped = told(config, asked(config, {"dc1": {}, "dc2": {}}))["clusters.dc2"]
    assert not [each for each in skipped if "mirror headers" in each], "an extension tells copies"


def test_records_that_come_again_are_told_by_their_times_alone() -> None:
    twins = [record(offset, value=b"value %d" % (offset // 2)) for offset in range(100)]
    assert at_dc2(copied(twins), twins) == [AS_THE_FILE_SAYS]


def test_flows_of_the_same_names_are_looked_at_too_and_each_cluster_for_itself() -> None:
    flows = [["dc1", "dc2"], ["dc1", "dc3"]]
    config = known_config(("dc1", "dc2", "dc3"), extensions={"contents": {"flows": flows, "exclusive": True}})
    logs = {"dc1": {"orders": ORIGINALS}, "dc2": {"orders": copied(ORIGINALS)}, "dc3": {"orders": moved(ORIGINALS)}}
    found = told(config, asked(config, logs))
    levels = {alias: [each[:4] for each in found[f"clusters.{alias}"] if CHECK in each] for alias in logs}
    assert levels == {"dc1": [], "dc2": ["OK c"], "dc3": ["FAIL"]}


def test_times_that_are_promised_and_not_kept_fail() -> None:
    (found,) = at_dc2(moved(ORIGINALS))
    assert found.startswith("FAIL 100 of 100 have other times than their originals, so none can be matched; leave")
    (appended,) = at_dc2(moved(ORIGINALS, is_appended=True))
    assert "message.timestamp.type=LogAppendTime" in appended
    assert "set it to CreateTime" in appended
    assert [each[:3] for each in at_dc2(moved(ORIGINALS), keeps=["headers"])] == ["OK "]


def test_headers_that_are_promised_and_not_kept_fail() -> None:
    (found,) = at_dc2(copied(ORIGINALS, {"via": b"x"}))
    assert found.startswith("FAIL 100 of 100 have other headers than their originals; leave headers out of")
    assert [each[:3] for each in at_dc2(copied(ORIGINALS, {"via": b"x"}), keeps=["timestamps"])] == ["OK "]


def test_what_is_kept_and_not_promised_is_advised() -> None:
    (found,) = [each for each in at_dc2(copied(ORIGINALS), keeps=["headers"]) if each.startswith("WARN")]
    assert "all 100 copies looked at have timestamps of their originals, which keeps leaves out" in found
    found = at_dc2(copied(WITH_HEADERS), WITH_HEADERS, keeps=["timestamps"])[0]
    assert "have headers of their originals, which keeps leaves out" in found
    # Where originals have no headers nothing shows.
    assert [each[:3] for each in at_dc2(copied(ORIGINALS), keeps=["timestamps"])] == ["OK "]
    assert [each[:3] for each in at_dc2(copied(ORIGINALS[:4]), keeps=["headers"])] == ["OK "]


def test_order_that_is_promised_and_broken_is_told_and_sending_again_is_no_break() -> None:
    broken = [*ORIGINALS[:50], ORIGINALS[52], ORIGINALS[50], ORIGINALS[51], *ORIGINALS[53:]]
    (found,) = at_dc2(copied(broken))
    assert found.startswith("WARN 2 of 100 come behind later ones, first at offset 51; set order: any")
    assert [each[:3] for each in at_dc2(copied(broken), order="any")] == ["OK "]
    again = [*ORIGINALS[20:60], *ORIGINALS[5:]]  # also of what came before the first copy here
    assert [each[:3] for each in at_dc2(copied(again))] == ["OK "]


def test_copies_of_nothing_between_others_are_told_and_those_outside_of_what_was_read_are_not() -> None:
    changed = [record(3, value=b"own"), record(4, value=b"own")]
    (found,) = at_dc2(copied([*ORIGINALS[:50], *changed, *ORIGINALS[50:]]))
    assert found.startswith("WARN 2 of 102 have key and value of no original, first at offset 50: unread by everyone")
    older = [record(1, value=b"older"), *ORIGINALS[:20], record(2, value=b"newer")]
    assert [each[:3] for each in at_dc2(copied(older))] == ["OK "]
    again = [*ORIGINALS[:20], record(1, value=b"expired"), *ORIGINALS[5:20]]
    assert [each[:3] for each in at_dc2(copied(again))] == ["OK "]


def test_a_mirror_that_lags_is_looked_at_around_the_time_of_its_copies() -> None:
    many = natives(5_000)
    assert [each[:3] for each in at_dc2(copied(many[1_000:1_500]), many)] == ["OK "]


def test_copies_of_which_no_original_is_found_are_told() -> None:
    altered = [record(each.content.offset, value=b"other %d" % each.content.offset) for each in ORIGINALS]
    (found,) = at_dc2(altered)
    assert found.startswith("WARN none of 100 copies has key and value of exactly one of 100 originals of that time")
    beats = [record(offset, value=b"beat", at_ms=5) for offset in range(20)]
    (found,) = at_dc2(beats, beats)
    assert found.startswith("WARN none of 20 copies has key and value of exactly one of 20 originals")


def test_where_nothing_can_be_compared_the_reason_is_told() -> None:
    for copies, originals in (([], ORIGINALS), (copied(ORIGINALS), [])):
        (found,) = at_dc2(copies, originals)
        assert found.startswith("SKIP no record there yet, or its origin has none of these records any more")


def test_records_are_read_as_the_mirror_copies_them_those_of_aborted_transactions_too() -> None:
    config = known_config(mirror={"names": "mm2"}, extensions={"contents": {}})
    clusters = asked(config, {"dc1": {"orders": ORIGINALS}, "dc2": {"dc1.orders": copied(ORIGINALS)}})
    told(config, clusters)
    assert {each for _, _, each in clusters["dc1"].reader.ranges} == {False}  # type: ignore[attr-defined]


def test_headers_that_mirrors_add_are_no_other_headers() -> None:
    added = {"__mskmr": b"id of dc1"}
    assert at_dc2(copied(WITH_HEADERS, added), WITH_HEADERS) == [AS_THE_FILE_SAYS]
    assert at_dc2(copied(ORIGINALS, added)) == [AS_THE_FILE_SAYS]
    said = at_dc2(copied(WITH_HEADERS, added), WITH_HEADERS, keeps=["timestamps"])
    (more,) = [each for each in said if "WARN" in each]
    assert "have headers of their originals" in more
    (other,) = at_dc2(copied(WITH_HEADERS, {**added, "via": b"mirror"}), WITH_HEADERS)
    assert other.startswith("FAIL 100 of 100 have other headers")


HERE = RecordContent(4, 1000, b"k", b"v", (("trace", b"1"),))


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"key": b"K"}, "key"),
        ({"value": b"V"}, "value"),
        ({"timestamp_ms": 1001}, "timestamp"),
        ({"headers": ()}, "headers"),
    ],
)
def test_the_next_records_are_the_same_where_all_is_that_the_mirror_keeps(changed: dict[str, Any], what: str) -> None:
    def compared(there: RecordContent, **options: Any) -> str | None:
        config = known_config(mirror={"names": "mm2"}, extensions={"contents": options})
        pair = RecordPair("dc1", "dc2", TopicPartition("dc1.orders", 0), 4, 6)
        reader: Any = SimpleNamespace(
            first_records=lambda alias, at: dict.fromkeys(at, HERE if alias == "dc1" else there)
        )
        return RecordComparer(lambda: config, reader).compare([pair])[pair]

    assert compared(replace(HERE, offset=6, headers=(*HERE.headers, ("__mskmr", b"id of dc1")))) is None
    assert compared(replace(HERE, **changed)) == f"source and target differ in the {what} of the next record"
    assert (compared(replace(HERE, **changed), keeps=[]) is not None) is (what in ("key", "value"))
