"""Copies under MirrorMaker's names on real brokers, both directions at once; `test_mirrormaker` moves groups there.

Both clusters produce into ``named``. At dc1 a group reads ``named`` and ``dc2.named``, at dc2 ``dc1.named`` and
``named``.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from confluent_kafka import Producer

from broker.committed_offsets import commit, committed
from broker.crafted_logs import Clusters, create_topics, write_log
from broker.installation import Installation, install
from offset_sync.config import load_config
from offset_sync.jobs.check import find_all
from offset_sync.model.finding import Level
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import client_options

pytestmark = [pytest.mark.in_order, pytest.mark.timeout(900)]
TOPIC, GROUP, BEGAN_MS = "named", "namer", 1_795_000_000_000
OWN, COPY = (TOPIC, 0), {"dc1": ("dc2.named", 0), "dc2": ("dc1.named", 0)}
"""Where each cluster produces, and where it has what the other one has produced."""


def produce(cluster: EmbeddedCluster, numbers: Iterable[int], *, mirrored_from: str | None = None) -> None:
    """Write records, each the same wherever it is written; a copy with the three headers of the mirror."""
    place = OWN if mirrored_from is None else COPY[cluster.alias]
    producer = Producer(client_options(cluster.bootstrap_servers, linger_ms=1))
    for number in numbers:
        text = f"{mirrored_from or cluster.alias}-{number}".encode()
        # What an application hands on: another cluster's headers, of a topic that it has read.
        headers = [("IDC", b"dc2"), ("Offset", b"3"), ("Place", b"elsewhere-0")] if number == 4 else []
        if mirrored_from is not None:
            headers = [("IDC", mirrored_from.encode()), ("Offset", b"%d" % number), ("Place", b"named-0")]
        producer.produce(place[0], text, text, partition=0, timestamp=BEGAN_MS + number, headers=headers)
    assert producer.flush(120) == 0


@pytest.fixture(scope="module")
def installation(clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """Each side has all that the other one has produced, two offsets higher."""
    for alias in ("dc1", "dc2"):
        create_topics(clusters[alias], {TOPIC: 1, COPY[alias][0]: 1})
        write_log(clusters[alias], {COPY[alias]: [None, None]})
    for here, there, count in (("dc1", "dc2", 20), ("dc2", "dc1", 10)):
        produce(clusters[here], range(count))
        produce(clusters[there], range(count), mirrored_from=here)
    commit(clusters["dc1"], {GROUP: {OWN: 9, COPY["dc1"]: 7}})
    mirror = {"names": "mm2", "place_header": "Place"}
    return install(tmp_path_factory.mktemp("named"), clusters, [TOPIC], mirror=mirror, groups={"include": [GROUP]})


def test_each_name_is_answered_by_the_name_of_its_stream_at_the_other_side(
    clusters: Clusters, installation: Installation
) -> None:
    # The second pass reads what the first one has written.
    assert (installation.index(), installation.sync(), installation.sync()) == ([], [], [])
    found = committed(clusters["dc2"], [GROUP])[GROUP]
    assert {topic: each.offset for (topic, _), each in found.items()} == {"dc1.named": 11, "named": 5}
    rows = installation.rows("offset_translations", outcome="COMMITTED")
    assert {(row["topic"], row["stream"], row["target_topic"]) for row in rows} == {
        ("named", "dc1.named", "dc1.named"),
        ("dc2.named", "dc2.named", "named"),
    }
    assert {
        (row["cluster"], row["topic"], row["origin"]) for row in installation.rows("record_runs") if row["length"]
    } == {
        ("dc1", "named", "dc1"),  # with what an application has handed on, and in one piece
        ("dc1", "dc2.named", "dc2"),
        ("dc2", "named", "dc2"),
        ("dc2", "dc1.named", "dc1"),
    }
    assert installation.rows("quarantine") == []
    findings = find_all(load_config(installation.config_file))
    assert [each for each in findings if each.level is Level.FAIL] == []
