"""Groups that ``cutover`` has moved: followed from the table, by our clock and not by that of who moved them."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from fakes.clusters import MemoryIndex
from fakes.reconciler_site import STARTED_MS, config_of, mirrored_site
from fakes.tables import MemoryTables
from offset_sync.model.values import GroupPartition
from offset_sync.state.moves import BEGUN, HOME, Moves
from offset_sync.state.sync_state import SyncState
from offset_sync.tables.catalog import CUTOVERS

HOUR_MS = 3_600_000


class Site:
    """A state of X and Y that follows the table of moves, and its clock."""

    def __init__(self, home_silence: str = "5m") -> None:
        self.now_ms, self.numbers = STARTED_MS, iter(range(100))
        self.config = config_of(["X", "Y"], sync={"home_silence": home_silence})
        self.tables: Any = MemoryTables()
        self.start()

    def start(self) -> None:
        """Begin as a new driver does."""
        self.state = SyncState(self.config, MemoryIndex(), lambda: self.now_ms)
        self.moves = Moves(self.tables, dates=True)

    def move(self, *targets: str, at_ms: int | None = None, **other: Any) -> None:
        """Have a call of the command end its step ``home`` for the group g, once per target."""
        at = datetime.fromtimestamp((self.now_ms if at_ms is None else at_ms) / 1000, timezone.utc)
        same = {"cutover_id": str(next(self.numbers)), "step": HOME, "result": "done", "group_id": "g"}
        rows = [{**same, "stream": "orders", "at": at, "target_cluster": each, **other} for each in targets]
        self.tables.append(CUTOVERS, pa.Table.from_pylist(rows, CUTOVERS.arrow_schema))

    def commit(self, alias: str, at_ms: int) -> None:
        rows = self.state.offsets.ids([GroupPartition("g", "orders", 0)])
        self.state.homes.note_commits(alias, rows, np.array([at_ms]))

    def home(self) -> str | None:
        """Return the home of the group, None where two clusters are active."""
        home, is_contested = self.state.homes_of(self.state.offsets.ids([GroupPartition("g", "orders", 0)]))
        return None if is_contested[0] else ["X", "Y", "nowhere"][int(home[0])]


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.mark.parametrize("skew_ms", [-HOUR_MS, 0, HOUR_MS])
@pytest.mark.parametrize("home_silence", ["0s", "5m"])
def test_a_move_that_is_noticed_at_work_happened_now_whatever_the_other_machines_clock(
    skew_ms: int, home_silence: str
) -> None:
    """Also the first one that there ever was: the group commits at X up to the moment at which it is moved."""
    site = Site(home_silence)
    site.moves.follow(site.state)
    site.commit("X", site.now_ms - 1)
    site.move("Y", at_ms=site.now_ms + skew_ms)
    site.moves.follow(site.state)
    assert site.home() == "Y"
    site.now_ms += 1000
    site.commit("X", site.now_ms)
    assert site.home() == ("X" if home_silence == "0s" else None), "another cluster is active after it"


# When a move was, is kept


@pytest.mark.parametrize("skew_ms", [-HOUR_MS, HOUR_MS])
def test_a_start_knows_when_a_move_was_though_the_other_machines_clock_is_wrong(site: Site, skew_ms: int) -> None:
    site.moves.follow(site.state)
    site.move("Y", at_ms=site.now_ms + skew_ms)
    site.moves.follow(site.state)
    assert not site.moves.follow(site.state), "what we wrote down ourselves is no news"
    moved_ms = site.now_ms
    site.now_ms += HOUR_MS // 2
    site.commit("X", site.now_ms)
    site.now_ms += HOUR_MS // 4
    assert site.home() == "X"
    site.start()
    site.moves.follow(site.state)
    site.commit("X", moved_ms + HOUR_MS // 2)
    assert site.home() == "X"
    rows = site.state.offsets.ids([GroupPartition("g", "orders", 0)])
    assert site.state.homes.moved_ms(rows, "Y").tolist() == [moved_ms]


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
