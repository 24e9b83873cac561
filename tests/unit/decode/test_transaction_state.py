"""Records of ``__transaction_state``, as a broker of 4.3.0 has written them."""

from __future__ import annotations

import struct

import pytest

from builders.offset_records import commit_key, group_key
from offset_sync.decode.commit_key import decode_commit_key
from offset_sync.decode.cursor import DecodeError
from offset_sync.decode.transaction_state import TransactionState, decode_transaction, decode_transactional_id

KEY = bytes.fromhex("0000000a6f72646572732d617070")
EMPTY, WITH_OFFSETS, WITH_RECORDS, PREPARED, COMMITTED = (
    bytes.fromhex(text)
    for text in (
        "0001000000000000000000000000ea600000000001a21570ebefffffffffffffffff0100080000000000000000",
        "0001000000000000000000000000ea600102135f5f636f6e73756d65725f6f666673657473020000000500000001a21570ec18"
        "000001a21570ec180100080000000000000000",
        "0001000000000000000000000000ea600103076f7264657273020000000200135f5f636f6e73756d65725f6f66667365747302"
        "0000000500000001a21570eec3000001a21570ec180100080000000000000000",
        "0001000000000000000000000000ea600203076f7264657273020000000200135f5f636f6e73756d65725f6f66667365747302"
        "0000000500000001a21570eed3000001a21570ec180100080000000000000000",
        "0001000000000000000000000000ea600401000001a21570eed6000001a21570ec180100080000000000000000",
    )
)
STARTED_AT_MS = 0x1A21570EC18
OFFSETS, RECORDS = ("__consumer_offsets", 5), ("orders", 2)


def test_a_transaction_is_open_from_its_first_partition_to_its_last_marker() -> None:
    found = [decode_transaction(KEY, each) for each in (EMPTY, WITH_OFFSETS, WITH_RECORDS, PREPARED, COMMITTED)]
    assert [each.is_open for each in found] == [False, True, True, True, False]
    assert [each.partitions for each in found] == [
        frozenset(),
        {OFFSETS},
        {OFFSETS, RECORDS},
        {OFFSETS, RECORDS},
        frozenset(),
    ]
    assert {(each.transactional_id, each.producer_id) for each in found} == {("orders-app", 0)}
    assert [each.started_at_ms for each in found[1:]] == [STARTED_AT_MS] * 4


def test_the_version_of_brokers_before_four_is_read_too() -> None:
    head = struct.pack(">hqhib", 0, 4001, 3, 60_000, 1)
    partitions = struct.pack(">ih6sii", 1, 6, b"orders", 1, 2)
    times = struct.pack(">qq", 7, 5)
    wanted = TransactionState("orders-app", 4001, True, frozenset({RECORDS}), 5)
    assert decode_transaction(KEY, head + partitions + times) == wanted
    null = decode_transaction(KEY, head + struct.pack(">i", -1) + times)
    assert (null.is_open, null.partitions) == (True, frozenset())


@pytest.mark.parametrize("length", range(len(WITH_RECORDS) - 11))  # what follows are tagged fields, which say nothing
def test_a_value_that_is_cut_off_is_refused(length: int) -> None:
    with pytest.raises(DecodeError, match=r"^value: "):
        decode_transaction(KEY, WITH_RECORDS[:length])


@pytest.mark.parametrize("length", range(len(KEY)))
def test_a_key_that_is_cut_off_is_refused(length: int) -> None:
    with pytest.raises(DecodeError, match=r"^key: "):
        decode_transactional_id(KEY[:length])


def test_another_version_is_refused() -> None:
    with pytest.raises(DecodeError, match="version 2 is not known"):
        decode_transaction(KEY, b"\0\2" + WITH_RECORDS[2:])
    with pytest.raises(DecodeError, match="version 1 is not 0"):
        decode_transactional_id(b"\0\1" + KEY[2:])


@pytest.mark.parametrize("record_type", [0, 1])
def test_the_key_of_a_commit_is_read_and_another_is_none(record_type: int) -> None:
    key = commit_key("grüße", "orders", 3, record_type)
    assert decode_commit_key(key) == ("grüße", "orders", 3)
    assert decode_commit_key(group_key("grüße")) is None
    for length in range(len(key)):
        with pytest.raises(DecodeError):
            decode_commit_key(key[:length])
