"""Pieces are read one ahead, in their order; what goes wrong there is told to whoever asked."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from offset_sync.state.read_ahead import read_ahead


@pytest.mark.parametrize("count", [0, 1, 2, 3, 20])
def test_every_piece_comes_once_and_in_order(count: int) -> None:
    assert list(read_ahead(iter(range(count)))) == list(range(count))


def test_the_next_piece_is_read_while_one_is_worked_on_and_no_more_than_two() -> None:
    read, is_read = list[int](), threading.Event()

    def pieces() -> Iterator[int]:
        for number in range(9):
            read.append(number)
            if number == 4:
                is_read.set()
            yield number

    found = read_ahead(pieces())
    assert [next(found) for _ in range(3)] == [0, 1, 2]
    assert is_read.wait(60)
    assert max(read) == 4
    assert list(found) == [3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize("whole", [0, 1, 2, 5])
def test_a_piece_that_cannot_be_read_is_an_error_in_its_place(whole: int) -> None:
    def pieces() -> Iterator[int]:
        yield from range(whole)
        raise FileNotFoundError("part-0")

    found, threads = list[int](), threading.active_count()
    with pytest.raises(FileNotFoundError):
        found.extend(each for each in read_ahead(pieces()))
    assert threading.active_count() < threads + 5


def test_nobody_reads_on_for_one_who_has_gone() -> None:
    def reading() -> list[threading.Thread]:
        return [each for each in threading.enumerate() if each.name == "reading ahead"]

    before = len(reading())
    found = read_ahead(iter(range(1_000)))
    for _ in range(4):
        next(found)
    assert len(reading()) == before + 1
    found.close()  # type: ignore[attr-defined]
    for _ in range(600):
        if len(reading()) == before:
            break
        time.sleep(0.1)
    assert len(reading()) == before
