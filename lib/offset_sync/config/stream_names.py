"""Names of topics at clusters: a *stream* is what is translated, and each cluster has at most one name for it.

```
mirror.names: mm2           at dc1          at dc2          stream
dc1 produces orders         orders          dc1.orders      dc1.orders
dc2 produces orders         dc2.orders      orders          dc2.orders
```

With the same names everywhere a topic is its own stream. Inside everything is keyed by streams; names are for Kafka,
the tables and people. A topic that is no stream, such as one of the mirror's own, gets a name with its cluster: it is
not translated, and its rows keep its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from offset_sync.config.prefix_names import PrefixNames
    from offset_sync.config.rule_names import RuleNames

LONGEST_NAME = 249
"""Kafka's longest name of a topic."""
_APART = " at "  # no name of a topic and no alias has a space
Affix = tuple[str, str]
"""What may come before and after an origin's topic, as Java expressions."""


class Names:
    """The same names everywhere: every method returns the name itself."""

    is_same = True

    def stream(self, cluster: str, topic: str) -> str | None:
        """Return the stream that *cluster* calls *topic*; None where that is none."""
        return topic

    def topic(self, cluster: str, stream: str) -> str | None:
        """Return the name of *stream* at *cluster*; None where it has none."""
        return stream

    def inside(self, cluster: str, topic: str) -> str:
        """Return the stream, or for a topic that is none a name that no stream has."""
        return topic

    def called(self, cluster: str, stream: str) -> str | None:
        """Return the name that :meth:`inside` was given; None where *cluster* has no name for the stream.

        Requests to a cluster need it: the stream's own name may be that of another topic there.
        """
        return stream

    def outside(self, cluster: str, stream: str) -> str:
        """Return the same for rows and people: the stream where it has no name there."""
        return self.called(cluster, stream) or stream

    def origin_topic(self, stream: str) -> str | None:
        """Return the name of *stream* where it is produced; None where it is no stream."""
        return stream

    def home(self, stream: str) -> str | None:
        """Return the one cluster where records of *stream* are produced; None where any may."""
        return None

    def affixes(self, cluster: str) -> list[Affix]:
        """Return the affixes that names at *cluster* may add to those of origins."""
        return [("", "")]

    def problems(self, known: Mapping[str, Iterable[str]]) -> list[str]:
        """Return the conflicts of the topics that are *known* of each cluster, naming both topics."""
        return []

    @property
    def signature(self) -> str:
        """What the meaning of a stream depends on; empty for the same names."""
        return ""

    def __eq__(self, other: object) -> bool:
        """Whether streams have the same meaning in *other*."""
        return isinstance(other, Names) and self.signature == other.signature

    def __hash__(self) -> int:
        """Return a hash of the signature."""
        return hash(self.signature)


SAME_NAMES = Names()


class MirroredNames(Names):
    """Names by *naming*, which is pure. Threads may share this one; a process has one.

    A copy that came by way of another cluster has another name than a direct one, and only the clusters know which
    exists. So the first name of a stream that is met at a cluster is its name there; a second one is no stream, and one
    of :meth:`problems`. Errs to not translating it.
    """

    is_same = False

    def __init__(self, naming: PrefixNames | RuleNames) -> None:
        self._naming = naming
        self._name_of: dict[tuple[str, str], str] = {}
        self._stream_of: dict[tuple[str, str], str | None] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Return copies: other threads may add names while this is pickled."""
        return {name: dict(each) if isinstance(each, dict) else each for name, each in vars(self).items()}

    def stream(self, cluster: str, topic: str) -> str | None:
        """Return the stream that *cluster* calls *topic*; None where that is none."""
        known = (cluster, topic)
        if known not in self._stream_of:
            stream = None if topic.startswith("__") else self._naming.stream(cluster, topic)
            if stream is not None and self._name_of.setdefault((cluster, stream), topic) != topic:
                stream = None
            self._stream_of[known] = stream
        return self._stream_of[known]

    def topic(self, cluster: str, stream: str) -> str | None:
        """Return the name of *stream* at *cluster*; None where it has none."""
        known = self._name_of.get((cluster, stream))
        if known is not None:
            return known
        name = None if _APART in stream else self._naming.name(cluster, stream)
        return None if name is None or len(name) > LONGEST_NAME else name

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

    def origin_topic(self, stream: str) -> str | None:
        """Return the name of *stream* where it is produced; None where it is no stream."""
        return None if _APART in stream or stream.startswith("__") else self._naming.origin_topic(stream)

    def home(self, stream: str) -> str | None:
        """Return the one cluster where records of *stream* are produced; None where any may."""
        return None if _APART in stream else self._naming.home(stream)

    def affixes(self, cluster: str) -> list[Affix]:
        """Return the affixes that names at *cluster* may add to those of origins."""
        return self._naming.affixes(cluster)

    def problems(self, known: Mapping[str, Iterable[str]]) -> list[str]:
        """Return the conflicts of the topics that are *known* of each cluster, naming both topics."""
        found = []
        for cluster, topics in known.items():
            for topic in sorted(topics):
                stream = None if topic.startswith("__") else self._naming.stream(cluster, topic)
                self.stream(cluster, topic)
                first = topic if stream is None else self._name_of[cluster, stream]
                if first != topic:
                    text = f"{first} and {topic} are two names of one stream ({stream}); let one flow mirror it"
                    found.append(f"clusters.{cluster}: {text}")
                found += [f"clusters.{cluster}: {each}" for each in self._naming.problems(cluster, topic)]
        return found

    @property
    def signature(self) -> str:
        """What the meaning of a stream depends on."""
        return repr(self._naming)
