"""Make jars/broker/classes.jsa: the broker's classes as the JVM has them in memory, see ``jvm_classes.py``.

A broker that starts from it takes two thirds of the processor time. What starts without it starts as before.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from jvm_classes import REPO, WARM_UP, Archive, say

_JARS = REPO / "jars" / "broker"
_STOP_SECONDS = 60.0


def main() -> None:
    """Bring the archive up to date, of the jars that were installed whatever the environment names."""
    sys.path.insert(0, str(REPO / "lib"))
    from offset_sync_demo.kafka.broker_files import CLASS_ARCHIVE, JARS_VARIABLE

    archive = Archive(
        "Archive of the broker's classes", _JARS / CLASS_ARCHIVE, _JARS / "archive", _JARS, Path(__file__)
    )
    archive.bring_up_to_date(lambda: {**os.environ, JARS_VARIABLE: str(_JARS)})


def warm_up() -> None:
    """Do in one broker what is done in each; return when it has ended, which is when it writes the archive."""
    from confluent_kafka import Consumer, Producer, TopicPartition
    from confluent_kafka.cimpl import NewTopic

    from offset_sync_demo.kafka.broker_files import CLASS_ARCHIVE, find_jars
    from offset_sync_demo.kafka.brokers import kill_clusters, start_clusters
    from offset_sync_demo.kafka.clients import admin_of, client_options

    archive = find_jars() / CLASS_ARCHIVE
    say("starting a broker")
    with tempfile.TemporaryDirectory() as folder:
        clusters = start_clusters(["dc1"], Path(folder), java_options=[f"-XX:ArchiveClassesAtExit={archive}"])
        (cluster,) = clusters.values()
        try:
            admin, place = admin_of(cluster), TopicPartition("t", 0, 1)
            say("writing, reading and committing")
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
            say("writing the archive")
            cluster.stop(_STOP_SECONDS)
        finally:
            kill_clusters(clusters)


if __name__ == "__main__":
    warm_up() if WARM_UP in sys.argv else main()
