"""The whole configuration, with the questions that the jobs ask it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    Field,
    ModelWrapValidatorHandler,
    PlainValidator,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from offset_sync.config.client_options import to_librdkafka
from offset_sync.config.contents import FINGERPRINT, source_of_all
from offset_sync.config.error_messages import explain
from offset_sync.config.mirror import Mirror
from offset_sync.config.name_patterns import is_match
from offset_sync.config.name_rules import mirror_aliases, to_names
from offset_sync.config.problem import KeyPath, Problem, first_per_path
from offset_sync.config.redaction import shown
from offset_sync.config.sections import (
    Cluster,
    Groups,
    Index,
    Maintenance,
    Metrics,
    Section,
    Status,
    Strategy,
    Sync,
    Tables,
    Topics,
)
from offset_sync.config.security_options import to_java_security, to_librdkafka_security
from offset_sync.config.stream_names import SAME_NAMES, Names
from offset_sync.config.topic_pattern import topic_pattern
from offset_sync.config.validation import rule_problems
from offset_sync.model.errors import ConfigError

_TIMED = frozenset({"timestamp", "identity"})


def _with_origins(clusters: dict[str, Cluster], info: ValidationInfo) -> dict[str, Cluster]:
    mirror = info.data.get("mirror")
    if mirror is not None and mirror.known.asks_ids:
        return clusters
    return {alias: c if c.origin else c.model_copy(update={"origin": alias}) for alias, c in clusters.items()}


def _to_pairs(directions: object) -> object:
    """Freeze the list; its content is checked by the rules, item by item."""
    if not isinstance(directions, (list, tuple)):
        return directions
    return tuple(tuple(item) if isinstance(item, (list, tuple)) else item for item in directions)


class Config(Section):
    """Everything a job needs to know; made by :func:`load_config`.

    Validation raises ConfigError with every problem at once, not pydantic's error. Topic and group questions match
    whole names; internal topics (``__…``) are never included.
    """

    mirror: Mirror = Field(default_factory=Mirror)  # first: it says what an origin is where none is given
    clusters: Annotated[dict[str, Cluster], AfterValidator(_with_origins)]
    directions: Annotated[Literal["all"] | tuple[tuple[str, str], ...], PlainValidator(_to_pairs)] = "all"
    topics: Topics
    groups: Groups = Field(default_factory=Groups)
    sync: Sync = Field(default_factory=Sync)
    index: Index = Field(default_factory=Index)
    tables: Tables = Field(default_factory=Tables)
    status: Status = Field(default_factory=Status)
    metrics: Metrics = Field(default_factory=Metrics)
    maintenance: Maintenance = Field(default_factory=Maintenance)
    _hidden: frozenset[KeyPath] = PrivateAttr(default=frozenset())
    _names: Names = PrivateAttr(default=SAME_NAMES)

    @model_validator(mode="wrap")
    @classmethod
    def _all_problems_at_once(
        cls, tree: object, validate: ModelWrapValidatorHandler[Config], info: ValidationInfo
    ) -> Config:
        found_before: Sequence[Problem] = info.context or ()  # when the file was read and substituted
        broken_rules = list(rule_problems(tree)) if isinstance(tree, Mapping) else []
        try:
            config = validate(tree)
        except ValidationError as error:
            raise ConfigError(first_per_path([found_before, [*explain(error, cls), *broken_rules]])) from None
        if found_before or broken_rules:
            raise ConfigError(first_per_path([found_before, broken_rules]))
        return config

    def pairs(self) -> list[tuple[str, str]]:
        """Return every (source, target) that offsets are synced along, in the order of the file."""
        if self.directions != "all":
            return list(self.directions)
        return [(source, target) for source in self.clusters for target in self.clusters if source != target]

    def origins(self) -> dict[str, str]:
        """Return the alias for each value that the origin header can have; a cluster still to be asked has none."""
        return {cluster.origin: alias for alias, cluster in self.clusters.items() if cluster.origin}

    def to_ask(self) -> list[str]:
        """Return the clusters that have to be asked for their origin, which is their id."""
        return [alias for alias, cluster in self.clusters.items() if not cluster.origin]

    def with_origins(self, asked: Mapping[str, str]) -> Config:
        """Return the same configuration with the origins *asked*, by alias; one that is given stays.

        Raises ConfigError where two clusters have the same one.
        """
        origins = {alias: cluster.origin or asked.get(alias, "") for alias, cluster in self.clusters.items()}
        owner: dict[str, str] = {}
        for alias, origin in origins.items():
            if origin and owner.setdefault(origin, alias) != alias:
                path = f"clusters.{alias}.origin: {origin!r} is the id of clusters.{owner[origin]} too"
                raise ConfigError([f"{path}; correct bootstrap.servers of one of them, or give each its own origin"])
        clusters = {a: c.model_copy(update={"origin": origins[a]}) for a, c in self.clusters.items()}
        return self.model_copy(update={"clusters": clusters})

    def spark_options(self, alias: str) -> dict[str, str]:
        """Return the options of *alias* for Spark's Kafka source, each with the prefix ``kafka.``.

        Raises ConfigError where a key file cannot be read: it is read anew each time, so a new one is taken up.
        """
        return {f"kafka.{name}": value for name, value in self.java_options(alias).items()}

    def java_options(self, alias: str) -> dict[str, str]:
        """Return the same options for a client of Kafka's own."""
        cluster = self.clusters[alias]
        return {**cluster.kafka, **cluster.spark, **to_java_security(cluster.security, alias)}

    def admin_options(self, alias: str) -> dict[str, str]:
        """Return the options of *alias* for librdkafka: the common ones it understands, and ``admin`` over them."""
        cluster = self.clusters[alias]
        return {**to_librdkafka(cluster.kafka), **to_librdkafka_security(cluster.security), **cluster.admin}

    def model_post_init(self, _context: Any) -> None:
        """Make out what topics are called where; once, for names are learned."""
        aliases = mirror_aliases({alias: dict(cluster) for alias, cluster in self.clusters.items()})
        with suppress(AssertionError, KeyError, TypeError):  # wrong rules, which are reported by then
            self._names = to_names(self.mirror.names, self.mirror.separator, aliases)

    @property
    def names(self) -> Names:
        """What topics are called where. Questions below are about streams; with the same names these are topics."""
        return self._names

    def strategy_of(self, stream: str) -> Strategy:
        """Return how offsets of *stream* are translated; ``off`` too for one that is not included."""
        topics, topic = self.topics, self._names.origin_topic(stream)
        if topic is None or topic.startswith("__") or (self.is_by_contents and self.origin_of(stream) is None):
            return "off"
        if not is_match(topics.include, topic) or is_match(topics.exclude, topic):
            return "off"
        return next((each.strategy for each in topics.overrides if is_match(each.topics, topic)), topics.strategy)

    def original_of(self, stream: str) -> str | None:
        """Return the cluster of which the others hold *stream* as a copy, byte for byte; None: it is not so copied.

        Names that say where it is produced are believed.
        """
        if self.strategy_of(stream) != "identity":
            return None
        return self._names.home(stream) or self.topics.origin_of(self._names.origin_topic(stream) or stream)

    @property
    def has_copies(self) -> bool:
        """Whether any topic may be copied byte for byte."""
        return "identity" in self.topics.strategies

    @property
    def is_by_contents(self) -> bool:
        """Whether copies are told by their contents: the mirror stamps no headers."""
        return self.mirror.identity == FINGERPRINT

    def origin_of(self, stream: str) -> str | None:
        """Return the one cluster where *stream* is produced; None where any may, and headers tell."""
        return self._names.home(stream) or source_of_all(self.mirror.flows)

    def is_timed(self, stream: str) -> bool:
        """Whether *stream* is translated, or checked, by timestamp: its runs also end where the timestamp changes."""
        return self.strategy_of(stream) in _TIMED

    def timed_topics(self) -> Callable[[str], bool] | None:
        """Return :meth:`is_timed`, None where it is true of no stream."""
        return None if self.topics.strategies.isdisjoint(_TIMED) else self.is_timed

    def is_topic_included(self, stream: str) -> bool:
        """Whether *stream* is indexed and synced at all: its strategy is not ``off``."""
        return self.strategy_of(stream) != "off"

    def named_topics(self) -> list[str]:
        """Return the streams of included topics that the file names in full, known without asking a cluster."""
        names = list(dict.fromkeys(pattern.replace("\\.", ".") for pattern in self.topics.include))
        plain = [name for name in names if not re.search(r"[^a-zA-Z0-9._-]", name)]
        streams = (self._names.inside(alias, name) for name in plain for alias in self.clusters)
        return [each for each in dict.fromkeys(streams) if self.is_topic_included(each)]

    def topic_pattern(self, without: Collection[str] = (), cluster: str | None = None) -> str:
        """Return a Java expression that matches the included topics, for Spark's ``subscribePattern``.

        With the same names exactly those. Else it is for *cluster*, and errs to more. *without* are names to leave out.
        """
        affixes = self._names.affixes(cluster or next(iter(self.clusters)))
        return topic_pattern(self.topics, without, affixes)

    def is_group_included(self, group_id: str) -> bool:
        """Whether the offsets of *group_id* are synced; never those of the empty id, which has no coordinator."""
        is_included = is_match(self.groups.include, group_id) and not is_match(self.groups.exclude, group_id)
        return is_included and group_id != ""

    def hiding(self, paths: Iterable[KeyPath]) -> Config:
        """Return the same configuration that also hides the values at *paths*."""
        hiding = self.model_copy()
        hiding._hidden = self._hidden | frozenset(paths)
        return hiding

    def redacted(self) -> dict[str, Any]:
        """Return the effective configuration as plain values; ``***`` for secrets and whatever came from ``${…}``."""
        return {name: shown(getattr(self, name), (name,), self._hidden) for name in type(self).model_fields}

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        yield from self.redacted().items()
