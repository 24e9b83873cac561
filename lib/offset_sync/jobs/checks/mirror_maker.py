"""MirrorMaker 2's own topics, by which it shows, and whether it writes offsets of groups itself. Pure but for one."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from offset_sync.config import Config
from offset_sync.decode.cursor import DecodeError
from offset_sync.decode.mirror_checkpoints import MirrorCheckpoint, decode_checkpoint
from offset_sync.kafka.partition_answer import Committed
from offset_sync.kafka.range_reader import OffsetRange
from offset_sync.kafka.tail_reader import AskedLogs
from offset_sync.model.errors import ClusterError
from offset_sync.model.finding import Finding, Level, Lines, some
from offset_sync.model.values import TopicPartition

CHECK = "MirrorMaker"
_OWN = re.compile(
    r"mm2-offset-syncs[._-].+[._-]internal|mm2-(configs|offsets|status)[._-].+[._-]internal"
    r"|.+[._-]checkpoints[._-]internal|heartbeats"
)
_CHECKPOINTS = re.compile(r".+[._-]checkpoints[._-]internal")
_GUIDE = "docs/mirrors.md, Moving over from MirrorMaker's group sync"
_MOST_CHECKPOINTS = 500
_MOST_GROUPS = 100


@dataclass(frozen=True)
class GroupSync:
    """*topics* are those of checkpoints that have records, *unread* those of which none could be read.

    *checkpoints* are the newest ones, by group and place. Of these groups *committed* is what the cluster holds.
    *hidden* are topics of which it does not say whether they are there.
    """

    topics: Collection[str] = ()
    unread: Collection[str] = ()
    checkpoints: Mapping[tuple[str, TopicPartition], int] | None = None
    committed: Mapping[str, Mapping[TopicPartition, Committed]] | None = None
    hidden: Collection[str] = ()


def is_own_topic(name: str, aliases: Iterable[str]) -> bool:
    """Return whether MirrorMaker has made the topic for itself; *aliases* are what it may call clusters."""
    bare = next((name[len(each) + 1 :] for each in aliases if re.match(rf"{re.escape(each)}[._-]", name)), name)
    return _OWN.fullmatch(name) is not None or bare == "heartbeats"


def read_checkpoints(
    cluster: AskedLogs, own: Mapping[str, str], readable: Collection[str], inside: Callable[[str], str]
) -> GroupSync:
    """Return what checkpoints at a cluster say, and what it holds of their groups.

    *own* are names of MirrorMaker's topics by stream, *inside* says which stream the cluster calls so.
    """
    topics = {stream: name for stream, name in own.items() if _CHECKPOINTS.fullmatch(name)}
    unread = [name for stream, name in topics.items() if stream not in readable]
    places = [TopicPartition(stream, 0) for stream in topics if stream in readable]
    try:
        ends = {place: each for place, each in cluster.ends(places).items() if each.log_end > each.log_start}
        ranges = {
            place: OffsetRange(max(each.log_start, each.log_end - _MOST_CHECKPOINTS), each.log_end)
            for place, each in ends.items()
        }
        read = cluster.tails(ranges).records if ranges else {}
        newest: dict[tuple[str, TopicPartition], int] = {}
        for record in (record for records in read.values() for record in records):
            if (found := _decoded(record.content.key, record.content.value)) is not None:
                newest[found.group_id, TopicPartition(inside(found.topic), found.partition)] = found.offset
        groups = sorted({group for group, _ in newest})[:_MOST_GROUPS]
        committed = cluster.group_offsets(groups) if groups else {}
    except ClusterError:
        return GroupSync(unread=list(topics.values()))
    return GroupSync([topics[place.topic] for place in ends], unread, newest, committed)


def judge_mirror_maker(config: Config, alias: str, own: Mapping[str, str], found: GroupSync) -> Iterator[Finding]:
    """Yield what MirrorMaker's *own* topics at a cluster show, names by stream; nothing where there is none."""
    lines = Lines(f"clusters.{alias}", CHECK)
    if unknown := [*found.hidden, *found.unread]:
        text = "may not be read; if its group sync writes here, grant Read, or its commits pass for a group's own"
        yield lines.of(Level.SKIP, unknown, f"{text}: {_GUIDE}")
    if not own:
        return
    if included := [name for stream, name in own.items() if config.is_topic_included(stream)]:
        text = "MirrorMaker's own, and included: nothing of it is ever mirrored; add it to topics.exclude"
        yield lines.of(Level.WARN, included, text)
    synced = _synced(found)
    if synced:
        count = f"{len(synced)} of {len(found.checkpoints or ())}"
        text = f"the offsets of {some({group for group, _ in synced})} are those of its checkpoints ({count})"
        text = f"{text}: it writes offsets of groups, unless they have read up to there here too; set"
        yield lines.of(Level.WARN, found.topics, f"{text} sync.group.offsets.enabled=false before we write: {_GUIDE}")
    elif found.topics:
        text = "it makes checkpoints, and no offset of a group is one of them: no sync of groups of its own shows"
        yield lines.of(Level.OK, found.topics, text)
    elif not unknown:
        yield lines.of(Level.OK, own.values(), "no checkpoint of a group here, so it has no sync of groups of its own")


def _synced(found: GroupSync) -> list[tuple[str, TopicPartition]]:
    """Return the checkpoints that are committed as offsets of groups, by a tool: it names no leader epoch, as we do."""
    held = found.committed or {}
    return [
        (group, place)
        for (group, place), offset in (found.checkpoints or {}).items()
        if offset > 0
        and (each := held.get(group, {}).get(place)) is not None
        and each.offset == offset
        and each.leader_epoch is None
    ]


def _decoded(key: bytes | None, value: bytes | None) -> MirrorCheckpoint | None:
    if key is None or value is None:
        return None
    try:
        return decode_checkpoint(key, value)
    except DecodeError:
        return None
