"""How far jobs have read, and what of it is waited for: not for ever, not twice in vain, and not where no job runs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from fakes.reconciler_site import config_of
from offset_sync.config import Config
from offset_sync.kafka.requests import Clock
from offset_sync.model.errors import ClusterError
from offset_sync.model.reasons import Reason
from offset_sync.model.values import GroupPartition
from offset_sync.status.job_progress import CheckpointProgress, JobProgress, StreamLag
from offset_sync.tables.files import Files


def test_an_open_transaction_holds_back_all_groups_of_its_partition_and_no_other() -> None:
    odd, even = "a", "b"  # 97 and 98
    keys = [GroupPartition(group, "orders", 0) for group in (odd, even)]
    progress = JobProgress({"X": StreamLag({0: 0, 1: 0}, 2, {1: "held"}), "Y": StreamLag({0: 0, 1: 0}, 2)})
    assert progress.held_back("YX", keys).tolist() == ["held", None]
    assert progress.held_back("Y", keys).tolist() == [None] * 2
    assert JobProgress(index_silent_ms={"Y": 5}).index_still_ms("X", "Y") == 5


NOW_MS = 1_795_000_000_000
PATIENCE_S = 0.4
Ends = Sequence["int | None"] | ClusterError


def batch(root: Path, query: str, batch_id: int, *offsets: int, at_ms: int, is_done: bool = True) -> None:
    """Write what a query leaves of a micro-batch that reads up to *offsets*, by partition."""
    folder = root / query
    for name in ("offsets", "commits"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    ends = {"__consumer_offsets": {str(number): offset for number, offset in enumerate(offsets)}}
    written = {"offsets": f"v1\n{{}}\n{json.dumps(ends)}", "commits": "v1\n{}"}
    for name, text in written.items():
        if name == "commits" and not is_done:
            continue
        path = folder / name / str(batch_id)
        path.write_text(text)
        os.utime(path, (at_ms / 1000, at_ms / 1000))


class Site:
    """Clusters X and Y, of whose logs *ends* tells."""

    def __init__(self, root: Path) -> None:
        self.root = root / "c"
        self.ends: dict[str, Ends] = {"X": [], "Y": []}
        self.stable: dict[int, int] = {}
        self.config: Config = config_of(["X", "Y"], tables={"root": f"{root}/tables", "checkpoints": str(root / "c")})
        self.is_sync_running = True
        clock = Clock(lambda: self.slept_s, self.sleep)
        self.progress = CheckpointProgress(Files(), self.config, self, self, PATIENCE_S, clock)
        self.slept_s = 0.0
        self.meanwhile: Callable[[], None] = lambda: None

    def commit_log_ends(self, alias: str) -> Ends:
        return self.ends[alias]

    def stable_ends(self, alias: str) -> dict[int, int]:
        assert alias == "X"
        return self.stable

    def is_running(self, job: str) -> bool:
        assert job == "sync_offsets"
        return self.is_sync_running

    def sleep(self, seconds: float) -> None:
        """Let time pass without waiting for it, and *meanwhile* happen."""
        self.slept_s += seconds
        self.meanwhile()

    def lags(self) -> dict[str, StreamLag]:
        return dict(self.progress.read(NOW_MS).commits)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_what_the_last_finished_batch_has_not_read_is_unread(site: Site) -> None:
    batch(site.root, "sync_offsets/X", 8, 5, 7, at_ms=NOW_MS - 9000)
    batch(site.root, "sync_offsets/X", 9, 10, 7, at_ms=NOW_MS - 4000)
    batch(site.root, "sync_offsets/X", 10, 99, 99, at_ms=NOW_MS - 3000, is_done=False)
    site.ends["X"] = [12, 7]
    assert site.lags() == {"X": StreamLag({0: 2, 1: 0}, 2), "Y": StreamLag({}, 0)}
    site.ends["X"] = [10, 7]
    assert site.lags()["X"] == StreamLag({0: 0, 1: 0}, 2)
    site.ends["X"] = [9, 7]  # it has read on since the end was asked
    assert site.lags()["X"] == StreamLag({0: 0, 1: 0}, 2)


def test_where_the_last_stable_offset_does_not_move_is_told_with_for_how_long(site: Site) -> None:
    batch(site.root, "sync_offsets/X", 0, 5, 20, at_ms=NOW_MS)
    site.ends["X"], site.stable = [7, 23], {0: 7, 1: 20}

    def read(after_ms: int) -> StreamLag:
        return site.progress.read(NOW_MS + after_ms).commits["X"]

    def said(offset: int, lasted: str) -> str:
        return Reason.HELD_BACK(offset, "__consumer_offsets", 1, "X", lasted)

    assert read(0) == StreamLag({0: 2, 1: 0}, 2, {1: said(20, "0 s")})
    assert read(90_000).held == {1: said(20, "1 min 30 s")}
    site.stable[1] = 21
    assert read(95_000) == StreamLag({0: 2, 1: 1}, 2, {1: said(21, "0 s")})
    site.stable[1] = 23  # above the end that was asked for nothing is held
    assert read(96_000).held == {}


def test_what_a_running_query_is_about_to_read_is_waited_for(site: Site) -> None:
    batch(site.root, "sync_offsets/X", 0, 5, at_ms=NOW_MS)
    site.ends["X"] = [7]
    site.meanwhile = lambda: batch(site.root, "sync_offsets/X", 1, 7, at_ms=NOW_MS)
    assert site.lags()["X"] == StreamLag({0: 0}, 1)
    assert 0 < site.slept_s < PATIENCE_S


def test_a_stopped_query_is_waited_for_once(site: Site) -> None:
    batch(site.root, "sync_offsets/X", 0, 5, at_ms=NOW_MS)
    site.ends["X"] = [7]
    waited = []
    for batch_id in (None, None, 1, None):
        if batch_id is not None:
            batch(site.root, "sync_offsets/X", batch_id, 6, at_ms=NOW_MS)
        began = site.slept_s
        site.lags()
        waited.append(site.slept_s - began >= PATIENCE_S)
    assert waited == [True, False, True, False]
