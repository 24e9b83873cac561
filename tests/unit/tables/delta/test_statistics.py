"""Statistics in the table's log: a reader that skips a file by them never misses a row."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.hypothesis_strategies import law
from offset_sync.tables.delta.statistics import statistics_of

UTC = timezone.utc
MICROSECONDS = pa.timestamp("us", tz="UTC")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def stats(values: list[Any], type_: pa.DataType) -> tuple[Any, Any, int]:
    found = statistics_of(pa.table({"x": pa.array(values, type_)}))
    assert found["numRecords"] == len(values)
    return found["minValues"].get("x"), found["maxValues"].get("x"), found["nullCount"]["x"]


@pytest.mark.parametrize("type_", [pa.int64(), pa.int32(), pa.string(), MICROSECONDS, pa.bool_(), pa.binary()])
def test_a_column_of_nulls_has_no_bounds(type_: pa.DataType) -> None:
    assert stats([None, None], type_) == (None, None, 2)


def test_bounds_are_the_least_and_the_greatest_value() -> None:
    assert stats([3, None, -5, 2**62], pa.int64()) == (-5, 2**62, 1)
    assert stats(["b", "", "ä"], pa.string()) == ("", "ä", 0)


def test_columns_that_nobody_skips_by_have_no_bounds() -> None:
    assert stats([True, False], pa.bool_()) == (None, None, 0)
    assert stats([b"\xff"], pa.binary()) == (None, None, 0)
    assert stats(["a", "x" * 257], pa.string()) == (None, None, 0)
    assert stats(["x" * 256], pa.string())[0] == "x" * 256


@law(200)
@given(st.lists(st.integers(-62_135_596_799_000_000, 253_402_300_799_000_000), min_size=1, max_size=5))
def test_times_lie_between_their_bounds_and_those_within_a_millisecond(micros: list[int]) -> None:
    least, most, _ = stats(micros, MICROSECONDS)
    first, last = (EPOCH + timedelta(microseconds=extreme(micros)) for extreme in (min, max))
    millisecond = timedelta(milliseconds=1)
    assert first - millisecond < datetime.fromisoformat(least.replace("Z", "+00:00")) <= first
    end = datetime.fromisoformat(most.replace("Z", "+00:00"))
    assert last <= end
    assert end - last < millisecond


def test_times_that_no_calendar_has_give_no_bounds_for_anybody() -> None:
    assert stats([0, 2**62], MICROSECONDS) == (None, None, 0)
    assert stats([-(2**62), 0], MICROSECONDS) == (None, None, 0)
