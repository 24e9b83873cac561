"""maintain_tables on real clusters: what was deleted and read goes, what is answered stays the same."""

from __future__ import annotations

import pytest
from confluent_kafka import TopicPartition as ClientPartition

from broker.committed_offsets import commit, committed
from broker.crafted_logs import Clusters, admin_of, copied_log, create_topics, native_log, write_log
from broker.installation import Installation, install

pytestmark = [pytest.mark.broker, pytest.mark.in_order, pytest.mark.timeout(1200)]

TOPIC, PLACE = "maintained", ("maintained", 0)
GROUP = "maintained-group"
UNREACHABLE = "127.0.0.1:1"


@pytest.fixture(scope="module")
def maintained(clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """An installation whose topic is indexed in two rounds and synced; both logs then begin at 60."""
    servers = {alias: clusters[alias].bootstrap_servers for alias in ("dc1", "dc2")}
    installation = install(tmp_path_factory.mktemp("maintained"), servers, [TOPIC], maintenance={"keep_runs": "0s"})
    for alias in servers:
        create_topics(clusters[alias], {TOPIC: 1})
    for end in (60, 100):
        write_log(clusters["dc1"], {PLACE: native_log("dc1", end)})
        write_log(clusters["dc2"], {PLACE: copied_log("dc1", range(end))})
        assert installation.index() == []
    commit(clusters["dc1"], {GROUP: {PLACE: 70}})
    assert installation.sync() == []
    for alias in servers:
        admin = admin_of(clusters[alias])  # it has to live until the answer is there
        (deleted,) = admin.delete_records([ClientPartition(TOPIC, 0, 60)]).values()
        deleted.result(120)
    return installation


def indexed(installation: Installation) -> set[tuple[str, int, int]]:
    rows = installation.rows("record_runs", topic=TOPIC)
    return {(row["cluster"], row["start_offset"], row["length"]) for row in rows if row["length"]}


def test_nothing_is_cut_where_a_cluster_does_not_answer_and_the_rest_is_done(
    maintained: Installation, clusters: Clusters
) -> None:
    before, text = indexed(maintained), maintained.config_file.read_text()
    assert {start for _, start, _ in before} == {0, 60}
    maintained.config_file.write_text(text.replace(clusters["dc2"].bootstrap_servers, UNREACHABLE))
    (failure,) = maintained.maintain()
    maintained.config_file.write_text(text)
    assert failure.startswith("clusters.dc2: ")
    assert indexed(maintained) == before


def test_what_is_deleted_and_read_by_all_is_cut_and_the_next_answer_is_right(
    maintained: Installation, clusters: Clusters
) -> None:
    ended = maintained.run("maintain_tables", "--once")
    assert ended.exit_code == 0, ended.output()[-3000:]
    assert indexed(maintained) == {("dc1", 60, 40), ("dc2", 60, 40)}
    (line,) = [line for line in ended.output().splitlines() if "record_runs: " in line]
    assert "4 rows removed" in line
    commit(clusters["dc1"], {GROUP: {PLACE: 85}})
    assert maintained.sync() == []
    assert committed(clusters["dc2"], [GROUP])[GROUP][PLACE].offset == 85
    last = maintained.last_translation(GROUP, target_cluster="dc2")
    assert (last["state"], last["duplicates"], last["lost"]) == ("EXACT", 0, 0)
