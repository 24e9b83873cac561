"""The whole configuration, with methods that answer the jobs' questions."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from itertools import permutations
from typing import Annotated, Any

from pydantic import AfterValidator, Field, PrivateAttr, ValidationInfo

from offset_sync.config.client_options import to_java, to_librdkafka
from offset_sync.config.extensions import Part, load_part
from offset_sync.config.mirror import Mirror
from offset_sync.config.name_patterns import is_match, java_any
from offset_sync.config.prefix_names import PrefixNames
from offset_sync.config.problems import Section, repeated
from offset_sync.config.sections import (
    Cluster,
    Directions,
    Extensions,
    Groups,
    Index,
    Maintenance,
    Metrics,
    Status,
    Strategy,
    Sync,
    Tables,
    Topics,
)
from offset_sync.model.errors import ConfigError
from offset_sync.model.stream_names import SAME_NAMES, Names
from offset_sync.model.values import CLUSTER_ID, OWN_GROUPS


def _with_origins(clusters: dict[str, Cluster], info: ValidationInfo) -> dict[str, Cluster]:
    mirror = info.data.get("mirror")
    if mirror is not None and mirror.is_closed:
        return clusters
    return {alias: c if c.origin else c.model_copy(update={"origin": alias}) for alias, c in clusters.items()}


class Config(Section):
    """The settings of all jobs; made by :func:`load_config`.

    Patterns match whole names of topics and groups; internal topics (``__…``) are never included.
    """

    mirror: Mirror = Mirror()  # first: it decides the default of an origin
    clusters: Annotated[dict[str, Cluster], AfterValidator(_with_origins)]
    directions: Directions = ()
    topics: Topics
    groups: Groups = Groups()
    sync: Sync = Sync()
    index: Index = Index()
    tables: Tables = Tables()
    status: Status = Status()
    metrics: Metrics = Metrics()
    maintenance: Maintenance = Maintenance()
    extensions: Extensions = Field(default_factory=dict)
    _names: Names = PrivateAttr(default=SAME_NAMES)
    _ids: Mapping[str, str] = PrivateAttr(default_factory=dict)

    def model_post_init(self, context: Any, /) -> None:
        """Set what depends on several sections. Names are learned later: copies of the configuration share them."""
        if self.mirror.names == "mm2":
            self._names = PrefixNames(self.mirror_aliases(), self.mirror.separator)

    def pairs(self) -> list[tuple[str, str]]:
        """Return every (source, target) that offsets are synced along, in the order of the file."""
        return [*dict.fromkeys(self.directions)] or [*permutations(self.clusters, 2)]

    def origins(self) -> dict[str, str]:
        """Return the alias for each value of the origin header; a cluster whose id is not known yet has none."""
        return {cluster.origin: alias for alias, cluster in self.clusters.items() if cluster.origin}

    def to_ask(self) -> list[str]:
        """Return the clusters whose origin is their id, which has to be fetched."""
        return [alias for alias, cluster in self.clusters.items() if not cluster.origin]

    @property
    def ids(self) -> Mapping[str, str]:
        """The ids that clusters had when they first answered, as far as known."""
        return self._ids

    def with_ids(self, ids: Mapping[str, str]) -> Config:
        """Return the same configuration for the clusters with these *ids*; clients refuse others.

        Where the mirror's headers have ids they are the origins, unless others are configured. Raises ConfigError where
        two clusters have the same id or origin.
        """
        clusters = {
            alias: cluster.model_copy(update={"origin": cluster.origin or ids.get(alias, "")})
            for alias, cluster in self.clusters.items()
        }
        origins = {alias: cluster.origin for alias, cluster in clusters.items()}
        if problems := same_ids(ids) or same_ids(origins):
            raise ConfigError(problems)
        made = self.model_copy(update={"clusters": clusters})
        made._ids = ids
        return made

    def spark_options(self, alias: str) -> dict[str, str]:
        """Return :meth:`java_options` of *alias* for Spark's Kafka source, each with the prefix ``kafka.``."""
        return {f"kafka.{name}": value for name, value in self.java_options(alias).items()}

    def java_options(self, alias: str) -> dict[str, str]:
        """Return the options of *alias* for a Java client; raises ConfigError where a key cannot be read."""
        return to_java(self.clusters[alias], alias)

    def admin_options(self, alias: str) -> dict[str, str]:
        """Return the options of *alias* for librdkafka: the common ones, overridden by ``admin``."""
        known = {CLUSTER_ID: self._ids[alias]} if alias in self._ids else {}
        return {**to_librdkafka(self.clusters[alias]), **known}

    def mirror_aliases(self) -> dict[str, str]:
        """Return the mirror's alias of each cluster, by default its alias here."""
        return {alias: cluster.mirror_alias or alias for alias, cluster in self.clusters.items()}

    def polled(self) -> frozenset[str]:
        """Return the clusters whose groups' commits are polled from the coordinators, not read from their log."""
        return frozenset(alias for alias, cluster in self.clusters.items() if cluster.commits == "admin")

    @property
    def names(self) -> Names:
        """Names of topics at clusters. The methods below take streams; with the same names these are topics."""
        return self._names

    def strategy_of(self, stream: str) -> Strategy:
        """Return how offsets of *stream* are translated; ``off`` too for one that is not included."""
        topics, topic = self.topics, self._names.origin_topic(stream)
        if topic is None or topic.startswith("__"):
            return "off"
        if not is_match(topics.include, topic) or is_match(topics.exclude, topic):
            return "off"
        return next((each.strategy for each in topics.overrides if is_match(each.topics, topic)), topics.strategy)

    @property
    def is_stamped(self) -> bool:
        """Whether copies are told by the mirror's headers, and by no extension."""
        return not self.extensions

    def of_extension(self, part: Part) -> Any:
        """Return a part of the extension that is switched on, see :mod:`offset_sync.config.extensions`."""
        return load_part(next(iter(self.extensions)), part)

    def is_timed(self, stream: str) -> bool:
        """Whether *stream* is translated by timestamp: its runs also end where the timestamp changes."""
        return self.strategy_of(stream) == "timestamp"

    def timed_topics(self) -> Callable[[str], bool] | None:
        """Return :meth:`is_timed`, None where it is false for all streams."""
        return self.is_timed if "timestamp" in self.topics.strategies else None

    def is_topic_included(self, stream: str) -> bool:
        """Whether *stream* is indexed and synced at all: its strategy is not ``off``."""
        return self.strategy_of(stream) != "off"

    def named_topics(self) -> list[str]:
        """Return the streams of included topics that the file names in full, without a request to a cluster."""
        names = (pattern.replace("\\.", ".") for pattern in self.topics.include)
        plain = [name for name in names if not re.search(r"[^a-zA-Z0-9._-]", name)]
        streams = (self._names.inside(alias, name) for name in plain for alias in self.clusters)
        return [each for each in dict.fromkeys(streams) if self.is_topic_included(each)]

    def topic_pattern(self, without: Collection[str] = (), cluster: str | None = None) -> str:
        """Return a Java expression that matches the included topics, for Spark's ``subscribePattern``.

        With the same names it is exact. Else it is for *cluster*, and errs to more. *without* are names to leave out.
        Spark lists the topics by it for every micro-batch.
        """
        prefix = self._names.prefix_pattern(cluster or next(iter(self.clusters)))
        left_out = f"(?!{java_any(list(map(re.escape, sorted(without))))}$)" if without else ""
        is_on = "(?!)" if self.topics.strategy == "off" else ""  # which never matches
        for override in reversed(self.topics.overrides):
            named = f"{java_any(override.topics)}$"
            if override.strategy == "off":
                is_on = f"(?!{named}){is_on}"
            elif is_on:
                is_on = f"(?:(?={named})|(?!{named}){is_on})"
        excluded = f"(?!{java_any(self.topics.exclude)}$)" if self.topics.exclude else ""
        return f"^(?!__){left_out}{prefix}{excluded}{is_on}{java_any(self.topics.include)}$"

    def is_group_included(self, group_id: str) -> bool:
        """Whether the offsets of *group_id* are synced; never those of the empty id, which has no coordinator.

        Nor those of groups that hold read lists, whatever the file says.
        """
        is_included = is_match(self.groups.include, group_id) and not is_match(self.groups.exclude, group_id)
        return is_included and group_id != "" and not group_id.startswith(OWN_GROUPS)

    def has_read_list(self, group_id: str) -> bool:
        """Whether *group_id* gets read lists of the records that it has read above its offset."""
        return is_match(self.sync.read_lists.groups, group_id) and self.is_group_included(group_id)


def same_ids(ids: Mapping[str, str]) -> list[str]:
    """Return a line for each alias whose cluster has another alias too, by their *ids*."""
    return [
        f"clusters.{alias}: is the same cluster as clusters.{first}, with the id {ids[alias]}; correct "
        "bootstrap.servers of one of them, or see docs/operations.md, A cluster with another id"
        for alias, first in repeated(ids).items()
    ]
