"""What the command check makes of brokers' settings and clocks, of clusters' ids and of the places of the tables."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fakes.newest_logs import known_config, silent_cluster, wrong
from offset_sync.config import Config
from offset_sync.jobs.check import check_places
from offset_sync.jobs.checks.facts import judge_clock, judge_id, judge_settings
from offset_sync.model.finding import Level
from offset_sync.tables.files import Files

NOW_MS = 1_795_000_000_000


@pytest.mark.parametrize(
    ("newest_ms", "level", "text"),
    [
        (NOW_MS + 3_600_000, Level.WARN, "is 1 h in the future: a clock is wrong"),
        (NOW_MS + 4_000, Level.OK, "not ahead of ours"),
        (NOW_MS - 60_000, Level.OK, "1 min old"),
        (None, Level.SKIP, "sync_offsets measures it"),
    ],
)
def test_a_commit_of_a_time_that_is_still_to_come_says_that_a_clock_is_wrong(
    newest_ms: int | None, level: Level, text: str
) -> None:
    found = judge_clock(known_config(), silent_cluster(newest_commit_ms=newest_ms), NOW_MS)
    assert (found.level, found.place, found.check) == (level, "clusters.dc2", "clock")
    assert text in found.text


def settings(found: dict[str, str] | str, brokers: int = 1, **sections: Any) -> dict[str, str]:
    return wrong(judge_settings(known_config(**sections), silent_cluster(settings=found, brokers=brokers)))


@pytest.mark.parametrize(
    ("found", "level", "word"),
    [
        ({"cleanup.policy": "compact,delete"}, "FAIL", "cleanup.policy=compact,delete: brokers forget"),
        ({"cleanup.policy": "delete"}, "FAIL", "set it to compact"),
        ("TOPIC_AUTHORIZATION_FAILED", "SKIP", "unknown without DescribeConfigs; make sure that cleanup.policy is"),
        ({"cleanup.policy": "compact"}, None, ""),
        ({}, None, ""),  # no group has committed yet, or commits are polled
    ],
)
def test_a_log_of_commits_from_which_retention_deletes_fails(
    found: dict[str, str] | str, level: str | None, word: str
) -> None:
    said = wrong(judge_settings(known_config(), silent_cluster(settings=GOOD, commit_log=found)))
    assert list(said) == ([f"{level} __consumer_offsets"] if level else [])
    assert all(word in text for text in said.values())


GOOD = {"offsets.retention.minutes": "10080", "unclean.leader.election.enable": "false"}


@pytest.mark.parametrize(
    ("changed", "level", "word"),
    [
        ({"offsets.retention.minutes": "720"}, "FAIL", "sync.refresh_interval (12h)"),
        ({"offsets.retention.minutes": "1439"}, "WARN", "sync.refresh_interval (12h)"),
        ({"unclean.leader.election.enable": "true"}, "WARN", "set it to false"),
        ({"offsets.topic.replication.factor": "1"}, "WARN", "set it to 3"),
    ],
)
def test_a_setting_on_which_the_promise_leans_is_told_with_what_it_should_be(
    changed: dict[str, str], level: str, word: str
) -> None:
    assert settings(GOOD) == {}
    found = settings({**GOOD, **changed}, brokers=3)
    assert list(found) == [f"{level} broker settings"]
    assert next(iter(changed)) in found[f"{level} broker settings"]
    assert word in found[f"{level} broker settings"]


def test_the_time_of_copies_matters_to_one_strategy_only() -> None:
    appended = {**GOOD, "log.message.timestamp.type": "LogAppendTime"}
    assert settings(appended) == {}
    timed = settings(appended, topics={"include": ["orders"], "strategy": "timestamp"})
    assert "set CreateTime" in timed["WARN broker settings"]


def test_the_room_for_read_lists_matters_where_groups_get_some() -> None:
    lists = {"read_lists": {"groups": ["billing"]}}
    small = {**GOOD, "offset.metadata.max.bytes": "4095"}
    assert settings(small) == settings(small | {"offset.metadata.max.bytes": "4096"}, sync=lists) == {}
    found = settings(small, sync=lists)
    assert list(found) == ["WARN broker settings"]
    text = found["WARN broker settings"]
    assert text.startswith("offset.metadata.max.bytes=4095: longer read lists are refused")
    assert text.endswith("; set it to 4096")
    (untold,), (told,) = settings("NO").values(), settings("NO", sync=lists).values()
    assert told == f"{untold}, and offset.metadata.max.bytes at least 4096"


def test_settings_that_may_not_be_read_are_skipped_and_said_what_they_should_be() -> None:
    found = settings("CLUSTER_AUTHORIZATION_FAILED")
    assert list(found) == ["SKIP broker settings"]
    assert "offsets.retention.minutes is more than 1d" in found["SKIP broker settings"]


def of_ids(said: str, preset: str = "redpanda-migrator", **origins: str) -> dict[str, str]:
    known = known_config(mirror={"preset": preset}).with_ids(origins)
    found = judge_id(known, silent_cluster(cluster_id=said))
    return {f"{each.level.value} {each.check}": each.text for each in found}


def test_a_clusters_own_id_is_told_beside_what_the_configuration_has() -> None:
    assert of_ids("id-2") == {"OK cluster id": "id-2, the value that redpanda-migrator-provenance must have"}
    assert of_ids("id-2", dc2="id-2") == of_ids("id-2")
    assert "clusters.dc2.origin is id-9" in of_ids("id-2", dc2="id-9")["WARN cluster id"]
    assert of_ids("id-2", preset="offset-sync") == {}


def at(root: str, checkpoints: str) -> Config:
    return known_config(tables={"root": root, "checkpoints": checkpoints})


def test_a_place_that_can_be_written_to_is_left_as_it_was(tmp_path: Path) -> None:
    found = list(check_places(at(f"{tmp_path}/tables", f"file://{tmp_path}/checkpoints")))
    assert [(each.level, each.place, each.check) for each in found] == [
        (Level.OK, "tables", "root"),
        (Level.OK, "tables", "checkpoints"),
    ]
    assert "the jobs will create in" in found[0].text
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_to_fails(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    root, checkpoints = check_places(at(f"{tmp_path}/file/tables", str(tmp_path)))
    assert (root.level, checkpoints.level) == (Level.FAIL, Level.OK)
    assert "Not a directory" in root.text


@pytest.mark.parametrize(
    ("root", "reason"),
    [("hdfs://127.0.0.1:1/tables", "Connection refused"), ("gopher://name/tables", "Unknown scheme: gopher")],
)
def test_a_place_elsewhere_that_cannot_be_written_to_fails_with_the_reason(root: str, reason: str) -> None:
    found = check_places(at(root, f"{root}-checkpoints"))
    told = [(each.level, each.check, " cannot be written (" in each.text, reason in each.text) for each in found]
    assert told == [(Level.FAIL, check, True, True) for check in ("root", "checkpoints")]


def test_a_place_elsewhere_that_can_be_written_to_is_left_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Elsewhere than on this disk, though below it: as Hadoop's settings may say of a path without a scheme."""
    files = Files(default=f"file://{tmp_path}")
    monkeypatch.setattr("offset_sync.jobs.check.files_of", lambda _config: files)
    found = check_places(at("/tables", "/checkpoints"))
    assert [(each.level, each.text) for each in found] == [(Level.OK, "/tables"), (Level.OK, "/checkpoints")]
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_storage_that_is_slow_is_a_warning_that_says_how_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, clock = (
        Files(default=f"file://{tmp_path}"),
        SimpleNamespace(monotonic=iter([10.0, 12.2, 20.0, 20.3]).__next__),
    )
    monkeypatch.setattr("offset_sync.jobs.check.files_of", lambda _config: files)
    monkeypatch.setattr("offset_sync.jobs.check.time", clock)
    root, checkpoints = check_places(at("/tables", "/checkpoints"))
    assert (root.level, checkpoints.level) == (Level.WARN, Level.OK)
    assert root.text.startswith("/tables is slow, 2.2 s for each request: a driver starts, takes over and moves groups")
