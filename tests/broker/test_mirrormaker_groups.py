"""Moving over from the real MirrorMaker 2's group sync: start beside it, switch it off, compare, take over."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broker.committed_offsets import Partition, commit
from broker.crafted_logs import Clusters, create_topics
from broker.installation import Installation, install, until
from broker.mirrored_site import SHARES, MirroredSite
from chaos.contents import Reading
from offset_sync_demo.load.producer import TopicLoad
from offset_sync_demo.load.stamping_mirror import StampingMirror
from offset_sync_demo.load.workload import Producers

pytestmark = [pytest.mark.broker, pytest.mark.long, pytest.mark.in_order, pytest.mark.timeout(900)]

PARTITIONS = {"stock": 2}
GROUPS = [f"{name}-dc1" for name in SHARES]
ONE_WAY = {
    "dc2->dc1.enabled": "false",
    **{f"emit.{kind}.enabled": "true" for kind in ("checkpoints", "offset-syncs", "heartbeats")},
    **{f"emit.{kind}.interval.seconds": "1" for kind in ("checkpoints", "heartbeats")},
    "offset-syncs.topic.replication.factor": "1",
    "refresh.groups.interval.seconds": "1",
}
GROUP_SYNC = {**ONE_WAY, "sync.group.offsets.enabled": "true", "sync.group.offsets.interval.seconds": "1"}


@pytest.fixture(scope="module")
def site(
    soiled_clusters: Clusters, spark_environment: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MirroredSite]:
    folder = tmp_path_factory.mktemp("groups")
    for cluster in soiled_clusters.values():
        create_topics(cluster, PARTITIONS)
    mirror = StampingMirror(soiled_clusters, {"dc1": [*PARTITIONS], "dc2": [*PARTITIONS]}, folder / "mirror")
    mirror.start(GROUP_SYNC)
    producers = Producers(soiled_clusters, [TopicLoad("stock", 2, 200.0)], {"stock": {}})
    producers.start()
    installation = installed(soiled_clusters, folder / "jobs", "10m")
    yield MirroredSite(soiled_clusters, mirror, producers, installation, PARTITIONS)
    mirror.kill()
    producers.stop(2.0)


def installed(clusters: Clusters, folder: Path, home_silence: str) -> Installation:
    servers = {alias: each.bootstrap_servers for alias, each in clusters.items()}
    sync = {"hole_grace": "0s", "home_silence": home_silence}
    return install(folder, servers, [*PARTITIONS], mirror={"place_header": "Place"}, sync=sync)


def read_on(site: MirroredSite) -> None:
    """Produce at dc1 for a while, and let its groups commit there what they have read by then."""
    before = sum(site.ends_of("dc1").values())
    site.producers.set_share({"dc1": 1.0})
    until(lambda: sum(site.ends_of("dc1").values()) > before + 500, 120.0)
    site.come_to_rest()
    ends = site.ends_of("dc1")
    shares = {group: SHARES[group.removesuffix("-dc1")] for group in GROUPS}
    offsets = {group: {place: int(end * share) for place, end in ends.items()} for group, share in shares.items()}
    commit(site.clusters["dc1"], offsets)
    site.homes |= dict.fromkeys(GROUPS, "dc1")


def at_target(site: MirroredSite) -> dict[tuple[str, Partition], int]:
    return {(group, place): at for group, by in site.held("dc2").items() for place, at in by.items()}


def reported(site: MirroredSite, **wanted: str) -> list[tuple[Partition, dict[str, Any]]]:
    """Return the rows about the group that has read all, by partition."""
    site.installation.report()
    rows = site.installation.rows("sync_status", group_id="tail-dc1", **wanted)
    return sorted(((row["topic"], row["partition"]), row) for row in rows)


def test_beside_us_its_group_sync_is_a_second_reader_and_nothing_is_answered(site: MirroredSite) -> None:
    read_on(site)
    tails = [("tail-dc1", place) for place in site.places]
    until(lambda: at_target(site).keys() >= set(tails), 120.0)
    assert (site.installation.index(), site.installation.sync(no_writes=True)) == ([], [])
    states = {row["state"] for row in site.installation.translations() if row["group_id"] == "tail-dc1"}
    assert states == {"COMMITTED_AT_BOTH"}


def at_rest(site: MirroredSite) -> dict[tuple[str, Partition], int]:
    """Return the offsets at dc2 once MirrorMaker, which looks every second, has written its own."""
    seen = [at_target(site)]

    def is_at_rest() -> bool:
        time.sleep(5)
        seen.append(at_target(site))
        return seen[-1] == seen[-2]

    until(is_at_rest, 120.0)
    return seen[-1]


def test_a_report_names_both_commits_and_withholds_the_group(site: MirroredSite) -> None:
    stands = at_rest(site)
    assert (site.installation.index(), site.installation.sync(no_writes=True)) == ([], [])
    rows = reported(site)  # the newest commit may be either
    assert [place for place, _ in rows] == site.places
    for place, row in rows:
        assert (row["status"], row["state"]) == ("Withheld", "COMMITTED_AT_BOTH")
        assert re.search(rf"\bdc2 \({stands['tail-dc1', place]}, .* ago\)", row["reason"])


def has_taken_new_settings(folder: Path) -> bool:
    """Return whether MirrorMaker has ended the task that it starts first, with the settings it has stored.

    Until then it syncs groups as before, whatever its file says.
    """
    log = folder / "mirror" / "mirror-2" / "mm2.log"
    return log.exists() and "MirrorCheckpointTask Stopping task" in log.read_text(errors="replace")


def test_switched_off_its_offsets_are_compared_with_ours(site: MirroredSite) -> None:
    site.mirror.stop()
    site.mirror.start(ONE_WAY)
    until(lambda: has_taken_new_settings(site.installation.folder.parent), 120.0)
    site.installation = installed(site.clusters, site.installation.folder, "0s")  # as if it had been silent for long
    read_on(site)
    assert (site.installation.index(), site.installation.sync(no_writes=True)) == ([], [])
    rows, logs, stands = reported(site, target_cluster="dc2"), site.logs(), at_target(site)
    assert [place for place, _ in rows] == site.places
    for place, row in rows:
        there = logs["dc2", place]
        ours = int(Reading(logs["dc1", place], there).exact([row["source_offset"]])[0])
        assert (row["target_offset"], row["wanted_offset"]) == (stands["tail-dc1", place], ours)
        assert row["duplicates"] == sum(stands["tail-dc1", place] <= offset < ours for offset in there.offsets)
        assert row["lost"] == 0


def test_then_we_take_over_and_its_groups_are_exact(site: MirroredSite) -> None:
    for _ in range(2):  # the second pass reads what the first one writes at dc2: no job runs that would
        site.sync()
    told = [tuple(row.items()) for row in site.installation.translations(target_cluster="dc2")[-8:]]
    assert site.inexact() == [], told
    assert {row["target_offset"] == row["wanted_offset"] for _, row in reported(site, target_cluster="dc2")} == {True}
