"""How much is read of which logs: bounded, the same partitions everywhere, and no query waits for a silent cluster."""

from __future__ import annotations

from fakes.newest_logs import MemoryLogs, asked, known_config, natives, stamped, told
from offset_sync.model.values import TopicPartition

LONG = natives(1_000)


def test_what_has_no_answer_in_time_is_named_and_the_rest_is_judged() -> None:
    config = known_config()
    logs = {"dc1": {"orders": LONG, "pay": LONG}, "dc2": {"orders": stamped(LONG), "pay": LONG}}
    is_judged = "OK mirror headers: orders: stamped, from dc1; 50 of 50 records checked"
    unread = "SKIP mirror headers: pay: not checked: its records were not read in time; repeat check"
    late = asked(config, logs, late={"dc2": frozenset({TopicPartition("pay", 0)})})
    assert {is_judged, unread} <= {*told(config, late)["clusters.dc2"]}
    without_end = asked(config, logs)
    reader = without_end["dc2"].reader
    assert isinstance(reader, MemoryLogs)
    reader.logs = {place: each for place, each in reader.logs.items() if place.topic != "pay"}
    assert {is_judged, unread} <= {*told(config, without_end)["clusters.dc2"]}
    silent = told(config, asked(config, logs, is_silent={"dc1": True}))
    assert silent["clusters.dc1"] == ["FAIL mirror headers: no answer"]
    assert is_judged in silent["clusters.dc2"]
