"""Take a small installation as an earlier commit leaves it, into ``tests/golden/installation``.

git worktree add --detach ../before bfd6d35                                  # the last commit before the twelve rooms
ln -s "$PWD/.venv" ../before/.venv; ln -s "$PWD/jars" ../before/jars
PYTHONPATH=lib:tests/support .venv/bin/python tests/support/leaving/take_installation.py ../before

Brokers, mirror, producers and commits are today's; every job is that commit's, started by its spark-submit.sh. Its work
is left undone on purpose: both jobs die in a micro-batch that the tables hold and the checkpoint does not, sync_offsets
dies once more between a commit and its history, and then the clusters go on without any job.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from confluent_kafka import TopicPartition as ClientPartition

from broker.committed_offsets import Partition, commit, committed
from broker.installation import until
from leaving.installation_scene import AUDIT, ORDERS, PAYMENTS, Scene, opened
from leaving.kept_installation import ALIASES, pack
from offset_sync.kafka.requests import Committed
from offset_sync_demo.kafka.clients import admin_of, stable_ends
from offset_sync_demo.load.group_member import ReaderOptions
from offset_sync_demo.load.group_reader import GroupReader

DELETED = {"dc1": 40, "dc2": 42}
"""Where the log of orders-0 begins in the end: the same record on both sides."""
INTENTS = "checkpoints/sync_offsets.intents"
Commits = dict[str, dict[Partition, "int | tuple[int, str]"]]
JOBS = ("index_records", "sync_offsets")


def work(scene: Scene) -> None:
    """Let both jobs run while groups read, lag, carry metadata, are deleted and moved; then report and maintain."""
    scene.produce("dc1", "orders", 40)
    scene.produce("dc1", "audit-log", 8)
    scene.produce("dc1", "misc", 3)
    scene.produce_malformed()
    scene.mirror()  # a run of its own on both sides, which maintenance will cut
    move = ["--from", "dc1", "--to", "dc2", "--groups", "moved", "--planned"]
    with ExitStack() as stack:
        running = [stack.enter_context(scene.installation.started(job)) for job in JOBS]
        for alias in ALIASES:
            until(partial(indexed, scene, alias))
        with reading(scene):
            for number in range(4):
                play_round(scene, number)
        scene.run("cutover", "plan", *move)
        scene.run("cutover", "apply", *move)
        scene.run("report_status", "--once")
        for job in running:
            job.terminate()
            assert job.exit_code == 0, job.output()[-3000:]
    for alias, offset in DELETED.items():
        admin = admin_of(scene.clusters[alias])  # it has to live until the answer is there
        (answer,) = admin.delete_records([ClientPartition(*ORDERS[0], offset)]).values()
        answer.result(30)
    scene.run("maintain_tables", "--once")
    assert [min(indexed(scene, alias)) for alias in ALIASES] == list(DELETED.values()), "nothing was cut"


def indexed(scene: Scene, alias: str) -> list[int]:
    """Return where the runs of orders-0 begin."""
    rows = scene.installation.rows("record_runs", cluster=alias, topic="orders", partition=0)
    return [row["start_offset"] for row in rows if row["length"]]


@contextmanager
def reading(scene: Scene) -> Iterator[None]:
    """Let a group with a member read at dc1; in the end it has read everything and has left."""
    options = ReaderOptions(commit_interval=0.5)
    billing = GroupReader(scene.clusters["dc1"], "billing", ["orders", "payments"], options)
    billing.start()
    yield
    billing.wait_until(stable_ends(scene.clusters["dc1"], [*ORDERS, *PAYMENTS]))
    billing.stop()


def play_round(scene: Scene, number: int) -> None:
    """Produce, mirror and commit, and return once all of that is translated."""
    flow(scene)
    here: Commits = {
        "reports": {ORDERS[0]: 41 + 2 * number, ORDERS[1]: 12 + 3 * number, PAYMENTS[0]: 8 + 2 * number},
        "ledger": {ORDERS[0]: (42 + 3 * number, f"at {number}"), PAYMENTS[1]: (9 + 3 * number, f"at {number}")},
    }
    there: Commits = {"returns": {PAYMENTS[0]: (7 + 3 * number, "back"), PAYMENTS[1]: 5 + 2 * number}}
    if number == 0:
        here |= {"auditor": {AUDIT: scene.end("dc1", AUDIT)}, "audit-late": {AUDIT: 3}, "retired": {PAYMENTS[0]: 4}}
    if number == 3:
        here |= {"moved": {place: scene.end("dc1", place) for place in ORDERS}}
        delete(scene, "retired")
        until(lambda: scene.installation.rows("offset_commits", group_id="retired", is_tombstone=True))
    commit(scene.clusters["dc1"], here)
    commit(scene.clusters["dc2"], there)
    for group, offsets in {**here, **there}.items():
        until(partial(is_translated, scene, group, offsets))


def flow(scene: Scene) -> None:
    """Produce into the topics that are in use, in both clusters by turns, and mirror."""
    scene.produce("dc1", "orders", 6)
    for alias, count in (("dc1", 9), ("dc2", 7)):
        scene.produce(alias, "payments", count)
    scene.mirror()
    scene.produce("dc2", "payments", 2)
    scene.mirror()


def is_translated(scene: Scene, group: str, offsets: Mapping[Partition, int | tuple[int, str]]) -> bool:
    """Return whether an answer to each of these commits is written down."""
    wanted = {(*place, each if isinstance(each, int) else each[0]) for place, each in offsets.items()}
    rows = scene.installation.rows("offset_translations", group_id=group)
    return wanted <= {(row["topic"], row["partition"], row["source_offset"]) for row in rows}


def delete(scene: Scene, group: str) -> None:
    """Delete a group at dc1, with its committed offset."""
    admin = admin_of(scene.clusters["dc1"])  # it has to live until the answer is there
    admin.delete_consumer_groups([group])[group].result(30)


def crash(scene: Scene) -> None:
    """Kill each job where it hurts: its current work is in the tables or at a target, and not recorded."""
    flow(scene)
    scene.run("index_records", "--once", kill_at="index_records.after_runs")
    assert any(scene.is_unfinished(f"index_records/{alias}") for alias in ALIASES)

    before = held(scene, "ledger")
    commit(scene.clusters["dc1"], {"ledger": {ORDERS[0]: (58, "at 58"), PAYMENTS[1]: (28, "at 28")}})
    scene.run("sync_offsets", "--once", kill_at="sync_offsets.after_commit")
    intents = "".join(each.read_text() for each in (scene.installation.folder / INTENTS).glob("*.json"))
    assert "ledger" in intents
    assert before != held(scene, "ledger"), "the other target was quicker; try again"

    # Without dc2 the fresh commit there is not read: the next driver finds it in the log.
    scene.clusters["dc2"].stop()
    commit(scene.clusters["dc1"], {"reports": {ORDERS[0]: 55, PAYMENTS[0]: 21}})
    scene.run("sync_offsets", "--once", kill_at="sync_offsets.after_history")
    assert scene.is_unfinished("sync_offsets/dc1")
    assert scene.installation.rows("offset_commits", group_id="reports", committed_offset=55)
    scene.clusters["dc2"].start()


def held(scene: Scene, group: str) -> dict[Partition, Committed]:
    """Return what a group has at dc2."""
    return committed(scene.clusters["dc2"], [group])[group]


def go_on(scene: Scene) -> None:
    """Produce, mirror, commit and delete without any job."""
    with reading(scene):
        flow(scene)
    scene.produce_malformed()
    scene.produce("dc1", "misc", 2)
    scene.mirror()
    commit(scene.clusters["dc1"], {"ledger": {ORDERS[0]: (66, "at 66")}, "newcomer": dict.fromkeys(PAYMENTS, 33)})
    commit(scene.clusters["dc1"], {"reports": {ORDERS[0]: 60, ORDERS[1]: 30}})
    commit(scene.clusters["dc2"], {"returns": {PAYMENTS[0]: (40, "back"), PAYMENTS[1]: 38}})
    commit(scene.clusters["dc2"], {"moved": {place: scene.end("dc2", place) - 4 for place in ORDERS}})


def assert_neutral(folder: Path) -> None:
    """Raise AssertionError where a file says in which folder it was made."""
    kept = [each for name in ("tables", "checkpoints", "dc1/logs", "dc2/logs") for each in (folder / name).rglob("*")]
    wrong = [each for each in kept if each.is_file() and str(folder).encode() in each.read_bytes()]
    assert wrong == [], wrong


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with opened(folder, Path(sys.argv[1]).resolve()) as scene:
            for act in (work, crash, go_on):
                act(scene)
                print(f"{act.__name__}: done")
            for cluster in scene.clusters.values():
                cluster.stop()
        assert_neutral(folder)
        pack(folder)
