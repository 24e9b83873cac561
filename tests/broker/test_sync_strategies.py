"""The strategies beside exact, on real brokers: a mirror with and without headers, and a choice that could lose."""

from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import chain

import pytest
from confluent_kafka import Producer

from broker.cluster_actions import Acts, only
from broker.committed_offsets import Partition, commit
from broker.crafted_logs import Clusters, copied_log, create_topics, native_log, question, write_log
from broker.installation import install
from generators.mirrored_logs import LogRecord
from offset_sync_demo.kafka.brokers import EmbeddedCluster
from offset_sync_demo.kafka.clients import client_options
from oracles.translation import answers

pytestmark = [pytest.mark.broker, pytest.mark.timeout(1200)]

PLAIN: Partition = ("chosen-plain", 0)
REFUSED: Partition = ("chosen-refused", 0)
STAMPED: Partition = ("chosen-stamped", 0)
COUNT, MIRRORED_FROM = 20, 4
FIRST_MS = int(time.time() * 1000) - 60_000  # not so old that retention takes them


def crossed(alias: str, other: str) -> list[LogRecord | None]:
    """Own records and the other's, in stretches of five that take turns."""
    return list(
        chain.from_iterable(
            (*native_log(alias, 5, first), *copied_log(other, range(first, first + 5), first + 5))
            for first in range(0, 40, 10)
        )
    )


LOGS = {"dc1": crossed("dc1", "dc2"), "dc2": crossed("dc2", "dc1")}
COMMITS = range(0, 41, 3)


def write_plain(cluster: EmbeddedCluster, numbers: Iterable[int]) -> None:
    """Write records without headers; two of them share each timestamp."""
    producer = Producer(client_options(cluster.bootstrap_servers, enable_idempotence=True))
    for number in numbers:
        producer.produce(PLAIN[0], b"%d" % number, partition=0, timestamp=FIRST_MS + 10 * (number // 2))
    assert producer.flush(120) == 0


@pytest.fixture(scope="module")
def acts(clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Acts:
    for alias in ("dc1", "dc2"):
        create_topics(clusters[alias], {PLAIN[0]: 1, REFUSED[0]: 1, STAMPED[0]: 1})
        write_log(clusters[alias], {REFUSED: LOGS[alias], STAMPED: LOGS[alias]})
    write_plain(clusters["dc1"], range(COUNT))
    write_plain(clusters["dc2"], range(MIRRORED_FROM, COUNT))
    servers = {alias: clusters[alias].bootstrap_servers for alias in ("dc1", "dc2")}
    chosen = [
        {"topics": [PLAIN[0], REFUSED[0]], "strategy": "timestamp"},
        {"topics": [STAMPED[0]], "strategy": "header"},
    ]
    installation = install(tmp_path_factory.mktemp("chosen"), servers, ["chosen-.*"], topics={"overrides": chosen})
    plain = {f"plain-{c}": {PLAIN: c} for c in range(COUNT + 1)}
    stamped = {f"stamped-{c}": {STAMPED: c} for c in COMMITS}
    commit(clusters["dc1"], {**plain, **stamped, "refused": {REFUSED: 7}})
    assert installation.index() == []
    acts = Acts(clusters, installation, [*plain, *stamped, "refused"])
    acts.play()
    return acts


def test_the_pass_is_done_without_a_failure(acts: Acts) -> None:
    assert acts.failures == [[]]


@pytest.mark.parametrize("committed", range(COUNT + 1))
def test_timestamps_locate_the_copies_of_a_mirror_without_headers(acts: Acts, committed: int) -> None:
    group = f"plain-{committed}"
    # As many records of each timestamp on both sides, so the place within a pair is known too; but for the last one.
    repeated = max(committed - (COUNT - 2), 0)
    assert acts.offset(0, "dc2", group, PLAIN) == max(committed - MIRRORED_FROM, 0) - repeated
    row = only(acts.rows(0, group_id=group))
    assert (row["strategy"], row["outcome"], row["duplicates"], row["lost"]) == ("timestamp", "COMMITTED", repeated, 0)
    assert row["timestamp_disordered"] is False


def test_timestamps_of_a_topic_written_from_both_sides_are_refused_with_the_reason(acts: Acts) -> None:
    assert acts.said(0, "refused") == [("STRATEGY_REFUSED", "WITHHELD")]
    assert acts.value(0, "dc2", "refused", REFUSED) is None


def test_a_header_in_reach_is_followed_and_never_further_than_exact_would_go(acts: Acts) -> None:
    exact = [each.clamped_offset for each in answers(question("dc1", "dc2", LOGS), COMMITS)]
    found = [acts.offset(0, "dc2", f"stamped-{c}", STAMPED) for c in COMMITS]
    states = {state for c in COMMITS for state, _ in acts.said(0, f"stamped-{c}")}
    assert all(offset is None or offset <= most for offset, most in zip(found, exact, strict=True))
    assert states <= {"EXACT", "APPROXIMATE", "AT_FRONTIER", "NO_REFERENCE"}
    assert sum(offset is not None for offset in found) >= len(COMMITS) - 2
