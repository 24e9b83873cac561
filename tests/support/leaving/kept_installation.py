"""A small installation kept as files: two clusters' logs, the tables, the checkpoints and the configuration.

``take_installation.py`` beside it makes it with the code of an earlier commit; a test lets today's code go on.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Mapping
from pathlib import Path

from broker.installation import REPO
from offset_sync_demo.kafka.broker_files import free_ports, write_broker_files
from offset_sync_demo.kafka.brokers import EmbeddedCluster, kill_clusters

KEPT = REPO / "tests" / "golden" / "installation"
CONFIGURATION = "offset-sync.yaml"
ALIASES = ("dc1", "dc2")
ORIGINS = {"dc1": "dc1", "IDC2": "dc2"}
"""Cluster by what the mirror's origin header says."""
_FOLDERS = ("tables", "checkpoints", *ALIASES)
_FOREVER_MS = 100 * 365 * 86_400_000
# Whenever the brokers start again: nothing has expired, nothing is compacted, and a log goes on in the same file.
BROKER_SETTINGS = {
    "offsets.topic.num.partitions": "3",
    "offsets.retention.minutes": str(2**31 - 1),
    "log.retention.ms": "-1",
    "log.roll.ms": str(_FOREVER_MS),
}


def environment_of(folder: Path, clusters: Mapping[str, EmbeddedCluster]) -> dict[str, str]:
    """Return what the kept configuration takes from the environment."""
    servers = {f"KEPT_{alias.upper()}": cluster.bootstrap_servers for alias, cluster in clusters.items()}
    return {"KEPT_FOLDER": str(folder), **servers}


def pack(folder: Path) -> None:
    """Keep the files of *folder*; the brokers have to be stopped."""
    for name in _FOLDERS:
        with tarfile.open(KEPT / f"{name}.tar.xz", "w:xz", preset=9) as archive:
            # Of a broker's folder only its logs: the rest says where it was and on which ports.
            source = folder / name / "logs" if name in ALIASES else folder / name
            archive.add(source, str(source.relative_to(folder)), filter=_without_owner)


def unpack(folder: Path) -> None:
    """Restore the kept files in *folder*, without removed options; files keep their times."""
    for name in _FOLDERS:
        with tarfile.open(KEPT / f"{name}.tar.xz") as archive:
            archive.extractall(folder, filter="data")
    (folder / CONFIGURATION).write_text(without_removed_options((KEPT / CONFIGURATION).read_text()))


def without_removed_options(text: str) -> str:
    """Return the kept configuration without options that were removed since; what is left is as it was written."""
    return re.sub(r"^  (deletes|metadata): .*\n", "", text, flags=re.MULTILINE)


def start_kept_clusters(folder: Path) -> dict[str, EmbeddedCluster]:
    """Start the brokers with the logs in *folder*, on free ports."""
    ports = iter(free_ports(2 * len(ALIASES)))
    clusters = {alias: EmbeddedCluster(alias, folder / alias, next(ports)) for alias in ALIASES}
    try:
        for cluster in clusters.values():
            write_broker_files(cluster.directory, cluster.port, next(ports), BROKER_SETTINGS)
            cluster.launch()
        for cluster in clusters.values():
            cluster.wait_until_ready()
    except BaseException:
        kill_clusters(clusters)
        raise
    return clusters


def _without_owner(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry
