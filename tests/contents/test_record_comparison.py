"""Whether the next record is the same on both sides, where no header says it: by contents, and byte for byte."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import pytest

from fakes.reconciler_site import ORDERS, config_of
from offset_sync.config import Config
from offset_sync.model.errors import ClusterError
from offset_sync.model.values import RecordContent, TopicPartition
from offset_sync.status.record_comparison import RecordComparer, RecordPair

X_ORDERS = TopicPartition("X.orders", 0)
PAIR = RecordPair("X", "Y", ORDERS, 4, 6)
HERE = RecordContent(4, 1000, b"k", b"v", (("trace", b"1"),))
COPY = replace(HERE, offset=6)
OTHER_COPIES = [
    (replace(COPY, key=b"K"), "key"),
    (replace(COPY, value=b"V"), "value"),
    (replace(COPY, timestamp_ms=1001), "timestamp"),
    (replace(COPY, headers=()), "headers"),
]


class Reader:
    """Holds a record of each of two clusters."""

    def __init__(self, here: RecordContent, there: RecordContent) -> None:
        self._records = {"X": here, "Y": there}

    def first_records(
        self, alias: str, offsets: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, RecordContent] | ClusterError:
        return dict.fromkeys(offsets, self._records[alias])


def difference(config: Config, there: RecordContent, pair: RecordPair = PAIR, here: RecordContent = HERE) -> str | None:
    pairs: Collection[RecordPair] = [pair]
    return RecordComparer(lambda: config, Reader(here, there)).compare(pairs)[pair]


def compared_by_contents(there: RecordContent, keeps: Sequence[str] = ("timestamps", "headers")) -> str | None:
    """What is said of ``HERE`` at X, and of this record at Y."""
    config = config_of(["X", "Y"], mirror={"identity": "fingerprint", "names": "mm2", "keeps": list(keeps)})
    return difference(config, there, replace(PAIR, topic_partition=X_ORDERS))


def test_what_has_the_same_contents_is_the_same_though_nothing_says_where_it_was_produced() -> None:
    assert compared_by_contents(COPY) is None
    assert compared_by_contents(replace(COPY, headers=(*COPY.headers, ("__mskmr", b"id of X")))) is None


@pytest.mark.parametrize(("there", "what"), OTHER_COPIES)
def test_all_that_the_mirror_keeps_is_compared_and_nothing_else(there: RecordContent, what: str) -> None:
    assert compared_by_contents(there) == f"source and target differ in the {what} of the next record"
    assert (compared_by_contents(there, keeps=[]) is not None) is (what in ("key", "value"))
