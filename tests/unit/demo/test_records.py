from __future__ import annotations

import pytest

from offset_sync_demo.load.records import RecordLog, describe_id, record_id, record_value, value_id


def test_the_identity_in_a_value_is_the_one_it_was_written_with() -> None:
    value = record_value("dc1", "orders", 3, 12345)

    assert value_id(value) == record_id("dc1", 12345)
    assert len(value) == 200


def test_an_identity_fits_64_bits_and_can_be_named() -> None:
    identity = record_id("dc2", 2**32 - 1)
    assert identity != record_id("dc1", 2**32 - 1)

    assert 0 <= identity < 2**64
    assert describe_id(identity, ["dc1", "dc2"]) == "dc2:4294967295"


@pytest.mark.parametrize("value", [b"", b"dc1:orders:3:7", b"hello world"])
def test_a_value_that_the_workload_did_not_write_is_refused(value: bytes) -> None:
    with pytest.raises(ValueError, match="not a record of the workload"):
        value_id(value)


def test_a_log_gives_back_what_was_added_in_order() -> None:
    log = RecordLog()
    log.add(2**63 + 1, 10, 1000)
    log.add(5, 11, 999)

    records = log.to_records()

    assert records.ids.tolist() == [2**63 + 1, 5]
    assert records.offsets.tolist() == [10, 11]
    assert records.timestamps.tolist() == [1000, 999]
