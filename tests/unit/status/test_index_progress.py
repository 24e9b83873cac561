"""How far index_records has read, and what is waited for: not for ever, and not twice in vain."""

from __future__ import annotations

import os
from pathlib import Path

from builders.logs import log
from fakes.clusters import MemoryEnds, MemoryIndex
from fakes.reconciler_site import config_of
from offset_sync.kafka.requests import Clock
from offset_sync.model.values import TopicPartition
from offset_sync.state.cluster_metadata import ClusterMetadata
from offset_sync.state.cluster_queries import IndexCatchUp
from offset_sync.status.live_state import IndexCheckpoints
from offset_sync.tables.files import Files

ORDERS = TopicPartition("orders", 0)


def test_the_index_is_looked_at_until_it_has_reached_the_ends() -> None:
    index, steps, slept = MemoryIndex(), [6, 8, 10, 12], list[float]()
    index.extend(log("X", "X0:4"), ORDERS)
    index.refresh = lambda: index.extend(log("X", f"X0:{steps.pop(0)}"), ORDERS)  # type: ignore[method-assign]
    catch_up = IndexCatchUp(index, 5.0, Clock(lambda: sum(slept), slept.append))
    catch_up.wait({"X": ClusterMetadata({}, {ORDERS: MemoryEnds(0, 10)})})
    assert (len(slept), steps) == (3, [12])


def test_a_stopped_index_is_waited_for_once() -> None:
    index, slept, waited = MemoryIndex(), list[float](), list[bool]()
    index.refresh = lambda: None  # type: ignore[method-assign]
    catch_up = IndexCatchUp(index, 1.0, Clock(lambda: sum(slept), slept.append))
    for records in (4, 4, 5, 5):
        index.extend(log("X", f"X0:{records}"), ORDERS)
        before = sum(slept)
        catch_up.wait({"X": ClusterMetadata({}, {ORDERS: MemoryEnds(0, 10)})})
        waited.append(sum(slept) - before >= 1.0)
    assert waited == [True, False, True, False]


def test_an_index_is_silent_since_the_last_sign_of_its_queries(tmp_path: Path) -> None:
    config = config_of(["X", "Y"], tables={"root": f"{tmp_path}/tables", "checkpoints": str(tmp_path)})
    for name in ("offsets", "commits"):
        path = tmp_path / "index_records" / "X" / name / "0"
        path.parent.mkdir(parents=True)
        path.write_text("v1\n{}")
        os.utime(path, (5.0, 5.0))
    assert IndexCheckpoints(Files(), config).read(7_000) == ({"X": 2_000, "Y": 0}, {})
