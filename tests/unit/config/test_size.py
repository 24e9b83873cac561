"""Sizes of memory are read as people write them, and refused with a remedy."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from offset_sync.config.duration import Size, format_size

READ = TypeAdapter(Size).validate_python


@pytest.mark.parametrize(
    ("written", "size"),
    [("512MiB", 512 << 20), ("2GiB", 2 << 30), ("16777216", 1 << 24), (1 << 24, 1 << 24), ("100 MB", 10**8)],
)
def test_a_size_is_read_in_binary_and_decimal_units_and_in_bytes(written: object, size: int) -> None:
    assert READ(written) == size
    assert READ(format_size(size)) == size


@pytest.mark.parametrize("wrong", ["much", "-1MiB", "1.5GiB", True, "512 bananas", "", None])
def test_what_is_no_size_is_refused(wrong: object) -> None:
    with pytest.raises(ValidationError, match="is no size; write it as 512MiB or 2GiB"):
        READ(wrong)


def test_too_little_is_refused() -> None:
    with pytest.raises(ValidationError, match="is too small; write at least 16MiB"):
        READ("15MiB")
