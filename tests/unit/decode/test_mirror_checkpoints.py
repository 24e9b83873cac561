"""Records of MirrorMaker's checkpoints topics, as connect-mirror 4.3.0 writes them, and every cut of them."""

from __future__ import annotations

import pytest

from offset_sync.decode.cursor import DecodeError
from offset_sync.decode.mirror_checkpoints import MirrorCheckpoint, decode_checkpoint

KEY = bytes.fromhex("000762696c6c696e67000a6463312e6f726465727300000003")
VALUE = bytes.fromhex("000000000000000003e8000000104c533c0000046e6f7465")


def test_what_mirror_maker_writes_is_read() -> None:
    assert decode_checkpoint(KEY, VALUE) == MirrorCheckpoint("billing", "dc1.orders", 3, 70_000_000_000)


def test_no_cut_of_it_is_read() -> None:
    metadata = 2 + len("note")  # what a commit says beside its offset is nobody's business here
    for key, value in [(KEY[:n], VALUE) for n in range(len(KEY))] + [
        (KEY, VALUE[:n]) for n in range(len(VALUE) - metadata)
    ]:
        with pytest.raises(DecodeError):
            decode_checkpoint(key, value)


def test_another_version_and_names_that_are_no_text_are_refused() -> None:
    with pytest.raises(DecodeError, match="version 1"):
        decode_checkpoint(KEY, b"\0\1" + VALUE[2:])
    with pytest.raises(DecodeError, match="UTF-8"):
        decode_checkpoint(KEY.replace(b"billing", b"\xff" * 7), VALUE)
