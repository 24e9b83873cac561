"""Groups that ``cutover`` has moved: followed from the table, by our clock and not by that of who moved them."""

from __future__ import annotations

from datetime import datetime, timezone

import numpy as np
import pyarrow as pa
import pytest

from fakes.reconciler_site import mirrored_site
from fakes.tables import MemoryTables
from offset_sync.model.values import GroupPartition
from offset_sync.state.moves import BEGUN, Moves
from offset_sync.tables.catalog import CUTOVERS

HOUR_MS = 3_600_000


# When a move was, is kept


# What a command has committed


@pytest.mark.parametrize("is_live", [True, False], ids=["by a running driver", "by one that starts"])
@pytest.mark.parametrize("is_begun", [True, False])
def test_what_a_command_has_committed_is_ours_in_whatever_way_it_ended(is_live: bool, is_begun: bool) -> None:
    """It was killed after it had committed 9 at Y: the group stays at home at X, and Y gets the answer again."""
    driver, tables = mirrored_site("Y", sync={"home_silence": "5m"}), MemoryTables()
    moves = Moves(tables)  # type: ignore[arg-type]
    driver.state.before_foreign = lambda: moves.follow(driver.state)
    driver.commit("X", "g", 5)
    driver.read_all()
    if is_live:
        moves.follow(driver.state)
    place = {"group_id": "g", "stream": "orders", "partition": 0, "target_cluster": "Y", "target_offset": 9}
    at = datetime.fromtimestamp(driver.clock_ms[0] / 1000, timezone.utc)
    row = {**place, "cutover_id": "one", "at": at, "step": "commit", "result": BEGUN}
    tables.append(CUTOVERS, pa.Table.from_pylist([row] if is_begun else [], CUTOVERS.arrow_schema))
    driver.commit("Y", "g", 9)
    driver.read_all()
    driver.pass_time(HOUR_MS)
    driver.reconciled()
    rows = driver.offsets.ids([GroupPartition("g", "orders", 0)])
    home = list(driver.offsets.clusters)[int(driver.state.homes_of(rows).home[0])]
    assert (home, driver.target_offset("Y", "g")) == (("X", 7) if is_begun else ("Y", 9))
    assert (driver.offsets.clusters["Y"].columns["rewound_ms"][rows] < 0).all()


def test_a_commit_of_the_value_that_is_being_written_here_too_is_one_of_a_command() -> None:
    driver, looks = mirrored_site("Y"), list[int]()
    driver.state.before_foreign = lambda: looks.append(driver.clock_ms[0])
    driver.commit("X", "g", 5)
    driver.read_all()
    for _ in range(2):
        driver.commit("Y", "g", 7)
    rows = driver.offsets.ids([GroupPartition("g", "orders", 0)])
    driver.offsets.clusters["Y"].own_writes.begin(rows, np.array([7]))
    driver.read_all()
    assert len(looks) == 1
