"""What the promise leans on beside rights: brokers' settings and clocks, clusters' ids, the places of the tables."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path

from offset_sync.config import Config
from offset_sync.config.duration import format_duration
from offset_sync.jobs.checks.cluster import Cluster
from offset_sync.model.errors import ClusterError, PlatformError
from offset_sync.model.finding import Finding, Level, Lines
from offset_sync.model.text import told
from offset_sync.state.cluster_clock import WRONG_MS
from offset_sync.status.format import to_duration
from offset_sync.tables.files import Files, files_of
from offset_sync.tables.storage_check import check_storage

RETENTION, UNCLEAN = "offsets.retention.minutes", "unclean.leader.election.enable"
TIMESTAMPS, COPIES = "log.message.timestamp.type", "offsets.topic.replication.factor"


def judge_settings(config: Config, cluster: Cluster) -> Iterator[Finding]:
    """Yield which settings of the brokers are not as they should be."""
    lines, settings = Lines(cluster.place, "broker settings"), cluster.settings
    if isinstance(settings, str):
        text = f"{settings}: it would take DescribeConfigs on the cluster, which no job needs; have {RETENTION} be more"
        twice = format_duration(2 * config.sync.refresh_interval)
        yield lines.of(Level.SKIP, f"{text} than {twice}, and {UNCLEAN} false")
        return
    wrong = list(_wrong(config, settings, cluster.brokers))
    yield from (lines.of(level, text) for level, text in wrong)
    if not wrong:
        yield lines.of(
            Level.OK, ", ".join(f"{name}={settings[name]}" for name in (RETENTION, UNCLEAN) if name in settings)
        )


def _wrong(config: Config, settings: Mapping[str, str], brokers: int) -> Iterator[tuple[Level, str]]:
    refresh, minutes = config.sync.refresh_interval, settings.get(RETENTION, "")
    if minutes.isdigit() and timedelta(minutes=int(minutes)) < 2 * refresh:
        level = Level.FAIL if timedelta(minutes=int(minutes)) <= refresh else Level.WARN
        says = f"{RETENTION}={minutes}: offsets of idle groups may expire before they are written again"
        yield level, f"{says}; set it to more than twice sync.refresh_interval ({format_duration(refresh)})"
    if settings.get(UNCLEAN) == "true":
        yield Level.WARN, f"{UNCLEAN}=true: a log may be cut, and its offsets are withheld then; set it to false"
    if "timestamp" in config.topics.strategies and settings.get(TIMESTAMPS) == "LogAppendTime":
        says = f"{TIMESTAMPS}=LogAppendTime: a copy has another time than its origin, by which strategy timestamp goes"
        yield Level.WARN, f"{says}; set CreateTime, or choose another strategy"
    if settings.get(COPIES) == "1" and brokers > 1:
        yield Level.WARN, f"{COPIES}=1: with one broker all its groups' offsets are lost; set it to 3"


def judge_clock(cluster: Cluster, now_ms: int) -> Finding:
    """Return what the time of the newest commit says.

    A clock that is ahead shows at once, as a commit of a time that is still to come. One that is behind looks like a
    cluster without commits: ``sync_offsets`` measures it while it reads.
    """
    lines = Lines(cluster.place, "clock")
    if cluster.newest_commit_ms is None:
        return lines.of(Level.SKIP, "no commit to tell it by; sync_offsets measures it while it reads")
    ahead_ms = cluster.newest_commit_ms - now_ms
    if ahead_ms > WRONG_MS:
        says = f"its newest commit is of {to_duration(ahead_ms)} from now: a clock is wrong"
        return lines.of(Level.WARN, f"{says}; set the brokers' clocks, or this machine's (NTP)")
    return lines.of(
        Level.OK, f"its newest commit is {to_duration(max(0, -ahead_ms))} old, so its clock is not ahead of ours"
    )


def judge_id(config: Config, cluster: Cluster) -> Iterator[Finding]:
    """Yield whether the cluster's id is what *config* has; nothing where the mirror does not name it."""
    lines, header = Lines(cluster.place, "cluster id"), config.mirror.origin_header
    said, given = cluster.cluster_id, config.clusters[cluster.alias].origin
    if isinstance(said, ClusterError):
        text = str(said).removeprefix(f"{cluster.place}: ")
        level = Level.SKIP if given else Level.FAIL
        yield lines.of(level, f"{text}; or set {cluster.place}.origin to what {header} says of its records")
    elif given not in ("", said) and said:
        text = f"it is {said}, and {cluster.place}.origin is {given}: what {header} calls {said} is unread by everyone"
        yield lines.of(Level.WARN, f"{text}; remove origin, unless this is another way to the cluster")
    elif said:
        yield lines.of(Level.OK, f"{said}, as {header} has to name it")


def check_places(config: Config) -> Iterator[Finding]:
    """Yield whether tables and checkpoints can be written to: a file is written at each place and deleted again."""
    files = files_of(config)
    for key, path in (("root", config.tables.root), ("checkpoints", config.tables.checkpoints)):
        lines, own = Lines("tables", key), files.local(path)
        try:
            text = _tried_storage(path, files, key == "root") if own is None else _tried_folder(own)
            yield lines.of(Level.OK, text)
        except PlatformError as error:
            yield lines.of(Level.FAIL, str(error))
        except OSError as error:
            remedy = "see tables.storage in conf/reference.yaml" if own is None else f"let uid {os.getuid()} do it"
            yield lines.of(Level.FAIL, f"{path} cannot be written to ({told(error)[:300]}); {remedy}")


def _tried_folder(folder: Path) -> str:
    # What is not there yet is not made: the jobs do that. It has to be possible where it would be made.
    there = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
    with tempfile.NamedTemporaryFile(dir=there, prefix=".offset-sync-check-") as file:
        file.write(b"check")
        file.flush()
    return str(folder) if there == folder.absolute() else f"{folder}, which will be made in {there}"


def _tried_storage(path: str, files: Files, is_root: bool) -> str:
    name = f"{path.rstrip('/')}/.offset-sync-check-{uuid.uuid4()}"
    files.write_text(name, "check")
    files.delete(name)
    if is_root:
        check_storage(path, files)
    return path
