"""Texts of read lists in Java and in Python: what a list is, and that everything else is none."""

from __future__ import annotations

import pytest

from consumer.read_list_texts import Reading, corpus, list_text, read_text
from consumer.skip_read_cases import SkipReadCases

pytestmark = pytest.mark.xdist_group("consumer")
SEVERAL = [(1000, 1001), (1003, 1010), (5000, 70_000)]


def test_both_readers_read_the_corpus_as_it_says(cases: SkipReadCases) -> None:
    told = corpus()
    assert len(told) >= 150
    wanted = {case: reading for case, (_, reading) in told.items()}
    assert {case: read_text(text) for case, (text, _) in told.items()} == wanted
    assert dict(zip(told, cases.read([text for text, _ in told.values()]), strict=True)) == wanted


@pytest.mark.parametrize("deflates", [False, True])
def test_both_readers_agree_on_texts_that_were_cut_or_changed_anywhere(cases: SkipReadCases, deflates: bool) -> None:
    text = list_text(1000, 12, SEVERAL, deflates=deflates)
    cut = [text[:length] for length in range(len(text))]
    # A text that ends behind a range says so much and no more; deflated it does not end.
    shorter = {each.ranges for each in map(read_text, cut[:-1]) if each}
    assert shorter <= ({()} if deflates else {(), *(tuple(SEVERAL[:count]) for count in (1, 2))})
    assert read_text(cut[-1]) == Reading(1000, 12, tuple(SEVERAL)), "without its NUL"
    changed = [
        text[:place] + other + text[place + width :]
        for place in range(len(text))
        for other in ("", "\0", " ", "A", "z", "r", "0", "9", "-", "_", "=", "\u00e9")
        for width in (0, 1)
    ]
    asked = [*cut, *changed]
    assert cases.read(asked) == [read_text(each) for each in asked]
