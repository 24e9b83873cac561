"""Make archives of classes as the JVM has them in memory (class data sharing, JEP 350), for brokers and for Spark.

A JVM maps its archive instead of reading, checking and linking thousands of classes: a broker starts with two thirds of
the processor time, a driver with half. An archive fits the Java and the jars that it was made with; with others the JVM
ignores it. With names, as in ``class_archives.py spark``, only those: an image needs no brokers. conf/spark-env.sh has
drivers use that of Spark.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(1, str(Path(__file__).resolve().parent.parent / "lib"))

import stamp
from offset_sync_demo.kafka.broker_files import CLASS_ARCHIVE
from prerequisites import find_java
from progress import run_shown

REPO = Path(__file__).resolve().parent.parent
_WARM_UP = "--warm-up"
_STEP = "== "
_STOP_SECONDS = 60.0


def main(names: Sequence[str] = tuple(sys.argv[1:])) -> None:
    """Make the archives that are not current; where that fails, programs start without."""
    for name in names or ("broker", "spark"):
        _make(name, REPO / "jars" / name)


def _make(name: str, folder: Path) -> None:
    archive, made = folder / CLASS_ARCHIVE, folder / "archive"
    made_from = _made_from(name, folder)
    if stamp.is_current(made, made_from):
        return
    made.mkdir(parents=True, exist_ok=True)
    stamp.forget(made)
    archive.unlink(missing_ok=True)
    title, log = f"Archive of {name}'s classes", REPO / ".venv" / f"install-{name}-archive.log"
    try:
        run_shown(title, [sys.executable, __file__, _WARM_UP, name], _step_of, log)
    except SystemExit as failure:
        print(failure, flush=True)
    if not archive.is_file():
        print(f"{title}: not made, so starting takes longer; see {log}", flush=True)
    stamp.remember(made, made_from)  # also without one: what failed now fails again until something changes


def warm_up_broker(archive: Path) -> None:
    """Do in one broker what is done in each; return when it has ended, which is when it writes the archive."""
    from confluent_kafka import Consumer, Producer, TopicPartition
    from confluent_kafka.cimpl import NewTopic

    from offset_sync_demo.kafka.broker_files import JARS_VARIABLE
    from offset_sync_demo.kafka.brokers import kill_clusters, start_clusters
    from offset_sync_demo.kafka.clients import admin_of, client_options

    os.environ[JARS_VARIABLE] = str(archive.parent)
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


def warm_up_spark(archive: Path) -> None:
    """Start a driver's session as jobs do, with one micro-batch; return when its JVM has ended."""
    from bundle import build_zip
    from spark_options import split_options
    from submit import build_command

    quick = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ArchiveClassesAtExit={archive} -Xlog:cds*=off"
    options = split_options(["--master", "local[2]", "--driver-java-options", quick])
    build_zip(REPO / "lib", REPO / "dist" / "offset_sync.zip")
    # As conf/spark-env.sh has it where there is an archive.
    os.environ.update(build_command(REPO, "sync_offsets", options, os.environ).environment)
    os.environ.update({"SPARK_CONF_DIR": str(REPO / "conf" / "none"), "OFFSET_SYNC_DRIVER": ""})
    from offset_sync.jobs.spark_session import open_session

    _say("starting Spark")
    session = open_session("classes", reads_internal_topics=True)
    _say("running a micro-batch")
    with tempfile.TemporaryDirectory() as folder:
        rows = session.readStream.format("rate").load().selectExpr("value", "cast(value AS string) AS text")
        writer = rows.writeStream.foreachBatch(lambda batch, _number: print(batch.collect()))
        writer.option("checkpointLocation", folder).trigger(availableNow=True).start().awaitTermination()
    gateway: Any = session.sparkContext._gateway
    session.stop()
    _say("writing the archive")
    gateway.shutdown()
    gateway.proc.stdin.close()  # for which the JVM waits
    gateway.proc.wait()


def _made_from(name: str, folder: Path) -> str:
    version = subprocess.run([find_java(), "-version"], capture_output=True, text=True, check=True).stderr
    jars = sorted(f"{jar.name} {jar.stat().st_size}" for jar in folder.glob("*.jar"))
    pinned = (REPO / "requirements" / "runtime.lock").read_text() if name == "spark" else ""
    return stamp.digest(version, str(REPO), Path(__file__).read_text(), pinned, *jars)


def _say(step: str) -> None:
    print(_STEP + step, flush=True)


def _step_of(line: str) -> str | None:
    return line.removeprefix(_STEP) if line.startswith(_STEP) else None


if __name__ == "__main__":
    if sys.argv[1:2] == [_WARM_UP]:
        {"broker": warm_up_broker, "spark": warm_up_spark}[sys.argv[2]](REPO / "jars" / sys.argv[2] / CLASS_ARCHIVE)
    else:
        main()
