"""Texts of read lists in Java and in Python: what a list is, and that everything else is none."""

from __future__ import annotations

import pytest

from consumer.read_list_texts import corpus, read_text
from consumer.skip_read_cases import SkipReadCases

pytestmark = pytest.mark.xdist_group("consumer")


def test_both_readers_read_the_corpus_as_it_says(cases: SkipReadCases) -> None:
    told = corpus()
    assert len(told) >= 150
    wanted = {case: reading for case, (_, reading) in told.items()}
    assert {case: read_text(text) for case, (text, _) in told.items()} == wanted
    assert dict(zip(told, cases.read([text for text, _ in told.values()]), strict=True)) == wanted
