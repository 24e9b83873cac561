"""One cluster as ``check`` asks it: what it tells of itself and of our rights, and whom to ask for more."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from offset_sync.config import Config
from offset_sync.config.checkpoint_topics import checkpoint_topics
from offset_sync.kafka.cluster_admin import ClusterAdmin
from offset_sync.kafka.own_rights import Operations, OwnRights
from offset_sync.kafka.tail_reader import TailReader
from offset_sync.kafka.topic_names import open_admin, open_tails
from offset_sync.model.errors import ClusterError, ConfigError
from offset_sync.model.values import CONSUMER_OFFSETS
from offset_sync.state.known_names import learn_names

DEADLINE_S = 10.0
_CLUSTERS_AT_ONCE = 8
_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Cluster:
    """A cluster that answers: *admin* and *reader* ask it for more.

    *topics* has our rights by the cluster's own names, *partitions* has counts by stream; neither has topics that are
    not there. An error stands in the place of what we may not see: its name for a group and for the *settings* of a
    broker. *clashes* are what is wrong with the names of topics.
    """

    alias: str
    admin: ClusterAdmin
    reader: TailReader
    brokers: int = 1
    cluster_id: str | ClusterError = ""
    own_rights: Operations = frozenset()
    topics: Mapping[str, Operations | ClusterError] = field(default_factory=dict)
    partitions: Mapping[str, int] = field(default_factory=dict)
    groups: Sequence[str] = ()
    group_rights: Mapping[str, Operations | str] = field(default_factory=dict)
    settings: Mapping[str, str] | str = field(default_factory=dict)
    newest_commit_ms: int | None = None
    clashes: Sequence[str] = ()

    @property
    def place(self) -> str:
        """The path of the cluster in the configuration."""
        return f"clusters.{self.alias}"

    def may_read(self, topic: str) -> bool:
        """Whether Read is allowed on the topic of this name."""
        return may_read(self.topics.get(topic))


def may_read(rights: Operations | ClusterError | None) -> bool:
    """Whether Read is among *rights*."""
    return isinstance(rights, frozenset) and "READ" in rights


def ask_cluster(config: Config, rights: OwnRights) -> Cluster:
    """Return what a cluster tells, but for our rights on groups; raises ClusterError where it does not answer."""
    alias, names = rights.alias, config.names
    try:
        config.spark_options(alias)  # a key that Java cannot take shows here
    except ConfigError as error:
        raise ClusterError(alias, str(error).removeprefix(f"clusters.{alias}: ")) from error
    brokers = rights.brokers(DEADLINE_S)
    options = config.admin_options(alias)
    admin = open_admin(alias, options, names)
    partitions = {stream: each.partitions for stream, each in admin.topics().items()}
    clashes = _clashes(config, admin)
    called = (names.called(alias, each) for each in (*partitions, *config.named_topics()))
    checkpoints = (name for each in config.clusters if each != alias for name in checkpoint_topics(config, each))
    topics = rights.of_topics([*filter(None, called), *checkpoints, CONSUMER_OFFSETS])
    is_readable = may_read(topics.get(CONSUMER_OFFSETS))
    return Cluster(
        alias,
        admin,
        open_tails(alias, options, names),
        brokers=len(brokers),
        cluster_id=_cluster_id(rights) if config.mirror.known.asks_ids else "",
        own_rights=rights.of_cluster(),
        topics=topics,
        partitions=partitions,
        groups=rights.groups(),
        settings=rights.settings(brokers[0]),
        newest_commit_ms=rights.newest_ms(CONSUMER_OFFSETS, admin.partition_count(CONSUMER_OFFSETS) or 0)
        if is_readable
        else None,
        clashes=clashes,
    )


def _cluster_id(rights: OwnRights) -> str | ClusterError:
    try:
        return rights.cluster_id()
    except ClusterError as error:
        return error


def _clashes(config: Config, admin: ClusterAdmin) -> list[str]:
    try:
        learn_names(config, {admin.alias: admin})
    except ConfigError as error:
        return error.problems
    return []


def side_by_side(ask: Callable[[str], _Answer], aliases: Collection[str]) -> dict[str, _Answer | ClusterError]:
    """Return what *ask* answers for each cluster, or its ClusterError; a silent one keeps no other waiting."""

    def asked(alias: str) -> _Answer | ClusterError:
        try:
            return ask(alias)
        except ClusterError as error:
            return error

    with ThreadPoolExecutor(_CLUSTERS_AT_ONCE) as pool:
        return dict(zip(aliases, pool.map(asked, aliases), strict=True))


def answers(found: Mapping[str, _Answer | ClusterError]) -> dict[str, _Answer]:
    """Return what :func:`side_by_side` has *found* without the errors."""
    return {alias: each for alias, each in found.items() if not isinstance(each, ClusterError)}
