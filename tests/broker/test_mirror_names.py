"""Copies under MirrorMaker's names on real brokers: both directions at once, moved by ``cutover`` and back again.

Both clusters produce into ``named``. At dc1 a group reads ``named`` and ``dc2.named``, at dc2 it goes on with
``dc1.named`` and ``named``, and when it comes back it has lost nothing and repeats nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from confluent_kafka import Producer

from broker.committed_offsets import commit, committed
from broker.crafted_logs import Clusters, create_topics, write_log
from broker.installation import Installation, install
from consumer import moving
from offset_sync.config import load_config
from offset_sync.jobs.check import find_all
from offset_sync.model.finding import Level
from offset_sync.model.reasons import Reason
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import client_options

pytestmark = [pytest.mark.broker, pytest.mark.long, pytest.mark.in_order, pytest.mark.timeout(900)]
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
    folder = tmp_path_factory.mktemp("named") / "installation"
    mirror = {"names": "mm2", "place_header": "Place"}
    status = {"page": str(folder / "status.html")}
    return install(folder, clusters, [TOPIC], mirror=mirror, status=status, groups={"include": [GROUP]})


def catch_up(installation: Installation) -> None:
    """Run both jobs to the end of what is there; the second pass reads what the first one has written."""
    assert (installation.index(), installation.sync(), installation.sync()) == ([], [], [])


def offsets_at(clusters: Clusters, alias: str) -> dict[str, int]:
    found = committed(clusters[alias], [GROUP]).get(GROUP, {})
    return {topic: each.offset for (topic, _), each in found.items()}


def cutover(installation: Installation, action: str, source: str, target: str, *options: str) -> list[str]:
    return moving.cutover(installation, action, source, target, "--groups", GROUP, *options)


def test_each_name_is_answered_by_the_name_of_its_stream_at_the_other_side(
    clusters: Clusters, installation: Installation
) -> None:
    catch_up(installation)
    assert offsets_at(clusters, "dc2") == {"dc1.named": 11, "named": 5}
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


def test_the_group_moves_and_comes_back_to_the_names_that_it_knew(
    clusters: Clusters, installation: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cutover(installation, "apply", "dc1", "dc2", "--planned", "--timeout", "60s") == []
    assert offsets_at(clusters, "dc2") == {"dc1.named": 11, "named": 5}
    # It goes on at dc2, where more is produced, and so is at dc1.
    for here, there, numbers in (("dc2", "dc1", range(10, 14)), ("dc1", "dc2", range(20, 23))):
        produce(clusters[here], numbers)
        produce(clusters[there], numbers, mirrored_from=here)
    commit(clusters["dc2"], {GROUP: {COPY["dc2"]: 24, OWN: 13}})
    catch_up(installation)
    assert offsets_at(clusters, "dc1") == {"named": 22, "dc2.named": 15}
    capsys.readouterr()
    assert cutover(installation, "plan", "dc2", "dc1") == []
    assert f"namer: {Reason.SUBSCRIBES('dc1', 'dc2.named, named')}" in capsys.readouterr().out
    assert cutover(installation, "apply", "dc2", "dc1", "--planned", "--timeout", "60s") == []
    assert offsets_at(clusters, "dc1") == {"named": 22, "dc2.named": 15}
    assert installation.maintain() == []
