"""Make jars/broker/classes.jsa: the broker's classes as the JVM has them in memory, see ``class_archive.py``.

A broker that starts from it takes two thirds of the processor time. What starts without it starts as before.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import stamp
from prerequisites import find_java
from progress import run_shown

REPO = Path(__file__).resolve().parent.parent
LOG = REPO / ".venv" / "install-broker-archive.log"
_WARM_UP = "--warm-up"
_STEP = "== "
_STOP_SECONDS = 60.0


def main() -> None:
    """Bring the archive up to date; where none can be made, say so and leave it at that."""
    folder = REPO / "jars" / "broker"
    jars = sorted(f"{jar.name} {jar.stat().st_size}" for jar in folder.glob("*.jar"))
    version = subprocess.run([find_java(), "-version"], capture_output=True, text=True, check=True).stderr
    archive, made = folder / "classes.jsa", folder / "archive"
    made_from = stamp.digest(version, str(REPO), Path(__file__).read_text(), *jars)
    made.mkdir(exist_ok=True)
    if stamp.is_current(made, made_from):
        return
    stamp.forget(made)
    archive.unlink(missing_ok=True)
    try:
        run_shown("Archive of the broker's classes", [sys.executable, __file__, _WARM_UP], _step_of, LOG)
    except SystemExit as failure:
        print(failure, flush=True)
    if not archive.is_file():
        print(f"Archive of the broker's classes: not made, so brokers take longer to start; see {LOG}", flush=True)
    stamp.remember(made, made_from)  # also without one: what failed now fails again until something changes


def _step_of(line: str) -> str | None:
    return line.removeprefix(_STEP) if line.startswith(_STEP) else None


def _say(step: str) -> None:
    print(_STEP + step, flush=True)


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


if __name__ == "__main__":
    warm_up() if _WARM_UP in sys.argv else main()
