"""A real MirrorMaker 2 that stamps nothing, with its own names: every translated offset judged by contents.

It copies a topic with records that look alike and one with transactions, some of them aborted, both of which it copies
as any record, is killed under load, and sends again what it had not noted.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from broker.committed_offsets import admin_for, commit, committed
from broker.crafted_logs import Clusters, create_topics
from broker.installation import Installation, install, until
from broker.job import Job
from contents.unstamped_mirror import (
    PAID,
    PLAIN,
    RECORDS,
    TOPICS,
    TRANSACTIONS,
    first_unread,
    mirror_maker,
    produce_paid,
    produce_plain,
    read,
)
from offset_sync.config import load_config
from offset_sync.jobs.check import find_all
from offset_sync.model.finding import Level
from offset_sync.model.values import TopicPartition
from offset_sync_demo.kafka.mirror_maker import MirrorMaker2

pytestmark = [
    pytest.mark.versions,
    pytest.mark.in_order,
    pytest.mark.timeout(3600),
]

KILLED_AFTER = 1_000


def copy_of(topic: str) -> str:
    return f"dc1.{topic}"


@dataclass
class Stage:
    """What was written, and the jobs beside; *mirrors* are the MirrorMakers so far."""

    clusters: Clusters
    installation: Installation
    folder: Path
    stack: ExitStack
    mirrors: list[MirrorMaker2] = field(default_factory=list)

    def start_mirror(self) -> None:
        mirror = MirrorMaker2(self.folder / f"mirror-{len(self.mirrors)}", mirror_maker(self.clusters), self.folder)
        self.stack.callback(mirror.stop)
        self.mirrors.append(mirror)

    def end(self, alias: str, topic: str) -> int:
        """Return where a log ends; 0 where it is not there, or has no leader yet."""
        place = TopicPartition(topic, 0)
        found = admin_for(self.clusters[alias]).ends([place])
        return found[place].log_end if place in found else 0

    def indexed_to(self, alias: str, topic: str) -> int:
        rows = self.installation.rows("record_runs", cluster=alias, topic=topic)
        return max((row["start_offset"] + row["length"] for row in rows), default=0)


@pytest.fixture(scope="module")
def stage(
    soiled_clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stage]:
    clusters = soiled_clusters
    create_topics(clusters["dc1"], dict.fromkeys(TOPICS, 1))
    folder = tmp_path_factory.mktemp("fingerprint")
    servers = {alias: clusters[alias].bootstrap_servers for alias in ("dc1", "dc2")}
    installation = install(
        folder / "installation", servers, list(TOPICS), mirror={"names": "mm2"}, extensions={"contents": {}}
    )
    with ExitStack() as stack:
        yield Stage(clusters, installation, folder, stack)


@pytest.fixture(scope="module")
def load(stage: Stage) -> Iterator[Job]:
    """Both topics are written while MirrorMaker copies and the index reads; it is killed once, and restarts."""
    stop = threading.Event()
    writers = [
        threading.Thread(target=each, args=(stage.clusters["dc1"], stop)) for each in (produce_plain, produce_paid)
    ]
    with stage.installation.started("index_records") as job:
        stage.start_mirror()
        until(lambda: stage.end("dc2", copy_of(PLAIN)) >= 0)
        for each in writers:
            each.start()
        until(lambda: stage.mirrors[0].check() or stage.end("dc2", copy_of(PLAIN)) > KILLED_AFTER)
        os.kill(stage.mirrors[0].pid, signal.SIGKILL)
        stage.mirrors[0].stop()
        stage.start_mirror()
        yield job
        stop.set()
        for each in writers:
            each.join()


def all_copied(stage: Stage) -> bool:
    stage.mirrors[-1].check()
    newest = {topic: read(stage.clusters["dc1"], topic)[0][-1][1] for topic in TOPICS}
    return all(
        stage.end("dc2", copy_of(topic)) and read(stage.clusters["dc2"], copy_of(topic))[0][-1][1] == newest[topic]
        for topic in TOPICS
    )


def test_all_is_copied_some_of_it_again_and_all_of_it_is_told(stage: Stage, load: Job) -> None:
    until(lambda: stage.end("dc1", PLAIN) >= RECORDS and stage.end("dc1", PAID) >= 4 * TRANSACTIONS, job=load)
    until(lambda: all_copied(stage), job=load)
    copies, end = read(stage.clusters["dc2"], copy_of(PLAIN))
    originals, _ = read(stage.clusters["dc1"], PLAIN)
    assert len(copies) > len(originals)  # sent again
    for topic in TOPICS:
        until(lambda topic=topic: stage.indexed_to("dc2", copy_of(topic)) == stage.end("dc2", copy_of(topic)), job=load)
    rows = stage.installation.rows("record_runs", cluster="dc2")
    exact = sum(row["length"] for row in rows if row["origin"] == "dc1" and row["topic"] == copy_of(PLAIN))
    assert exact >= 0.9 * end
    assert stage.installation.rows("record_fingerprints", topic=copy_of(PLAIN))
    load.terminate()
    assert load.exit_code == 0, load.output()[-3000:]


def places(length: int, count: int) -> list[int]:
    """Return offsets from all over a log, with its end."""
    return sorted({*range(0, length, max(1, length // count)), length})


@pytest.mark.parametrize("is_forward", [True, False], ids=["forward", "backward"])
def test_no_answer_is_ahead_by_contents_and_the_others_repeat_from_a_copy_that_is_not_certain(
    stage: Stage, load: Job, is_forward: bool
) -> None:
    here, there = ("dc1", "dc2") if is_forward else ("dc2", "dc1")
    groups: dict[str, tuple[str, int]] = {}
    wanted: dict[str, dict[tuple[str, int], int]] = {}
    logs = {
        topic: (read(stage.clusters["dc1"], topic), read(stage.clusters["dc2"], copy_of(topic))) for topic in TOPICS
    }
    for topic in TOPICS:
        _, end = logs[topic][0 if is_forward else 1]
        name = topic if is_forward else copy_of(topic)
        for offset in places(end, 40):
            group = f"{'forth' if is_forward else 'back'}-{topic}-{offset}"
            groups[group] = (topic, offset)
            wanted[group] = {(name, 0): offset}
    commit(stage.clusters[here], wanted)
    assert stage.installation.sync() == []
    answers = committed(stage.clusters[there], groups)
    unknown = {topic: first_uncertain(stage, topic) for topic in TOPICS}
    for group, (topic, offset) in groups.items():
        (originals, _), (copies, copies_end) = logs[topic]
        source, target = (originals, copies) if is_forward else (copies, originals)
        target_end = copies_end if is_forward else originals[-1][0] + 1
        answer = answers[group][(copy_of(topic) if is_forward else topic, 0)].offset
        best = first_unread(source, offset, target)
        assert best < 0 or answer <= best, (group, answer, best)
        exact = best if best >= 0 else target_end
        if is_forward:
            assert answer >= min(exact, unknown[topic]), (group, answer, best, unknown)
        elif offset == source[-1][0] + 1:
            assert answer >= exact, (group, answer, best, target_end)
    assert not stage.installation.rows("offset_translations", outcome="WITHHELD")


def first_uncertain(stage: Stage, topic: str) -> int:
    rows = stage.installation.rows("record_runs", cluster="dc2", topic=copy_of(topic))
    return min((row["start_offset"] for row in rows if row["length"] and not row["origin"]), default=1 << 62)


def test_a_new_start_goes_on_where_the_one_before_was(stage: Stage, load: Job) -> None:
    before = stage.installation.rows("record_runs", cluster="dc2", topic=copy_of(PLAIN))
    written = stage.end("dc1", PLAIN)
    produce_plain(stage.clusters["dc1"], threading.Event(), records=200)
    until(lambda: all_copied(stage) and stage.end("dc1", PLAIN) == written + 200)
    assert stage.installation.index() == []
    end = stage.end("dc2", copy_of(PLAIN))
    assert stage.indexed_to("dc2", copy_of(PLAIN)) == end
    after = [
        row for row in stage.installation.rows("record_runs", cluster="dc2", topic=copy_of(PLAIN)) if row not in before
    ]
    assert {row["origin"] for row in after if row["length"]} == {"dc1"}
    assert min(row["start_offset"] for row in after) > 0  # not from the beginning
    assert stage.installation.maintain() == []
    findings = find_all(load_config(stage.installation.config_file))
    assert [each for each in findings if each.level is Level.FAIL] == []


def test_a_group_that_has_read_all_is_in_sync(stage: Stage, load: Job) -> None:
    assert stage.installation.sync() == []  # reads what it has committed itself
    stage.installation.report()
    rows = [row for row in stage.installation.rows("sync_status") if row["group_id"].startswith("forth-")]
    assert len(rows) == len({row["group_id"] for row in rows})
    tail = {row["group_id"]: row for row in rows if row["source_lag"] == 0}
    assert tail
    assert {row["status"] for row in tail.values()} == {"InSync"}, {row["reason"] for row in tail.values()}
