"""Originals found by fingerprint, against looking at each."""

from __future__ import annotations

import numpy as np
import pytest

from offset_sync_contents.alignment.originals import OriginalWindow
from offset_sync_contents.alignment.records import Fingerprints


def grown(rng: np.random.Generator, kinds: int) -> tuple[OriginalWindow, np.ndarray, np.ndarray]:
    window, offset, fingerprint, end = OriginalWindow(), [], [], 0
    for _ in range(rng.integers(1, 12)):
        new = np.flatnonzero(rng.random(rng.integers(1, 60)) < 0.9) + end
        end += 60
        value = rng.integers(0, kinds, len(new))
        window.append(Fingerprints.of(new, value))
        offset += new.tolist()
        fingerprint += value.tolist()
    return window, np.array(offset, np.int64), np.array(fingerprint, np.int64)


@pytest.mark.parametrize("seed", range(40))
def test_candidates_are_all_originals_with_these_contents_in_the_range(seed: int) -> None:
    rng = np.random.default_rng(seed)
    window, offset, fingerprint = grown(rng, kinds=int(rng.choice([2, 30, 10_000])))
    asked = rng.choice(np.append(fingerprint, -7), 50)
    low = rng.integers(0, offset[-1] + 2, 50)
    high = low + rng.integers(0, 300, 50)
    found = window.candidates(asked, low, high)
    rows, members = window.members(asked, low, high)
    for number in range(50):
        right = offset[(fingerprint == asked[number]) & (offset >= low[number]) & (offset < high[number])]
        assert sorted(members[rows == number].tolist()) == right.tolist()
        assert found.number[number] == len(right)
        if len(right):
            assert (found.least[number], found.greatest[number]) == (right[0], right[-1])
    assert window.has(fingerprint, offset).all()
    assert not window.has(fingerprint + 20_000, offset).any()


def size(window: OriginalWindow) -> int:
    return sum(len(part.offset) for part in window._parts)


def test_what_is_forgotten_is_gone_in_the_end_and_what_is_not_stays() -> None:
    rng, window = np.random.default_rng(1), OriginalWindow()
    for begin in range(0, 100_000, 1_000):
        window.append(Fingerprints.of(np.arange(begin, begin + 1_000), rng.integers(-(2**62), 2**62, 1_000)))
        window.forget_below(begin - 10_000)
        low = np.full(1, max(begin - 10_000, 0))
        assert size(window) >= 1_000 + begin - low[0]
    assert size(window) < 30_000


def test_without_originals_nothing_is_found() -> None:
    found = OriginalWindow().candidates(np.array([5]), np.array([0]), np.array([9]))
    assert found.number.tolist() == [0]
