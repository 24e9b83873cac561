"""Packed columns hold what the table says, and little more than what is odd in it."""

from __future__ import annotations

import json
import random
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generators.reports import random_drift
from offset_sync.model.text import visible
from offset_sync.status.render.page.column_encoding import pack_column, pack_table
from offset_sync.status.render.page.drift_curves import pack_drift, thin
from offset_sync.status.render.page.topic_shapes import with_shapes
from offset_sync.status.rollup import TOPIC, roll_up
from offset_sync.tables.report_tables import SYNC_STATUS

INTEGERS = st.none() | st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, 1])


def unpacked(column: dict[str, Any], rows: int, columns: dict[str, list[Any]]) -> list[Any]:
    """Read *column* as files/unpack.js does."""
    if "w" in column:
        return [None if code is None else column["w"][code] for code in unpacked(column["n"], rows, columns)]
    if "i" not in column:
        return list(column["v"])
    values = list(columns[column["like"]]) if "like" in column else [column["d"]] * rows
    place = 0
    for step, value in zip(column["i"], column["v"], strict=True):
        place += step
        values[place] = value
    return values


def as_javascript_has_it(value: int | None) -> int | str | None:
    return str(value) if value is not None and abs(value) >= 2**53 else value


@given(st.lists(INTEGERS))
def test_numbers_come_back(values: list[int | None]) -> None:
    packed = json.loads(json.dumps(pack_column(pa.chunked_array([pa.array(values, pa.int64())]))))
    assert unpacked(packed, len(values), {}) == [as_javascript_has_it(value) for value in values]


@given(st.lists(st.none() | st.text(max_size=3)))
def test_words_come_back_visible(values: list[str | None]) -> None:
    packed = pack_column(pa.chunked_array([pa.array(values, pa.string())]))
    assert unpacked(packed, len(values), {}) == [None if value is None else visible(value) for value in values]


@given(st.lists(st.tuples(INTEGERS, INTEGERS)))
def test_a_column_that_mostly_equals_another_comes_back(values: list[tuple[int | None, int | None]]) -> None:
    table = pa.table({name: pa.array([row[n] for row in values], pa.int64()) for n, name in enumerate("ab")})
    packed = pack_table(table, ("a", "b"), like={"b": "a"})
    assert packed["rows"] == len(values)
    first = unpacked(packed["columns"]["a"], len(values), {})
    second = unpacked(packed["columns"]["b"], len(values), {"a": first})
    assert second == [as_javascript_has_it(row[1]) for row in values]


def test_a_number_too_great_for_javascript_is_text() -> None:
    values = [2**53 - 1, 2**53, -(2**53), 3]
    packed = pack_column(pa.chunked_array([pa.array(values)]))
    assert packed == {"v": [2**53 - 1, "9007199254740992", "-9007199254740992", 3]}


def test_what_is_the_same_almost_everywhere_takes_no_room() -> None:
    values = [0] * 10_000 + [7]
    assert pack_column(pa.chunked_array([pa.array(values)])) == {"d": 0, "i": [10_000], "v": [7]}


def test_a_thinned_curve_keeps_its_peaks_its_order_and_its_end() -> None:
    chance = random.Random(4)
    rows = [{"at": n, "change": chance.randint(-9, 9), "windowed_change": chance.randint(-9, 9)} for n in range(5_000)]
    rows[1_234]["change"], rows[4_321]["windowed_change"] = -1_000, 1_000
    kept = thin(rows, 100)
    assert len(kept) <= 100
    assert [row["at"] for row in kept] == sorted({row["at"] for row in kept})
    assert {1_234, 4_321, 4_999} <= {row["at"] for row in kept}
    assert thin(rows[:100], 100) == rows[:100]


def test_pairs_have_a_curve_and_so_have_the_groups_that_drift_most() -> None:
    drift = random_drift(random.Random(8), [*(f"g{n}" for n in range(9)), "a\nb"], reports=40, broken=["a\nb", "g7"])
    found = pack_drift(drift, groups=3)
    assert [series["group"] for series in found[:3]] in ([None, r"a\u000ab", "g7"], [None, "g7", r"a\u000ab"])
    assert len(found) == 4
    expected = [row for row in drift.sort_by("at").to_pylist() if row["group_id"] is None]
    assert found[0]["change"] == [row["change"] for row in expected]
    assert found[0]["windowed"] == [row["windowed_change"] for row in expected]
    assert datetime.fromtimestamp(found[0]["at"][-1] / 1000, timezone.utc) == expected[-1]["at"]
    assert found[0]["at"][1] - found[0]["at"][0] == timedelta(seconds=30) // timedelta(milliseconds=1)


def test_a_group_that_has_not_converged_comes_before_one_that_drifts_more() -> None:
    drift = random_drift(random.Random(8), ["broken", "wild"], reports=9)
    rows = drift.to_pylist()
    for row in rows:
        if row["group_id"] is not None:
            is_wild = row["group_id"] == "wild"
            row |= {"windowed_change": 500 if is_wild else 5, "is_converged": is_wild}
    found = pack_drift(pa.Table.from_pylist(rows, drift.schema), groups=1)
    assert [series["group"] for series in found] == [None, "broken"]


@pytest.mark.parametrize(
    ("shares", "origins"),
    [
        (['{"dc1": 1.0}', '{"dc1": 1.0, "dc2": 0}'], "dc1 100 %"),
        (['{"dc1": 0.5, "dc2": 0.5}', '{"dc1": 0.54, "dc2": 0.46}'], "dc1 52 %, dc2 48 %"),
        (['{"dc1": 0.999, "dc2": 0.001}'], "dc1 99.9 %, dc2 0 %"),
        (['{"d\\u202ec": 1}', None], r"d\u202ec 100 %"),
        ([None], ""),
    ],
)
def test_the_shape_of_a_topic_is_the_mean_of_its_partitions(shares: list[str | None], origins: str) -> None:
    rows = [
        {
            "source_cluster": "x",
            "target_cluster": "y",
            "group_id": group,
            "topic": "t",
            "partition": n,
            "status": "InSync",
            "origin_share": share,
            "mirror_lag_by_origin": '{"dc1": 1200, "dc2": 0}',
        }
        for group in "ab"
        for n, share in enumerate(shares)
    ]
    status = pa.Table.from_pylist(rows, SYNC_STATUS.arrow_schema)
    found = with_shapes(roll_up(status, TOPIC), status)
    assert found["origins"].to_pylist() == [origins]
    assert found["mirror_by_origin"].to_pylist() == [f"dc1 {1200 * len(shares):,}"]
