"""The real MirrorMaker 2 with the transform of connect/, as the recipe has it, both ways between two clusters.

Both produce into the same topics. Nothing goes in circles, nothing is lost whatever becomes of MirrorMaker, and offsets
are those that the records' values demand.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from broker.committed_offsets import commit
from broker.crafted_logs import Clusters
from broker.installation import until
from broker.mirrored_site import MirroredSite, mirrored_site
from offset_sync.config import load_config
from offset_sync.jobs.cutover import cutover_arguments, cutover_groups
from offset_sync.jobs.runner import job_arguments
from offset_sync_demo.kafka.clients import Headers, read_partition
from offset_sync_demo.load.producer import TopicLoad

pytestmark = [pytest.mark.broker, pytest.mark.long, pytest.mark.in_order, pytest.mark.timeout(900)]

ALIASES = ("dc1", "dc2")
SHOP, LEDGER = "shop", "ledger"
IDLE: dict[str, float] = {}
SHARES = {SHOP: dict.fromkeys(ALIASES, 0.5), LEDGER: {"dc1": 1.0}}
LOADS = [TopicLoad(SHOP, 2, 100.0), TopicLoad(LEDGER, 1, 30.0, is_transactional=True)]
EVERYTHING_ON = {
    # The connectors that the recipe leaves out get the transform too, and have to live with it.
    **{f"emit.{kind}.enabled": "true" for kind in ("checkpoints", "offset-syncs", "heartbeats")},
    **{f"emit.{kind}.interval.seconds": "1" for kind in ("checkpoints", "heartbeats")},
    "offset-syncs.topic.replication.factor": "1",
    "refresh.groups.interval.seconds": "1",
    # As by default: what is copied in a minute is copied again after a crash.
    **{f"{alias}.offset.flush.interval.ms": "60000" for alias in ALIASES},
}
EXACTLY_ONCE = {
    **EVERYTHING_ON,
    **{f"{alias}.exactly.once.source.support": "enabled" for alias in ALIASES},
    # So long a new worker waits for the transaction of one that was killed; a minute by default.
    **{f"{alias}.producer.transaction.timeout.ms": "15000" for alias in ALIASES},
}
LEAKED: Headers = [("IDC", b"dc2"), ("Offset", b"5"), ("Place", b"other-0")]


@pytest.fixture(scope="module")
def site(
    soiled_clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MirroredSite]:
    folder = tmp_path_factory.mktemp("mirrormaker")
    with mirrored_site(soiled_clusters, LOADS, folder, EVERYTHING_ON) as site:
        yield site


def produce(site: MirroredSite) -> None:
    for topic, share in SHARES.items():
        site.producers.set_share(share, [topic])


def test_each_record_is_exactly_once_at_each_side_and_none_goes_in_circles(site: MirroredSite) -> None:
    produce(site)
    site.wait_for_copies()
    site.come_to_rest()
    assert (site.lost(), set(site.twice().values())) == (0, {0})
    before = site.ends()
    time.sleep(5)  # a copy that is copied back is there within one
    assert site.ends() == before


def test_after_quiet_every_offset_is_the_one_that_the_values_demand(site: MirroredSite) -> None:
    site.commit()
    site.sync()
    assert len(site.compared()) == 18
    assert site.inexact() == []


def test_a_record_with_headers_that_its_producer_has_read_elsewhere_is_copied_and_unread(site: MirroredSite) -> None:
    place = (SHOP, 0)
    leaked_at = site.ends()["dc1"][place]
    # A group that has read all of dc2 so far, and so its offset 5, has not read this record.
    leaked = site.produce_leaked("dc1", place, 1_000_000, LEAKED)
    site.come_to_rest()
    log = site.logs()["dc2", place]
    assert log.ids.count(leaked) == 1
    site.sync()
    assert site.held("dc1")["tail-dc2"][place] == leaked_at
    assert site.inexact() == []


def test_the_checkpoint_connector_lives_with_the_transform(site: MirroredSite) -> None:
    for source, target in (ALIASES, ALIASES[::-1]):
        checkpoints = (f"{source}.checkpoints.internal", 0)
        until(lambda at=site.clusters[target], log=checkpoints: any(read_partition(at, log)), 60.0)  # type: ignore[misc]
        states = site.task_states(source, target)
        assert {name: state for name, state in states.items() if state != "RUNNING"} == {}
        kinds = {f"Mirror{kind}Connector-0" for kind in ("Source", "Checkpoint", "Heartbeat")}
        assert kinds <= states.keys()


def test_killed_under_load_it_sends_again_and_nothing_is_lost_or_ahead(site: MirroredSite) -> None:
    produce(site)
    site.wait_for_copies()
    site.commit()
    site.mirror.kill()
    site.mirror.start(EXACTLY_ONCE)  # from now on; what the one before has not written down comes again
    with ThreadPoolExecutor(1) as pool:
        copying = pool.submit(site.wait_for_copies)
        while not copying.done():
            site.sync()
            assert site.ahead() == []
            site.commit()
        copying.result()
    site.sync()
    assert site.ahead() == []
    site.come_to_rest()
    assert site.lost() == 0
    assert {place for (_, place), count in site.twice().items() if count} == set(site.places)


def test_what_was_sent_again_makes_no_offset_inexact(site: MirroredSite) -> None:
    site.commit()
    site.sync()
    assert site.inexact() == []


def test_with_exactly_once_nothing_is_sent_again_and_offsets_stay_exact(site: MirroredSite) -> None:
    before = site.twice()
    produce(site)
    site.wait_for_copies()
    site.mirror.kill()
    site.mirror.start(EXACTLY_ONCE)
    site.wait_for_copies()
    site.come_to_rest()
    assert (site.lost(), site.twice()) == (0, before)
    site.commit()
    site.sync()
    assert site.inexact() == []


def cutover(site: MirroredSite, source: str, target: str, mode: str) -> list[str]:
    words = ["apply", "--conf", "x", "--from", source, "--to", target, "--groups", ".*-dc1", mode, "--timeout", "60s"]
    if mode == "--disaster":
        words = words[:-2]
    arguments = cutover_arguments(job_arguments("cutover")).parse_args(words)
    return list(cutover_groups(load_config(site.installation.config_file), arguments, threading.Event()))


def test_groups_fail_over_and_come_back(site: MirroredSite) -> None:
    site.clusters["dc1"].kill()
    site.mirror.kill()
    assert cutover(site, "dc1", "dc2", "--disaster") == []
    groups = [group for group, home in site.homes.items() if home == "dc1"]
    site.producers.set_share({"dc2": 1.0}, [SHOP])
    time.sleep(2)
    site.producers.set_share(IDLE)
    site.producers.wait_until_quiet("dc2", 60.0)
    site.start("dc1")
    site.mirror.start(EXACTLY_ONCE)
    site.come_to_rest()  # what dc1 had not handed over comes now
    ends = site.ends_of("dc2")
    # A planned move repeats nothing, so it wants them to have read at dc2 whatever crosses.
    commit(site.clusters["dc2"], dict.fromkeys(groups, ends))
    site.homes |= dict.fromkeys(groups, "dc2")
    for _ in range(2):  # the second pass reads what the first one writes at dc1: no job runs that would
        site.sync()
    assert cutover(site, "dc2", "dc1", "--planned") == []
    assert site.inexact() == []
