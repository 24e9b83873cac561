"""The words of the tables are codes of arrays."""

from __future__ import annotations

import pytest

from offset_sync.model.values import Outcome, Rule, State, Status, Word


@pytest.mark.parametrize("words", [State, Outcome, Status, Rule])
def test_each_word_is_found_by_its_code_in_an_array_of_all(words: type[Word]) -> None:
    assert [int(word) for word in words] == list(range(len(words)))
