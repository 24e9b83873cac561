"""The driver that comes after another one: in another process, or in the same when it restarts."""

from __future__ import annotations

import argparse
import ctypes
import gc
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import cimpl

from broker.committed_offsets import Partition, commit, committed
from broker.crafted_logs import Clusters, copied_log, create_topics, native_log, write_log
from broker.installation import Installation, install, until
from offset_sync.config import load_config
from offset_sync.jobs.sync_offsets import sync_offsets
from offset_sync.jobs.sync_run import Renewal
from offset_sync.state import lease
from offset_sync.state.lease import Lease
from offset_sync.tables.store import TableStore

pytestmark = [pytest.mark.broker, pytest.mark.timeout(900)]

TOPIC = "driver-lives"
PLACE: Partition = (TOPIC, 0)
SHIFT, COUNT = 3, 50


@pytest.fixture(scope="module")
def installation(clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    for alias in ("dc1", "dc2"):
        create_topics(clusters[alias], {TOPIC: 1})
    write_log(clusters["dc1"], {PLACE: native_log("dc1", COUNT)})
    write_log(clusters["dc2"], {PLACE: [*[None] * SHIFT, *copied_log("dc1", range(COUNT), first=SHIFT)]})
    servers = {alias: clusters[alias].bootstrap_servers for alias in ("dc1", "dc2")}
    installation = install(tmp_path_factory.mktemp("lives"), servers, [TOPIC], sync={"trigger_interval": "200ms"})
    assert installation.index() == []
    return installation


def test_once_writes_nothing_before_the_driver_that_never_said_that_it_ended_is_over(
    clusters: Clusters, installation: Installation, group_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Lease(TableStore(str(installation.folder / "tables")), "sync_offsets", threading.Event()).claim()
    monkeypatch.setattr(lease, "SETTLE_S", 15.0)
    commit(clusters["dc1"], {group_name: {PLACE: 10}})
    began = time.time()
    assert installation.sync() == []
    assert installation.last_translation(group_name)["translated_at"].timestamp() >= began + 15
    assert stands(clusters, group_name) == 10 + SHIFT


def test_a_driver_that_restarts_in_its_process_goes_on_as_the_same_driver(
    clusters: Clusters, installation: Installation, group_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = [threading.Event() for _ in range(3)]
    lives = iter(ready)
    gc.collect()  # what earlier tests have left goes at any time
    of_clients, of_python = threads()

    def begin_again_at_once(self: Renewal, stop: threading.Event, is_ready: threading.Event) -> None:
        mine = next(lives)
        until(is_ready.is_set)
        mine.set()
        if mine is not ready[-1]:
            least = 10 * (ready.index(mine) + 1) + SHIFT  # the next commit may be answered before we look
            until(lambda: (stands(clusters, group_name) or 0) >= least)
            self._over.set()

    monkeypatch.setattr(Renewal, "run", begin_again_at_once)
    stop, epochs = threading.Event(), len(claims(installation))
    arguments = argparse.Namespace(once=False, dry_run=False, no_writes=False)
    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(sync_offsets, load_config(installation.config_file), arguments, stop)
        try:
            for number, is_ready in enumerate(ready, 1):
                commit(clusters["dc1"], {group_name: {PLACE: 10 * number}})
                until(lambda number=number: stands(clusters, group_name) == 10 * number + SHIFT)
                until(is_ready.is_set)  # its watch looks now and then, and an answer may be quicker
        finally:
            stop.set()  # else a failure would wait for the job for ever
        assert job.result() == []
    # Nothing of the three jobs is left.
    until(lambda: threads()[0] <= of_clients and threads()[1] == of_python)
    assert len(claims(installation)) == epochs + 1
    offsets = [row["target_offset"] for row in installation.translations(group_id=group_name, outcome="COMMITTED")]
    assert offsets == [10 + SHIFT, 20 + SHIFT, 30 + SHIFT]


def threads() -> tuple[int, list[str]]:
    """Return how many threads librdkafka's clients have in this process, and the names of Python's.

    Those are left out in which py4j waits for the JVM to call a function of foreachBatch.
    """
    of_clients: int = ctypes.CDLL(cimpl.__file__).rd_kafka_thread_cnt()
    mine = [each for each in threading.enumerate() if not _is_py4j(each)]
    return of_clients, sorted(each.name for each in mine)


def _is_py4j(thread: threading.Thread) -> bool:
    return type(getattr(getattr(thread, "_target", None), "__self__", None)).__module__.startswith("py4j")


def stands(clusters: Clusters, group: str) -> int | None:
    value = committed(clusters["dc2"], [group])[group].get(PLACE)
    return None if value is None else value.offset


def claims(installation: Installation) -> set[int]:
    return {row["epoch"] for row in installation.rows("drivers", job="sync_offsets")}
