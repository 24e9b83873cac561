"""The real MirrorMaker 2: with the transform of connect/, both ways; and its group sync, from which we take over.

Both clusters produce into the same topics. Nothing goes in circles, nothing is lost whatever becomes of MirrorMaker,
and offsets are those that the records' values demand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from broker.committed_offsets import Partition, commit
from broker.crafted_logs import Clusters, create_topics
from broker.installation import Installation, install, until
from broker.mirrored_site import SHARES as READ
from broker.mirrored_site import MirroredSite, mirrored_site
from chaos.contents import Reading
from offset_sync_demo.kafka.clients import Headers, read_partition
from offset_sync_demo.load.producer import TopicLoad
from offset_sync_demo.load.stamping_mirror import StampingMirror
from offset_sync_demo.load.workload import Producers

pytestmark = [pytest.mark.broker, pytest.mark.long, pytest.mark.in_order, pytest.mark.timeout(900)]
ALIASES = ("dc1", "dc2")
SHOP, LEDGER, STOCK = "shop", "ledger", {"stock": 2}
SHARES = {SHOP: dict.fromkeys(ALIASES, 0.5), LEDGER: {"dc1": 1.0}}
LOADS = [TopicLoad(SHOP, 2, 100.0), TopicLoad(LEDGER, 1, 30.0, is_transactional=True)]
EVERYTHING_ON = {
    # The connectors that the recipe leaves out get the transform too, and have to live with it.
    **{f"emit.{kind}.enabled": "true" for kind in ("checkpoints", "offset-syncs", "heartbeats")},
    **{f"emit.{kind}.interval.seconds": "1" for kind in ("checkpoints", "heartbeats")},
    "offset-syncs.topic.replication.factor": "1",
    "refresh.groups.interval.seconds": "1",
}
LATE_TO_FLUSH = {f"{alias}.offset.flush.interval.ms": "60000" for alias in ALIASES}
"""As by default: what is copied in a minute is copied again after a crash."""
EXACTLY_ONCE = {
    **EVERYTHING_ON,
    **{f"{alias}.exactly.once.source.support": "enabled" for alias in ALIASES},
    # So long a new worker waits for the transaction of one that was killed; a minute by default.
    **{f"{alias}.producer.transaction.timeout.ms": "10000" for alias in ALIASES},
}
ONE_WAY = {"dc2->dc1.enabled": "false", **EVERYTHING_ON}
GROUP_SYNC = {**ONE_WAY, "sync.group.offsets.enabled": "true", "sync.group.offsets.interval.seconds": "1"}
LEAKED: Headers = [("IDC", b"dc2"), ("Offset", b"5"), ("Place", b"other-0")]


@pytest.fixture(scope="module")
def site(
    soiled_clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MirroredSite]:
    folder = tmp_path_factory.mktemp("mirrormaker")
    with mirrored_site(soiled_clusters, LOADS, folder, EVERYTHING_ON | LATE_TO_FLUSH) as site:
        yield site


def produce(site: MirroredSite) -> None:
    for topic, share in SHARES.items():
        site.producers.set_share(share, [topic])


def test_each_record_is_once_at_each_side_whatever_headers_it_has_and_offsets_are_exact(site: MirroredSite) -> None:
    produce(site)
    site.wait_for_copies()
    site.come_to_rest()
    site.commit()
    place = (SHOP, 0)
    leaked_at = site.ends()["dc1"][place]
    # A group that has read all of dc2 so far, and so its offset 5, has not read this record.
    leaked = site.produce_leaked("dc1", place, 1_000_000, LEAKED)
    site.come_to_rest()
    assert site.logs()["dc2", place].ids.count(leaked) == 1
    before = site.ends()
    site.sync()
    assert site.held("dc1")["tail-dc2"][place] == leaked_at
    assert (len(site.compared()), site.inexact()) == (18, [])
    # What is copied back would be there by now.
    assert (site.ends(), site.lost(), {*site.twice().values()}) == (before, 0, {0})


def test_the_checkpoint_connector_lives_with_the_transform(site: MirroredSite) -> None:
    for source, target in (ALIASES, ALIASES[::-1]):
        checkpoints = (f"{source}.checkpoints.internal", 0)
        until(lambda at=site.clusters[target], log=checkpoints: any(read_partition(at, log)))  # type: ignore[misc]
        states = site.task_states(source, target)
        assert {name: state for name, state in states.items() if state != "RUNNING"} == {}
        kinds = {f"Mirror{kind}Connector-0" for kind in ("Source", "Checkpoint", "Heartbeat")}
        assert kinds <= states.keys()


def test_killed_under_load_it_sends_again_and_nothing_is_lost_or_ahead_and_then_all_is_exact(
    site: MirroredSite,
) -> None:
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
    site.come_to_rest()
    assert site.lost() == 0
    assert {place for (_, place), count in site.twice().items() if count} == set(site.places)
    site.commit()
    site.sync()
    assert site.inexact() == []
    site.mirror.stop()
    site.producers.stop(2.0)


@pytest.fixture(scope="module")
def synced(
    soiled_clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MirroredSite]:
    """Groups at dc1 only, which MirrorMaker brings to dc2 by itself."""
    folder = tmp_path_factory.mktemp("groups")
    for cluster in soiled_clusters.values():
        create_topics(cluster, STOCK)
    mirror = StampingMirror(soiled_clusters, {alias: [*STOCK] for alias in ALIASES}, folder / "mirror")
    mirror.start(GROUP_SYNC)
    producers = Producers(soiled_clusters, [TopicLoad("stock", 2, 200.0)], {"stock": {}})
    producers.start()
    yield MirroredSite(soiled_clusters, mirror, producers, installed(soiled_clusters, folder / "jobs", "10m"), STOCK)
    mirror.kill()
    producers.stop(2.0)


GROUPS = [f"{name}-stock" for name in READ]


def installed(clusters: Clusters, folder: Path, home_silence: str) -> Installation:
    sync = {"hole_grace": "0s", "home_silence": home_silence}
    return install(
        folder, clusters, [*STOCK], mirror={"place_header": "Place"}, sync=sync, groups={"include": [".*-stock"]}
    )


def read_on(site: MirroredSite) -> None:
    """Produce at dc1 for a while, and let its groups commit there what they have read by then."""
    before = sum(site.ends_of("dc1").values())
    site.producers.set_share({"dc1": 1.0})
    until(lambda: sum(site.ends_of("dc1").values()) > before + 500)
    site.come_to_rest()
    ends = site.ends_of("dc1")
    shares = {group: READ[group.removesuffix("-stock")] for group in GROUPS}
    offsets = {group: {place: int(end * share) for place, end in ends.items()} for group, share in shares.items()}
    commit(site.clusters["dc1"], offsets)
    site.homes |= dict.fromkeys(GROUPS, "dc1")


def tail_at_dc2(site: MirroredSite) -> dict[Partition, int]:
    return site.held("dc2")["tail-stock"]


def reported(site: MirroredSite, **wanted: str) -> list[tuple[Partition, dict[str, Any]]]:
    """Return the rows about the group that has read all, by partition."""
    site.installation.report()
    rows = site.installation.rows("sync_status", group_id="tail-stock", **wanted)
    return sorted(((row["topic"], row["partition"]), row) for row in rows)


def test_beside_us_its_group_sync_is_a_second_reader_and_both_commits_are_named(synced: MirroredSite) -> None:
    read_on(synced)
    until(lambda: tail_at_dc2(synced).keys() >= set(synced.places))

    def names_both() -> bool:
        assert (synced.installation.index(), synced.installation.sync(no_writes=True)) == ([], [])
        stands, rows = tail_at_dc2(synced), reported(synced)  # the newest commit may be either
        assert [place for place, _ in rows] == synced.places
        assert {(row["status"], row["state"]) for _, row in rows} == {("Withheld", "COMMITTED_AT_BOTH")}
        return all(re.search(rf"\bdc2 \({stands[place]}, .* ago\)", row["reason"]) for place, row in rows)

    until(names_both)  # MirrorMaker, which looks every second, may still go on
    states = {row["state"] for row in synced.installation.translations() if row["group_id"] == "tail-stock"}
    assert states == {"COMMITTED_AT_BOTH"}


def has_taken_new_settings(folder: Path) -> bool:
    """Return whether MirrorMaker has ended the task that it starts first, with the settings it has stored.

    Until then it syncs groups as before, whatever its file says.
    """
    log = folder / "mirror" / "mirror-2" / "mm2.log"
    return log.exists() and "MirrorCheckpointTask Stopping task" in log.read_text(errors="replace")


def test_switched_off_its_offsets_are_compared_with_ours_and_then_we_take_over(synced: MirroredSite) -> None:
    synced.mirror.stop()
    synced.mirror.start(ONE_WAY)
    until(lambda: has_taken_new_settings(synced.installation.folder.parent))
    # As if it had been silent for long.
    synced.installation = installed(synced.clusters, synced.installation.folder, "0s")
    read_on(synced)
    assert (synced.installation.index(), synced.installation.sync(no_writes=True)) == ([], [])
    rows, logs, stands = reported(synced, target_cluster="dc2"), synced.logs(), tail_at_dc2(synced)
    assert [place for place, _ in rows] == synced.places
    for place, row in rows:
        there = logs["dc2", place]
        ours = int(Reading(logs["dc1", place], there).exact([row["source_offset"]])[0])
        assert (row["target_offset"], row["wanted_offset"]) == (stands[place], ours)
        assert row["duplicates"] == sum(stands[place] <= offset < ours for offset in there.offsets)
        assert row["lost"] == 0
    for _ in range(2):  # the second pass reads what the first one writes at dc2: no job runs that would
        synced.sync()
    told = [tuple(row.items()) for row in synced.installation.translations(target_cluster="dc2")[-8:]]
    assert synced.inexact() == [], told
    assert {row["target_offset"] == row["wanted_offset"] for _, row in reported(synced, target_cluster="dc2")} == {True}
