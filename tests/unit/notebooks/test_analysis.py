"""What the notebooks ask, on a made-up day whose troubles are known; and notebooks as files."""

from __future__ import annotations

from pathlib import Path

import duckdb
import nbformat
import pandas as pd
import pytest

from builders.delta_rs_tables import write_tables
from generators.scripted_day import Day
from offset_analysis.failover import costs
from offset_sync.tables.views.duckdb import open_tables


@pytest.fixture(scope="module")
def day() -> Day:
    return Day(steps=60)


@pytest.fixture(scope="module")
def tables(day: Day, tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    root = tmp_path_factory.mktemp("day")
    write_tables(root, {table: day.arrow(table) for table in day.rows})
    return open_tables(str(root))


def test_the_cost_is_summed_by_moment_and_group(tables: duckdb.DuckDBPyConnection, day: Day) -> None:
    cost = costs(tables, "dc1", "dc2", [day.at(30.5), day.at(59.5)]).set_index(["moment", "group_id"])
    early, late = pd.Timestamp(day.at(30.5)), pd.Timestamp(day.at(59.5))
    assert cost.loc[(early, "billing"), "repeats_at_most"] == sum(min(30, (7 * 30 + 13 * p) % 60) for p in range(2))
    assert list(cost.loc[(late, "shipping"), ["partitions", "unknown"]]) == [2, 2]
    assert pd.isna(cost.loc[(late, "audit"), "lost"])
    assert cost.loc[(late, "fraud"), "lost"] == sum(30 * 60 - (30 * 59 + (3 * 59 + p) % 30) for p in range(2))
    assert set(costs(tables, "dc1", "dc2", [day.at(30.5)], "b.*")["group_id"]) == {"billing"}


NOTEBOOKS = sorted((Path(__file__).parents[3] / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_valid_and_keeps_no_output(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert [cell.id for cell in notebook.cells if cell.get("outputs") or cell.get("execution_count")] == []
    (cell,) = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    assert cell.source.startswith('root = "../data/demo/tables"')
