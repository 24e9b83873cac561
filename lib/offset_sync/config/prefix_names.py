"""MirrorMaker's DefaultReplicationPolicy: a copy has the alias of the cluster that it was read from before its name.

``dc1``'s ``orders`` is ``dc1.orders`` at ``dc2``, and ``dc2.dc1.orders`` where it was mirrored from there: the
innermost name is that of the origin. As in Kafka's class (``topicSource``, ``upstreamTopic``, ``originalTopic``), but
by known aliases only: ``pay.eu`` is local unless ``pay`` is a cluster.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from offset_sync.model.stream_names import Names

HEARTBEATS = "heartbeats"
"""MirrorMaker's topic that every policy of names renames, also the one that keeps all other names."""

_LONGEST = 249  # Kafka's longest name of a topic
_APART = " at "  # no name of a topic and no alias has a space


class PrefixNames(Names):
    """*aliases* are the mirror's, by ours; none followed by the *separator* is the beginning of another one.

    The name of a stream is that of its direct copy. One that came by way of another cluster has another name, and only
    the clusters know which exists. So the first name of a stream that is met at a cluster is its name there; a second
    one is no stream, and one of :meth:`problems`. Errs to not translating it. Threads may share this one; a process has
    one.
    """

    is_same = False

    def __init__(self, aliases: Mapping[str, str], separator: str) -> None:
        self.aliases, self.separator = aliases, separator
        self._prefixes = {cluster: f"{alias}{separator}" for cluster, alias in aliases.items()}
        self._name_of: dict[tuple[str, str], str] = {}
        self._stream_of: dict[tuple[str, str], str | None] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Return copies: other threads may add names while this is pickled."""
        return {name: dict(each) if isinstance(each, dict) else each for name, each in vars(self).items()}

    def stream(self, cluster: str, topic: str) -> str | None:
        """Return the stream that *cluster* calls *topic*; None where that is none.

        None for MirrorMaker's own topics, and for a copy of the cluster's own topic, of which MirrorMaker makes none:
        it would be mirrored in a cycle for ever.
        """
        known = (cluster, topic)
        if known not in self._stream_of:
            stream = None if topic.startswith("__") else self._named(cluster, topic)
            if stream is not None and self._name_of.setdefault((cluster, stream), topic) != topic:
                stream = None
            self._stream_of[known] = stream
        return self._stream_of[known]

    def topic(self, cluster: str, stream: str) -> str | None:
        """Return the name of *stream* at *cluster*, by default that of its direct copy; None where it has none."""
        known = self._name_of.get((cluster, stream))
        if known is not None:
            return known
        if (origin := self._origin(stream)) is None:
            return None
        name = origin[1] if cluster == origin[0] else stream
        return name if len(name) <= _LONGEST and self._named(cluster, name) == stream else None

    def inside(self, cluster: str, topic: str) -> str:
        """Return the stream, or for a topic that is none a name that no stream has."""
        if topic.startswith("__"):  # a cluster's own topic, which is no copy
            return topic
        stream = self.stream(cluster, topic)
        return f"{topic}{_APART}{cluster}" if stream is None else stream

    def called(self, cluster: str, stream: str) -> str | None:
        """Return the name that :meth:`inside` was given; None where *cluster* has no name for the stream."""
        if _APART in stream:
            name, _, where = stream.partition(_APART)
            return name if where == cluster else None
        return stream if stream.startswith("__") else self.topic(cluster, stream)

    def home(self, stream: str) -> str | None:
        """Return the one cluster where records of *stream* are produced; None where it is no stream."""
        origin = self._origin(stream)
        return None if origin is None else origin[0]

    def origin_topic(self, stream: str) -> str | None:
        """Return the name of *stream* where it is produced; None where it is no stream."""
        origin = self._origin(stream)
        return None if origin is None else origin[1]

    def problems(self, known: Mapping[str, Iterable[str]]) -> list[str]:
        """Return the conflicts of the topics that are *known* of each cluster, naming both topics."""
        found = []
        for cluster, topics in known.items():
            for topic in sorted(topics):
                stream = self._named(cluster, topic)
                self.stream(cluster, topic)
                if stream is not None and (first := self._name_of.get((cluster, stream), topic)) != topic:
                    text = f"{first} and {topic} are two names of one stream ({stream}); let one flow mirror it"
                    found.append(f"clusters.{cluster}: {text}")
        return found

    @property
    def signature(self) -> str:
        """What the meaning of a stream depends on."""
        return f"PrefixNames(aliases={self.aliases!r}, separator={self.separator!r})"

    def prefix_pattern(self, cluster: str) -> str:
        """Return a Java expression for what names at *cluster* may have before those of origins."""
        others = [each for each in self.aliases if each != cluster]
        on, once_more = self._any_of(others, "(?!{}|$)"), self._any_of(self.aliases, "(?!{}|$)")
        last, only = self._any_of(self.aliases, "(?={})"), self._any_of(others, "(?={})")
        return f"(?:{on}{once_more}*+{last}?+|{only})?+"

    def _named(self, cluster: str, topic: str) -> str | None:
        """Return the stream that the name *topic* says at *cluster*, whatever other names are known."""
        at, rest = cluster, topic
        while (hop := self._hop(at, rest)) is not None:
            at, rest = hop
        is_copied_back = at == cluster and rest != topic
        if self._is_mirrors_own(rest) or at not in self.aliases or is_copied_back:
            return None
        return f"{self._prefixes[at]}{rest}"

    def _origin(self, stream: str) -> tuple[str, str] | None:
        return None if _APART in stream else self._hop(None, stream)

    def _is_mirrors_own(self, topic: str) -> bool:
        is_internal = topic.startswith(".") or topic.endswith((".internal", f"{self.separator}internal"))
        return is_internal or topic == HEARTBEATS

    def _any_of(self, clusters: Iterable[str], ahead: str) -> str:
        """Return an expression for one of the prefixes, each followed by *ahead*, where ``{}`` is that prefix.

        At a cluster its own alias is no prefix of a copy, so the name begins there.
        """
        prefixes = [re.escape(self._prefixes[each]) for each in clusters]
        return "(?:" + "|".join(f"{each}{ahead.replace('{}', each)}" for each in prefixes) + ")"

    def _hop(self, at: str | None, topic: str) -> tuple[str, str] | None:
        """Return the cluster that the topic *at* a cluster was mirrored from, and its name there; None: it is local."""
        for cluster, prefix in self._prefixes.items():
            if cluster != at and topic.startswith(prefix) and len(topic) > len(prefix):
                return cluster, topic.removeprefix(prefix)
        return None
