"""Make jars/broker/classes.jsa: the broker's classes as the JVM has them in memory (class data sharing, JEP 350).

A broker maps it instead of reading, checking and linking thousands of classes, and starts with two thirds of the
processor time. The archive fits the Java and the jars it was made with; with others the JVM ignores it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import stamp
from prerequisites import find_java
from progress import run_shown

REPO = Path(__file__).resolve().parent.parent
_JARS = REPO / "jars" / "broker"
_LOG = REPO / ".venv" / "install-broker-archive.log"
_TITLE = "Archive of the broker's classes"
_WARM_UP = "--warm-up"
_STEP = "== "
_STOP_SECONDS = 60.0


def main() -> None:
    """Make the archive of the installed jars unless it is current; where that fails, brokers start without one."""
    sys.path.insert(0, str(REPO / "lib"))
    from offset_sync_demo.kafka.broker_files import CLASS_ARCHIVE, JARS_VARIABLE

    archive, made, made_from = _JARS / CLASS_ARCHIVE, _JARS / "archive", _made_from()
    if stamp.is_current(made, made_from):
        return
    made.mkdir(parents=True, exist_ok=True)
    stamp.forget(made)
    archive.unlink(missing_ok=True)
    try:
        command = [sys.executable, __file__, _WARM_UP]
        run_shown(_TITLE, command, _step_of, _LOG, environment={**os.environ, JARS_VARIABLE: str(_JARS)})
    except SystemExit as failure:
        print(failure, flush=True)
    if not archive.is_file():
        print(f"{_TITLE}: not made, so starting takes longer; see {_LOG}", flush=True)
    stamp.remember(made, made_from)  # also without one: what failed now fails again until something changes


def warm_up() -> None:
    """Do in one broker what is done in each; return when it has ended, which is when it writes the archive."""
    from confluent_kafka import Consumer, Producer, TopicPartition
    from confluent_kafka.cimpl import NewTopic

    from offset_sync_demo.kafka.broker_files import CLASS_ARCHIVE, find_jars
    from offset_sync_demo.kafka.brokers import kill_clusters, start_clusters
    from offset_sync_demo.kafka.clients import admin_of, client_options

    archive = find_jars() / CLASS_ARCHIVE
    _say("starting a broker")
    with tempfile.TemporaryDirectory() as folder:
        clusters = start_clusters(["dc1"], Path(folder), java_options=[f"-XX:ArchiveClassesAtExit={archive}"])
        (cluster,) = clusters.values()
        try:
            admin, place = admin_of(cluster), TopicPartition("t", 0, 1)
            _say("writing, reading and committing")
            producer = Producer(client_options(cluster.bootstrap_servers))
            (created,) = admin.create_topics([NewTopic("t", 1)]).values()
            created.result(60)
            producer.produce("t", b"v")
            producer.flush(60)
            consumer = Consumer(client_options(cluster.bootstrap_servers) | {"group.id": "g"})
            consumer.assign([TopicPartition("t", 0, 0)])
            consumer.consume(1, 60)
            consumer.commit(offsets=[place], asynchronous=False)
            consumer.close()
            _say("writing the archive")
            cluster.stop(_STOP_SECONDS)
        finally:
            kill_clusters(clusters)


def _made_from() -> str:
    version = subprocess.run([find_java(), "-version"], capture_output=True, text=True, check=True).stderr
    jars = sorted(f"{jar.name} {jar.stat().st_size}" for jar in _JARS.glob("*.jar"))
    return stamp.digest(version, str(REPO), Path(__file__).read_text(), *jars)


def _say(step: str) -> None:
    print(_STEP + step, flush=True)


def _step_of(line: str) -> str | None:
    return line.removeprefix(_STEP) if line.startswith(_STEP) else None


if __name__ == "__main__":
    warm_up() if _WARM_UP in sys.argv else main()
