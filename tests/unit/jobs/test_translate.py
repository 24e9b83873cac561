"""The command translate: its CSV, the streams that it asks for, and its answers as golden/outputs/translate.txt."""

from __future__ import annotations

import argparse
import io

import numpy as np
import pytest

from offset_sync.jobs import translate
from offset_sync.jobs.translate import print_answers, read_csv, summary
from offset_sync.model.errors import ConfigError
from offset_sync.model.values import ABSENT, State
from offset_sync.offsets.kept_offsets import KeptAnswers, KeptOffsets
from tools.golden_output import expect

HEADER = b"topic,partition,offset\n"


def problems(text: bytes) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read_csv(text, "a.csv", ABSENT)
    return caught.value.problems


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "Empty CSV file"),
        (b"topic;partition;offset\n", "expected a header with topic,partition,offset; found topic;partition;offset"),
        (b"\xff,partition,offset\n", "can't decode byte 0xff"),
        (HEADER + b"orders,0", "Row #2: Expected 3 columns, got 2"),
        (HEADER + b"orders,0,-1", "is below 0"),
        (HEADER + b"orders,x,1", "Row #2: CSV conversion error to int32: invalid value 'x'"),
        (HEADER + b"orders,0,9223372036854775808", "invalid value '9223372036854775808'"),
        (HEADER + b"orders,0,", "invalid value ''"),
        (HEADER + b"bad name,0,1", "topic 'bad name' is no topic's name"),
    ],
)
def test_what_cannot_be_read_is_told(text: bytes, said: str) -> None:
    assert [said in each and each.startswith("a.csv: ") for each in problems(text)] == [True]


@pytest.mark.parametrize("time", ["2026-01-31T12:00:00", "yesterday", "2099-01-01T00:00:00Z", "1769860800000"])
def test_a_time_without_its_zone_or_to_come_proves_nothing_and_is_bad(time: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"zone|future"):
        translate._time(time)
    assert translate._time("2026-01-31T13:00:00.0019+01:00") == 1_769_860_800_001


def answered() -> tuple[KeptOffsets, KeptAnswers]:
    found = KeptAnswers(3)
    found.target_offset = np.array([5, -1, 1_000_017])
    found.state = np.array([State.EXACT, State.COMMIT_BEYOND_END, State.INDEX_BEHIND])
    found.duplicates, found.duplicates_at_most = np.array([0, 0, 12]), np.array([0, 0, 30])
    found.lost = np.array([0, 0, 4])
    found.reason[1] = 'orders-1 ends at 3 at dc1: "another" topic, or cluster'
    text = b'\xef\xbb\xbfsink,offset,partition,topic\r\n"a ""b"", 1",007,0,orders\r\n\r\n'
    text += b",9,1,orders\r\n,1000000, 12 ,pay-in"
    return read_csv(text, "a.csv", ABSENT), found


def test_a_withheld_answer_has_a_reason_and_no_numbers() -> None:
    offsets, found = answered()
    out = io.StringIO()
    print_answers(offsets, found, offsets.topics, out)
    expect("translate.txt", "\n".join([out.getvalue(), *summary(found)]))
    assert summary(KeptAnswers(0)) == []
