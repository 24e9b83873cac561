"""Tables hold what was appended, whoever writes, maintains or reads them, and whatever ends or interrupts that."""

from __future__ import annotations

import pytest

from histories.run import try_histories


@pytest.mark.no_cover
def test_what_was_acknowledged_is_there_once_and_the_rest_whole_or_not_at_all() -> None:
    """The same few histories each time; ``make test-tables`` tries hundreds of new ones."""
    try_histories(examples=12, steps=25)
