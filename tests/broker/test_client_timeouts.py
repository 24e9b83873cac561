"""Deadlines that run out while a broker is paused and resumed: the client survives whatever comes afterwards.

It is librdkafka's memory that such a deadline may spoil, so the asking is done by a process of its own.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
import time

import pytest

from broker.crafted_logs import create_topics
from offset_sync.kafka.topic_requests import LATEST, TopicRequests
from offset_sync.model.values import TopicPartition
from offset_sync_demo.kafka.brokers import EmbeddedCluster

pytestmark = [pytest.mark.broker, pytest.mark.timeout(300)]
PARTITIONS, ASKING_S, DEADLINES_S = 60, 8.0, (0.001, 0.01, 0.05, 0.2)


def test_answers_that_come_too_late_do_no_harm(clusters: dict[str, EmbeddedCluster], topic_name: str) -> None:
    cluster = clusters["dc2"]
    create_topics(cluster, {topic_name: PARTITIONS})
    command = [sys.executable, __file__, cluster.bootstrap_servers, topic_name]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as asking:
        while asking.poll() is None:
            cluster.pause()
            time.sleep(0.4)
            cluster.resume()
            time.sleep(0.3)
        said = asking.stdout.read() if asking.stdout is not None else ""
    assert asking.returncode == 0, f"ended with {asking.returncode}: {said}"
    answered, late = map(int, said.split()[-2:])
    assert answered > 0
    assert late > 0, "no deadline ran out, so nothing was tried"


def ask(servers: str, topic: str) -> None:
    """Ask from four threads where the logs end, then print how often that was answered, and how often not in time."""
    led_by_1 = {TopicPartition(topic, number): 1 for number in range(PARTITIONS)}
    counts, until = {True: 0, False: 0}, time.monotonic() + ASKING_S

    def repeat() -> None:
        requests = TopicRequests("dc1", {"bootstrap.servers": servers})
        for deadline in itertools.cycle(DEADLINES_S):
            if time.monotonic() > until:
                return
            found = requests.offsets(led_by_1, LATEST, time.monotonic() + deadline)
            counts[len(found) == PARTITIONS] += 1

    threads = [threading.Thread(target=repeat) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    print(counts[True], counts[False])


if __name__ == "__main__":
    ask(*sys.argv[1:])
