"""The text of a read list: what is written is read again, and the last ranges are left out where not all fit."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.hypothesis_strategies import law
from offset_sync.translate.read_list import (
    MOST_BYTES,
    MOST_CHARACTERS,
    FoundList,
    ReadList,
    decode_read_list,
    encode_read_list,
)
from offset_sync.translate.replication_gap import OffsetRanges
from oracles.read_list import CLUSTER, framed, leb128, text_of

GOLDEN = Path(__file__).parents[2] / "golden" / "read_lists.json"
LARGEST = 2**63 - 1

Range = tuple[int, int]


def found(start: int, epoch: int, ranges: list[Range], records: Sequence[int] = (), left_out: int = 0) -> FoundList:
    starts, length = (np.array(column, np.int64) for column in ([a for a, _ in ranges], [b - a for a, b in ranges]))
    return FoundList(ReadList(start, epoch, OffsetRanges(starts, length)), np.array(records or length), left_out)


def told(text: str) -> tuple[int, int, list[Range]] | None:
    decoded = decode_read_list(text)
    if decoded is None:
        return None
    begin, leader_epoch, ranges = decoded.read_list
    pairs = zip(ranges.start.tolist(), ranges.length.tolist(), strict=True)
    return begin, leader_epoch, [(start, start + length) for start, length in pairs]


def ranges_from(start: int, numbers: list[int]) -> list[Range]:
    """Return ranges by turns so far away and so long."""
    found, at = list[Range](), start
    for gap, length in zip(numbers[::2], numbers[1::2]):
        found.append((at + gap, at + gap + length))
        at += gap + length
    return found


def random_ranges(count: int, most: int, seed: int = 0) -> list[Range]:
    rng = random.Random(seed)
    return ranges_from(0, [rng.randint(1, most) for _ in range(2 * count)])


numbers = st.one_of(st.integers(1, 3), st.integers(1, 2**17), st.integers(1, 2**55))
starts = st.one_of(st.integers(0, 300), st.integers(0, 2**60))


@law(500)
@given(starts, st.integers(0, 2**31 - 1), st.lists(numbers, max_size=60), st.booleans())
def test_what_is_written_is_read_again(start: int, epoch: int, gaps: list[int], begins_at_once: bool) -> None:
    ranges = ranges_from(start, [0, *gaps[1:]] if gaps and begins_at_once else gaps)
    written = encode_read_list(found(start, epoch, ranges), CLUSTER)
    assert told(written.text) == told(written.text.removesuffix("\0")) == (start, epoch, ranges)
    assert (written.records, written.left_out) == (sum(b - a for a, b in ranges), 0)
    plain = text_of(start, epoch, ranges)
    assert written.text == min(plain, text_of(start, epoch, ranges, "z"), key=len)
    assert told(plain) == (start, epoch, ranges)


@law(60)
@given(st.integers(0, 10**6), st.sampled_from([1, 2, 5, 100, 10**4, 2**40]), st.integers(600, 40_000))
def test_what_does_not_fit_is_left_out_from_the_end_and_counted(seed: int, most: int, count: int) -> None:
    ranges = random_ranges(count, most, seed)
    records = [1 + number % 3 for number in range(count)]
    written = encode_read_list(found(0, 50, ranges, records, left_out=11), CLUSTER)
    assert len(written.text) <= MOST_CHARACTERS
    decoded = told(written.text)
    assert decoded is not None
    kept = decoded[2]
    assert kept == ranges[: len(kept)]
    assert (written.records, written.left_out) == (sum(records[: len(kept)]), sum(records[len(kept) :]) + 11)
    if len(kept) < count:
        one_more = [text_of(0, 50, ranges[: len(kept) + 1], kind) for kind in "rz"]
        assert min(map(len, one_more)) > MOST_CHARACTERS or 2 * (len(kept) + 1) > MOST_BYTES


@pytest.mark.parametrize("cluster_id", ["", "c" * 201, "a b", "ü", "a\x7f"])
def test_a_cluster_id_that_is_no_word_is_refused(cluster_id: str) -> None:
    with pytest.raises(ValueError, match="not a cluster id"):
        encode_read_list(found(7, 3, [(9, 12)]), cluster_id)


@pytest.mark.parametrize("number", [2**bits - below for bits in range(7, 63, 7) for below in (0, 1)])
def test_numbers_take_as_few_bytes_as_they_need(number: int) -> None:
    ranges = ranges_from(0, [number, number])
    assert encode_read_list(found(0, 0, ranges), CLUSTER).text in [text_of(0, 0, ranges, kind) for kind in "rz"]


def test_what_fits_to_the_byte_is_read_and_the_text_is_the_one_of_the_design() -> None:
    assert told(framed("0 0", b"\1" * MOST_BYTES, "z")) is not None
    written = encode_read_list(found(9, 0, ranges_from(9, [2, 3, 2, 1, 1, 23])), CLUSTER)
    assert written.text == f"offset-sync/1 {CLUSTER} 9 0 rAgMCAQEX\0"


def entries() -> list[dict[str, Any]]:
    return json.loads(GOLDEN.read_text())["texts"]


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry["about"])
def test_each_text_of_the_corpus_is_read_as_it_says(entry: dict[str, Any]) -> None:
    wanted = entry["start"], entry["leader_epoch"], [tuple(each) for each in entry["ranges"] or ()]
    assert told(entry["text"]) == (None if entry["ranges"] is None else wanted)
    decoded = decode_read_list(entry["text"])
    assert (decoded and decoded.cluster_id) == entry["cluster_id"]


@law(400)
@given(st.lists(numbers, min_size=2, max_size=12), st.sampled_from("rz"), st.data())
def test_a_text_of_which_something_was_lost_or_changed_is_none_or_another_list_and_never_an_error(
    gaps: list[int], kind: str, data: st.DataObject
) -> None:
    text = text_of(7, 3, ranges_from(7, gaps), kind)
    at = data.draw(st.integers(0, len(text) - 1))
    for other in (text[:at], text[at:], text[:at] + data.draw(st.characters()) + text[at + 1 :], text + text[at:]):
        decoded = told(other)
        if decoded is not None:
            start, _, ranges = decoded
            ends = [start - 1, *(end for _, end in ranges)]
            assert all(begin > end for (begin, _), end in zip(ranges, ends))
            assert all(begin < end <= LARGEST for begin, end in ranges)


@law(200)
@given(st.lists(st.integers(0, 2**70), max_size=6))
def test_numbers_beyond_int64_are_refused_and_the_same_bytes_are_read_as_python_counts(values: list[int]) -> None:
    decoded = told(framed("9 0", b"".join(map(leb128, values))))
    is_ours = len(values) % 2 == 0 and all(values[1:]) and sum(values) + 9 <= LARGEST
    assert decoded == ((9, 0, ranges_from(9, values)) if is_ours else None)
