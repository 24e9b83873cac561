"""Records of MirrorMaker's checkpoints, and of ``__transaction_state`` as a broker of 4.3.0 has written them."""

from __future__ import annotations

import struct

import pytest

from builders.mirror_checkpoints import checkpoint_key, checkpoint_value
from offset_sync.decode.cursor import (
    DecodeError,
    MirrorCheckpoint,
    TransactionState,
    decode_checkpoint,
    decode_transaction,
    decode_transactional_id,
)

# What MirrorMaker's own class makes of it, 4.3.0: Checkpoint("billing", dc1.orders-3, 70000, 65537, "é").
CHECKPOINT_KEY = bytes.fromhex("0007 62696c6c696e67 000a 6463312e6f7264657273 00000003")
CHECKPOINT = bytes.fromhex("0000 0000000000011170 0000000000010001 0002 c3a9")
KNOWN = MirrorCheckpoint("billing", "dc1.orders", 3, 70_000, 65_537, "é")


def test_what_mirror_maker_writes_is_read() -> None:
    assert decode_checkpoint(CHECKPOINT_KEY, CHECKPOINT) == KNOWN


def test_the_bytes_of_our_own_making_are_those_of_mirror_maker() -> None:
    assert checkpoint_key("billing", "dc1.orders", 3) == CHECKPOINT_KEY
    assert checkpoint_value(70_000, 65_537, "é") == CHECKPOINT


def test_metadata_may_be_empty_and_may_hold_anything() -> None:
    assert decode_checkpoint(CHECKPOINT_KEY, checkpoint_value(1, 2, "")).metadata == ""
    assert decode_checkpoint(CHECKPOINT_KEY, checkpoint_value(1, 2, "a\0b")).metadata == "a\0b"


def test_bytes_after_the_last_field_are_no_error() -> None:
    assert decode_checkpoint(CHECKPOINT_KEY + b"more", CHECKPOINT + b"more") == KNOWN


@pytest.mark.parametrize("length", range(len(CHECKPOINT_KEY)))
def test_a_checkpoint_whose_key_is_cut_off_is_refused(length: int) -> None:
    with pytest.raises(DecodeError, match=r"^key: "):
        decode_checkpoint(CHECKPOINT_KEY[:length], CHECKPOINT)


@pytest.mark.parametrize("length", range(len(CHECKPOINT)))
def test_a_checkpoint_that_is_cut_off_is_refused(length: int) -> None:
    with pytest.raises(DecodeError, match=r"^value: "):
        decode_checkpoint(CHECKPOINT_KEY, CHECKPOINT[:length])


def test_another_version_of_a_checkpoint_is_refused() -> None:
    with pytest.raises(DecodeError, match="version 1 is not 0"):
        decode_checkpoint(CHECKPOINT_KEY, struct.pack(">h", 1) + CHECKPOINT[2:])


@pytest.mark.parametrize(("partition", "source_offset", "offset"), [(-1, 1, 1), (0, -1, 1), (0, 1, -1)])
def test_negative_numbers_are_refused(partition: int, source_offset: int, offset: int) -> None:
    with pytest.raises(DecodeError, match="negative"):
        decode_checkpoint(checkpoint_key("g", "orders", partition), checkpoint_value(source_offset, offset, ""))


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(DecodeError, match="UTF-8"):
        decode_checkpoint(CHECKPOINT_KEY, CHECKPOINT[:-2] + b"\xff\xff")


def test_what_is_said_of_a_record_is_one_line_whatever_its_names_are() -> None:
    with pytest.raises(DecodeError) as refused:
        decode_checkpoint(checkpoint_key("g", "or\nders\x1b[2J\u202e", -1), CHECKPOINT)
    assert str(refused.value).isprintable()
    assert str(refused.value).isascii()


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
def test_a_transaction_that_is_cut_off_is_refused(length: int) -> None:
    with pytest.raises(DecodeError, match=r"^value: "):
        decode_transaction(KEY, WITH_RECORDS[:length])


@pytest.mark.parametrize("length", range(len(KEY)))
def test_a_transactional_id_that_is_cut_off_is_refused(length: int) -> None:
    with pytest.raises(DecodeError, match=r"^key: "):
        decode_transactional_id(KEY[:length])


def test_another_version_of_a_transaction_is_refused() -> None:
    with pytest.raises(DecodeError, match="version 2 is not known"):
        decode_transaction(KEY, b"\0\2" + WITH_RECORDS[2:])
    with pytest.raises(DecodeError, match="version 1 is not 0"):
        decode_transactional_id(b"\0\1" + KEY[2:])
