"""Records of MirrorMaker's checkpoints."""

from __future__ import annotations

import struct

import pytest

from builders.mirror_checkpoints import checkpoint_key, checkpoint_value
from offset_sync.decode.cursor import (
    DecodeError,
    MirrorCheckpoint,
    decode_checkpoint,
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
