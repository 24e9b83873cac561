"""Texts of read lists in Java: what a list is, and that everything else is none."""

from __future__ import annotations

import random

import pytest

from consumer.read_list_texts import Reading, corpus, list_text, ranges_of, read_text
from consumer.skip_read_cases import SkipReadCases

pytestmark = pytest.mark.xdist_group("consumer")
SEVERAL = [(1000, 1001), (1003, 1010), (5000, 70_000)]


def test_both_readers_read_the_corpus_as_it_says(cases: SkipReadCases) -> None:
    told = corpus()
    assert len(told) >= 150
    wanted = {case: reading for case, (_, reading) in told.items()}
    assert {case: read_text(text) for case, (text, _) in told.items()} == wanted
    assert dict(zip(told, cases.read([text for text, _ in told.values()]), strict=True)) == wanted


def test_random_lists_are_read_as_they_were_written(cases: SkipReadCases) -> None:
    chance = random.Random(20260)
    written = []
    for _ in range(100):
        start, share = chance.choice([0, 7, 1 << chance.randrange(1, 60)]), chance.random()
        offsets = [start + each for each in range(chance.randrange(300)) if chance.random() < share]
        written.append(Reading(start, chance.randrange(100), tuple(ranges_of(offsets))))
    for deflates in (False, True):
        texts = [list_text(each.start, each.epoch, each.ranges, deflates=deflates) for each in written]
        assert cases.read(texts) == written
        assert [read_text(text) for text in texts] == written


@pytest.mark.parametrize("deflates", [False, True])
def test_of_a_list_that_was_cut_nothing_is_read_but_shorter_lists(cases: SkipReadCases, deflates: bool) -> None:
    text = list_text(1000, 12, SEVERAL, deflates=deflates)
    cut = [text[:length] for length in range(len(text))]
    readings = cases.read(cut)
    assert readings == [read_text(each) for each in cut]
    assert readings[-1] == Reading(1000, 12, tuple(SEVERAL)), "without its NUL"
    # A text that ends behind a range says so much and no more; deflated it does not end.
    shorter = {each.ranges for each in readings[:-1] if each}
    assert shorter <= ({()} if deflates else {(), *(tuple(SEVERAL[:count]) for count in (1, 2))})


@pytest.mark.parametrize("deflates", [False, True])
def test_both_readers_agree_on_texts_with_another_character_anywhere(cases: SkipReadCases, deflates: bool) -> None:
    text = list_text(1000, 12, SEVERAL, deflates=deflates)
    others = [
        text[:place] + other + text[place + width :]
        for place in range(len(text))
        for other in ("", "\0", " ", "A", "z", "r", "0", "9", "-", "_", "=", "\u00e9")
        for width in (0, 1)
    ]
    assert cases.read(others) == [read_text(each) for each in others]
