"""A package of its own: found by entry points, part of what is shipped, and pure where the rules are."""

from __future__ import annotations

import ast
import configparser
from collections.abc import Iterator
from datetime import timedelta
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

from builders.configurations import problems
from builders.index_rows import EPOCH, add, life, run
from contents.fingerprint_follower import COPIES, ORIGIN, Follower
from contents.mirror_settings import fuzz
from contents.unstamped_copies import history
from fakes.tables import MemoryTables
from offset_sync import __version__
from offset_sync.model.values import ClusterPartition
from offset_sync.state.highest_indexed import highest_indexed
from offset_sync.tables.catalog import LOG_INCARNATIONS, RECORD_RUNS, TRUNCATED
from offset_sync.translate.partition_log import PartitionLog
from offset_sync.translate.read_list import read_list
from offset_sync_contents.maintenance import TABLES
from offset_sync_contents.table import RECORD_FINGERPRINTS
from oracles.read_list import offsets_in

REPO = Path(__file__).resolve().parents[2]
LIB = REPO / "lib"


def test_the_source_tree_has_the_entry_points_of_the_wheel_and_all_of_them_load() -> None:
    wheel, tree = (configparser.ConfigParser(delimiters=("=",)) for _ in range(2))
    wheel.read(REPO / "setup.cfg")
    (entries,) = LIB.glob("offset_sync_contents-*.dist-info")
    tree.read(entries / "entry_points.txt")
    for group in tree.sections():
        assert wheel["options.entry_points"][group].split() == ["contents", "=", tree[group]["contents"]]
        assert EntryPoint("contents", tree[group]["contents"], group).load()
    assert entries.name == f"offset_sync_contents-{__version__}.dist-info"
    assert f"Version: {__version__}" in (entries / "METADATA").read_text()


def test_an_extension_that_is_not_installed_is_refused() -> None:
    assert problems(extensions={"content": {}}) == [
        "extensions.content: no such extension is installed; correct the name, or install its package"
    ]
    both = problems(mirror={"names": "mm2"}, extensions={"contents": {}, "other": {}})
    assert "extensions: are several, and one alone tells copies; leave one" in both


def imported(folder: Path) -> Iterator[tuple[str, str]]:
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                yield path.name, str(node.module)
            elif isinstance(node, ast.Import):
                yield from ((path.name, each.name) for each in node.names)


def test_the_core_imports_nothing_of_it_and_its_rules_are_pure() -> None:
    assert [each for each in imported(LIB / "offset_sync") if each[1].startswith("offset_sync_")] == []
    pure = ("numpy", "offset_sync.translate.", "offset_sync_contents.alignment.")
    impure = {name for _, name in imported(LIB / "offset_sync_contents" / "alignment") if not name.startswith(pure)}
    assert impure <= {"__future__", "collections.abc", "dataclasses", "datetime", "enum", "typing"}
    of_tasks = {name for place, name in imported(LIB / "offset_sync_contents") if place in ("rows.py", "settings.py")}
    assert not any("kafka" in each for each in of_tasks)


def test_fingerprints_that_are_not_aligned_yet_tell_how_far_a_log_goes() -> None:
    tables, log = MemoryTables(), ("Y", "orders", 0)
    kept = {"cluster": "Y", "topic": "orders", "partition": 0, "start_offset": 7, "length": 5, "read_at": EPOCH}
    earlier = kept | {"start_offset": 70, "read_at": EPOCH - timedelta(hours=1)}
    add(tables, RECORD_RUNS, run(0, 9, "X", 0, place=log))
    add(tables, RECORD_FINGERPRINTS, earlier, kept)
    add(tables, LOG_INCARNATIONS, life("Y", 9, -1, TRUNCATED))
    found = highest_indexed(tables, TABLES)  # type: ignore[arg-type]
    assert found == {ClusterPartition("X", "orders", 0): 9, ClusterPartition(*log): 12}


@pytest.mark.parametrize("seeds", [range(6), range(6, 12)], ids=str)
def test_no_copy_is_on_a_read_list_whose_original_is_unread(seeds: range) -> None:
    assert sum(map(listed_of_history, seeds)) > 200


def listed_of_history(seed: int) -> int:
    """Return how many records were on lists of one history, both ways and as it was read; none of them was unread."""
    setting = fuzz(seed)
    told, rng = history(setting.workload, seed), np.random.default_rng(seed + 1)
    follower, count = Follower(told, setting.reading, setting.settings, rng), 0
    first_copy = np.full(len(told.original), 1 << 60)
    np.minimum.at(first_copy, told.of, told.copy)
    while not follower.is_done:
        follower.step()
        originals, copies = PartitionLog(follower.originals, ORIGIN), PartitionLog(follower.copies, COPIES)
        ways = (originals, copies, told.copy, told.identity), (copies, originals, told.original, first_copy)
        for source, target, offset, needs in ways:
            for committed in rng.integers(0, source.index.frontier + 1, 4).tolist():
                ranges = read_list(committed, 0, source, target, leader_epoch=7).read_list.ranges
                spans = [(s, s + n) for s, n in zip(ranges.start.tolist(), ranges.length.tolist(), strict=True)]
                rows = np.flatnonzero(np.isin(offset, list(offsets_in(spans))))
                assert (needs[rows] < committed).all(), seed
                count += len(rows)
    return count
