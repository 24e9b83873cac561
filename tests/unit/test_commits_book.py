"""The book of commits: what counts as genuine, and that neither repetition nor batch borders change it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offset_sync.model import TopicPartition
from offset_sync.testing.memory import CommitRecord, to_records
from offset_sync.testing.strategies import law
from offset_sync.translate.commits import OWN_TAG, CommitBook
from offset_sync.translate.ownership import owners

ORDERS = TopicPartition("orders", 0)


def commit(
    offset: int | None, at_ms: int = 0, *, group: str = "g", metadata: str = "", topic_id: str | None = None
) -> CommitRecord:
    return CommitRecord(group, ORDERS, offset, at_ms, metadata, topic_id)


def take_in(book: CommitBook, *records: CommitRecord, first: int = 0, alias: str = "X") -> list[bool]:
    """Record what stands in the log of *alias* from offset *first* on; return which of it is our own."""
    key = book.ids([(each.group_id, each.place.topic, each.place.partition) for each in records])
    return book.clusters[alias].record(to_records(records, key.tolist(), first)).tolist()


def wrote(book: CommitBook, offset: int, at_ms: int = 0, *, group: str = "g", alias: str = "X") -> None:
    book.clusters[alias].wrote(book.ids([(group, "orders", 0)]), np.array([offset]), at_ms)


def state(book: CommitBook, alias: str = "X") -> dict[tuple[str, str, int], dict[str, object]]:
    """All that is known of each key at *alias*."""
    commits = book.clusters[alias]
    names = ["actual_offset", "actual_at_ms", "actual_is_own", "genuine_offset", "genuine_at_ms", "rewound_at_ms"]
    names += ["is_deleted", "log_offset"]
    return {
        key: {name: commits.columns[name][row].item() for name in names}
        | {"metadata": commits.metadata.get(row), "topic_id": commits.topic_id.get(row)}
        for row, key in enumerate(book.keys)
    }


def known(book: CommitBook, alias: str = "X") -> dict[str, object]:
    (only,) = state(book, alias).values()
    return only


def test_the_last_commit_stands_and_counts() -> None:
    book = CommitBook(["X", "Y"])
    records = [commit(5, 1, metadata="m", topic_id="id"), commit(7, 2, metadata="n", topic_id="id")]
    assert take_in(book, *records) == [False, False]
    assert known(book) == {
        "actual_offset": 7, "actual_at_ms": 2, "actual_is_own": False, "genuine_offset": 7, "genuine_at_ms": 2,
        "rewound_at_ms": -1, "is_deleted": False, "log_offset": 1, "metadata": "n", "topic_id": "id",
    }  # fmt: skip
    assert known(book, "Y")["genuine_at_ms"] == -1


def test_metadata_and_topic_id_are_those_of_the_last_genuine_commit_even_if_it_has_none() -> None:
    book = CommitBook(["X"])
    take_in(book, commit(5, 1, metadata="m", topic_id="id"), commit(6, 2))
    assert (known(book)["metadata"], known(book)["topic_id"]) == (None, None)


def test_a_commit_below_the_one_before_is_a_rewind_wherever_the_batch_ends() -> None:
    for batches in ([[8, 3]], [[8], [3]], [[8, 3, 4]], [[8], [3, 4]]):
        book = CommitBook(["X"])
        first = 0
        for batch in batches:
            take_in(book, *(commit(offset, 10 * offset) for offset in batch), first=first)
            first += len(batch)
        assert known(book)["rewound_at_ms"] == 30, batches


def test_a_rewind_is_seen_across_a_tombstone_a_negative_offset_and_our_own_commits() -> None:
    book = CommitBook(["X"])
    take_in(book, commit(8, 1), commit(None, 2), commit(-1, 3), commit(9, 4, metadata=OWN_TAG), commit(3, 5))
    assert known(book)["rewound_at_ms"] == 5


def test_each_key_has_its_own_rewind() -> None:
    book = CommitBook(["X"])
    take_in(book, commit(8, 1, group="a"), commit(2, 2, group="b"), commit(9, 3, group="a"), commit(3, 4, group="b"))
    assert [row["rewound_at_ms"] for row in state(book).values()] == [-1, -1]


def test_a_tombstone_deletes_what_stands_but_not_what_was_genuine() -> None:
    book = CommitBook(["X"])
    take_in(book, commit(5, 1), commit(None, 2))
    found = known(book)
    assert (found["actual_offset"], found["is_deleted"], found["genuine_offset"]) == (-1, True, 5)
    take_in(book, commit(6, 3), first=2)
    found = known(book)
    assert (found["actual_offset"], found["is_deleted"], found["genuine_offset"]) == (6, False, 6)


def test_a_negative_offset_is_recorded_and_is_no_position() -> None:
    book = CommitBook(["X"])
    assert take_in(book, commit(5, 1), commit(-7, 2)) == [False, False]
    found = known(book)
    assert (found["actual_offset"], found["genuine_offset"], found["genuine_at_ms"]) == (-1, 5, 1)
    assert not found["is_deleted"]


# Our own commits


def test_a_commit_with_our_tag_is_never_genuine() -> None:
    book = CommitBook(["X"])
    assert take_in(book, commit(5, 1), commit(9, 2, metadata=OWN_TAG)) == [False, True]
    found = known(book)
    assert (found["actual_offset"], found["actual_is_own"], found["genuine_offset"]) == (9, True, 5)


def test_a_write_with_the_sources_metadata_is_known_from_the_ledger() -> None:
    book = CommitBook(["X"])
    wrote(book, 9, 1)
    assert known(book)["actual_is_own"]
    assert take_in(book, commit(9, 2, metadata="of the source")) == [True]
    assert known(book)["genuine_at_ms"] == -1


def test_several_writes_that_are_read_later_are_all_known() -> None:
    book = CommitBook(["X"])
    wrote(book, 9, 1)
    wrote(book, 12, 2)
    wrote(book, 15, 3)
    assert take_in(book, commit(9, 1, metadata="m")) == [True]
    assert take_in(book, commit(12, 2, metadata="m"), commit(15, 3, metadata="m"), first=1) == [True, True]
    assert (known(book)["genuine_offset"], known(book)["actual_offset"]) == (-1, 15)


def test_a_group_that_commits_the_value_we_wrote_has_not_moved() -> None:
    book = CommitBook(["X"])
    wrote(book, 9, 1)
    assert take_in(book, commit(9, 1, metadata="m"), commit(9, 5), commit(9, 6)) == [True, True, True]


def test_a_group_that_goes_on_from_our_value_and_is_reset_to_it_is_followed() -> None:
    for batches in ([[9, 15, 9]], [[9], [15], [9]], [[9, 15], [9]]):
        book = CommitBook(["X"])
        wrote(book, 9, 1)
        first, is_own = 0, []
        for batch in batches:
            is_own += take_in(book, *(commit(offset, 10 + first) for offset in batch), first=first)
            first += len(batch)
        assert is_own == [True, False, False], batches
        assert (known(book)["genuine_offset"], known(book)["actual_is_own"]) == (9, False)
        assert known(book)["rewound_at_ms"] >= 0


def test_a_commit_before_our_write_in_the_log_does_not_hide_that_the_write_is_ours() -> None:
    book = CommitBook(["X"])
    wrote(book, 9, 2)
    assert take_in(book, commit(5, 1), commit(9, 2, metadata="m")) == [False, True]
    assert known(book)["genuine_offset"] == 5


def test_a_group_that_commits_our_value_after_it_was_deleted_is_genuine() -> None:
    book = CommitBook(["X"])
    wrote(book, 9, 1)
    assert take_in(book, commit(9, 1), commit(None, 2), commit(9, 3)) == [True, False, False]


def test_a_write_is_ours_only_where_and_for_whom_it_was_made() -> None:
    book = CommitBook(["X", "Y"])
    wrote(book, 9, 1)
    assert take_in(book, commit(9, 2), alias="Y") == [False]
    assert take_in(book, commit(9, 2, group="other")) == [False]


def test_writes_that_are_never_read_back_are_forgotten_in_the_end() -> None:
    book = CommitBook(["X"])
    for offset in range(1000):
        wrote(book, offset)
    assert take_in(book, commit(0), commit(999)) == [False, True]


def test_what_a_cluster_acknowledged_stands_before_it_is_read() -> None:
    book = CommitBook(["X"])
    take_in(book, commit(5, 1), commit(None, 2))
    wrote(book, 9, 3)
    found = known(book)
    assert (found["actual_offset"], found["actual_at_ms"], found["is_deleted"]) == (9, 3, False)


# Repetition


@pytest.mark.parametrize("repeated", [slice(0, 6), slice(1, 6), slice(0, 2), slice(5, 6)])
def test_records_read_again_change_nothing(repeated: slice) -> None:
    book = CommitBook(["X"])
    wrote(book, 9, 0)
    log = [commit(8, 1), commit(3, 2), commit(9, 3, metadata="m"), commit(None, 4), commit(7, 5), commit(2, 6)]
    take_in(book, *log)
    before = state(book)
    take_in(book, *log[repeated], first=repeated.start)
    assert state(book) == before


def test_a_record_read_again_is_still_known_as_ours() -> None:
    book = CommitBook(["X"])
    wrote(book, 9, 1)
    log = [commit(4, 1), commit(6, 1, metadata=OWN_TAG), commit(9, 2, metadata="m")]
    assert take_in(book, *log) == [False, True, True]
    assert take_in(book, *log) == [False, True, True]


records = st.builds(
    CommitRecord,
    group_id=st.sampled_from("ab"),
    place=st.just(ORDERS),
    offset=st.sampled_from([None, -1, 3, 4, 5, 6]),
    at_ms=st.just(0),
    metadata=st.sampled_from(["", "", "m", OWN_TAG]),
    topic_id=st.sampled_from([None, "id"]),
)
logs = st.lists(records, max_size=12).map(lambda log: [replace(each, at_ms=at) for at, each in enumerate(log)])
writes = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from([3, 4, 5])), max_size=4)


@law(300)
@given(logs, writes, st.lists(st.integers(0, 12), max_size=6), st.booleans())
def test_any_batches_with_any_repetition_give_the_same_state(
    log: list[CommitRecord], written: list[tuple[str, int]], borders: list[int], steps_back: bool
) -> None:
    whole, pieces = CommitBook(["X"]), CommitBook(["X"])
    for book in (whole, pieces):
        book.ids([("a", "orders", 0), ("b", "orders", 0)])
        for group, offset in written:
            wrote(book, offset, group=group)
    take_in(whole, *log)
    read = 0
    for border in [*sorted(borders), len(log)]:
        first = max(0, read - 2) if steps_back else read
        take_in(pieces, *log[first:border], first=first)
        read = max(read, min(border, len(log)))
    assert state(pieces) == state(whole)


def model(log: list[CommitRecord], written: list[int]) -> tuple[int, int, int]:
    """The last genuine commit of one key, its time and that of the last rewind, record by record."""
    pending, standing, genuine = list(written), None, (-1, -1, -1)
    for record in log:
        if record.offset is None or record.offset < 0:
            standing = None
        elif record.offset in pending or record.metadata == OWN_TAG:
            standing = record.offset
            pending = pending[pending.index(record.offset) + 1 :] if record.offset in pending else pending
        elif record.offset != standing:
            standing = None
            genuine = (record.offset, record.at_ms, record.at_ms if record.offset < genuine[0] else genuine[2])
    return genuine


@law(300)
@given(logs, st.lists(st.sampled_from([3, 4, 5]), max_size=4))
def test_what_is_genuine_is_what_remains_when_our_writes_are_taken_out(
    log: list[CommitRecord], written: list[int]
) -> None:
    log = [replace(each, group_id="g") for each in log]
    book = CommitBook(["X"])
    book.ids([("g", "orders", 0)])
    for offset in written:
        wrote(book, offset)
    take_in(book, *log)
    found = known(book)
    assert (found["genuine_offset"], found["genuine_at_ms"], found["rewound_at_ms"]) == model(log, written)


def test_keys_keep_their_rows_and_every_cluster_has_all_of_them() -> None:
    book = CommitBook(["X", "Y"])
    first = book.ids([("a", "orders", 0), ("b", "orders", 1), ("a", "orders", 0)])
    assert first.tolist() == [0, 1, 0]
    assert book.ids([("c", "pay", 0), ("b", "orders", 1)]).tolist() == [2, 1]
    assert book.column("genuine_at_ms").shape == (2, 3)
    assert owners(book.column("genuine_at_ms")).tolist() == [-1, -1, -1]


def test_many_keys_at_once_take_their_own_records() -> None:
    book = CommitBook(["X"])
    take_in(book, *(commit(n, n, group=f"g{n % 500}") for n in range(2000)))
    assert [row["genuine_offset"] for row in state(book).values()] == [1500 + n for n in range(500)]
