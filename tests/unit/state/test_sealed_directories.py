"""Directories that are no good: what a sealed file says of itself is found out where its rows are others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from builders.record_indexes import alternating, content, read_in_one
from fakes.sealed_tables import SealedTables
from offset_sync.state.index_pages import MisstatedError
from offset_sync.tables.segments import Directory


def changed(**columns: Callable[[Any], Any]) -> Callable[[Directory], Directory]:
    """Return what changes these columns of a directory: of its parts, or where they have these of its spans."""

    def damage(said: Directory) -> Directory:
        parts, spans = dict(said.parts), dict(said.spans)
        for name, change in columns.items():
            of = spans if name in ("low", "high") else parts
            of[name] = change(of[name])
        return replace(said, parts=parts, spans=spans)

    return damage


def first_more(values: Any) -> Any:
    return values + (np.arange(len(values)) == 0)


@pytest.mark.parametrize(
    "damage",
    [
        changed(start=first_more),
        changed(low=first_more),
        changed(high=lambda values: values - (np.arange(len(values)) == 0)),
        changed(records=first_more),
        changed(first_record=first_more),
        lambda said: replace(said, logs=[each._replace(partition=each.partition + 1) for each in said.logs]),
    ],
)
def test_a_file_that_holds_other_rows_than_it_says_is_read_as_if_it_said_nothing(
    caplog: pytest.LogCaptureFixture, damage: Callable[[Directory], Directory]
) -> None:
    tables = SealedTables(damage=damage)
    alternating(tables, 0, 60)
    tables.seal(4)
    index = read_in_one(tables)
    (wrong,) = (log for log in index.all_logs().values() if len(log.paged.pages))
    with pytest.raises(MisstatedError, match="holds other rows than its directory says"):
        wrong.paged.part(0)
    index.refresh()
    log = index.log("Y", "orders", 0)
    assert log is not None
    assert log.runs.start.tolist() == list(range(60))
    assert len(index.all_logs()) == 1


@pytest.mark.parametrize("damage", [lambda said: replace(said, logs=said.logs[:0]), changed(rows=first_more)])
def test_a_directory_that_cannot_be_is_none(damage: Callable[[Directory], Directory]) -> None:
    tables = SealedTables(damage=damage)
    alternating(tables, 0, 60)
    tables.seal(4)
    assert content(read_in_one(tables))[:2] == (0, 60)  # type: ignore[index]
