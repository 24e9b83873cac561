"""An application of Kafka Streams with a repartition topic."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from consumer.applications import Application, _jars_or_skip, _running
from offset_sync_demo.kafka.brokers import EmbeddedCluster


@contextmanager
def streams_counter(
    cluster: EmbeddedCluster, application: str, topics: tuple[str, str], folder: Path, *, protocol: str, guarantee: str
) -> Iterator[Application]:
    """Run an application of Kafka Streams that counts the records of one topic into another; it ends as usual."""
    jars = _jars_or_skip("streams", "kafka-streams-*.jar")
    words = ["StreamsCounter", cluster.bootstrap_servers, application, *topics]
    with _running(folder, "StreamsCounter", [*words, str(folder / "state"), protocol, guarantee], jars) as running:
        yield running
