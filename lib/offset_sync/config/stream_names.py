"""What a topic is called where: a *stream* is what is translated, and each cluster holds it under one name at most.

```
mirror.names: mm2           at dc1          at dc2          stream
dc1 produces orders         orders          dc1.orders      dc1.orders
dc2 produces orders         dc2.orders      orders          dc2.orders
```

With the same names everywhere a topic is its own stream. Inside everything is keyed by streams; names are for Kafka,
the tables and people. A name that is no stream, as a topic of the mirror's own, is kept apart by its cluster: nothing
is translated of it, and what is known of it keeps its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from offset_sync.config.prefix_names import PrefixNames
    from offset_sync.config.rule_names import RuleNames

LONGEST_NAME = 249
"""Kafka takes no longer name of a topic."""
_APART = " at "  # no name of a topic and no alias has a space
Affix = tuple[str, str]
"""What may come before and behind an origin's topic, as expressions that Java reads."""


class Names:
    """The same names everywhere: every question is answered by the name itself."""

    is_same = True

    def stream(self, cluster: str, topic: str) -> str | None:
        """Return the stream that *cluster* calls *topic*; None where that is none."""
        return topic

    def topic(self, cluster: str, stream: str) -> str | None:
        """Return what *stream* is called at *cluster*; None where it has no name there."""
        return stream

    def inside(self, cluster: str, topic: str) -> str:
        """Return the stream, or for what is none a name that no stream has."""
        return topic

    def called(self, cluster: str, stream: str) -> str | None:
        """Return the name again that :meth:`inside` was given; None for what *cluster* has no name for.

        What to ask a cluster for: the stream may be the name of something else there.
        """
        return stream

    def outside(self, cluster: str, stream: str) -> str:
        """Return the same for rows and people: of what has no name there, the stream."""
        return self.called(cluster, stream) or stream

    def origin_topic(self, stream: str) -> str | None:
        """Return what *stream* is called where it is produced; None where it is no stream."""
        return stream

    def home(self, stream: str) -> str | None:
        """Return the one cluster where records of *stream* are produced; None where any may."""
        return None

    def affixes(self, cluster: str) -> list[Affix]:
        """Return what names at *cluster* may add to those of origins."""
        return [("", "")]

    def problems(self, known: Mapping[str, Iterable[str]]) -> list[str]:
        """Return what is wrong with the topics that are *known* of each cluster, naming both that clash."""
        return []

    @property
    def signature(self) -> str:
        """What the meaning of a stream depends on; empty for the same names."""
        return ""

    def __eq__(self, other: object) -> bool:
        """Whether streams mean the same to *other*."""
        return isinstance(other, Names) and self.signature == other.signature

    def __hash__(self) -> int:
        """Return a hash of what streams mean."""
        return hash(self.signature)


SAME_NAMES = Names()


class MirroredNames(Names):
    """Names as *naming* has them, which is pure. Threads may share this one; a process has one.

    A copy that has come by way of another cluster is called otherwise than one that came straight, and only the
    clusters know which there is. So the first name that is met of a stream at a cluster is its name there; a second one
    is no stream, and one of :meth:`problems`. Errs to translating nothing of it.
    """

    is_same = False

    def __init__(self, naming: PrefixNames | RuleNames) -> None:
        self._naming = naming
        self._name_of: dict[tuple[str, str], str] = {}
        self._stream_of: dict[tuple[str, str], str | None] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Return what is known now: others may learn more while this is pickled."""
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
        """Return what *stream* is called at *cluster*; None where it has no name there."""
        known = self._name_of.get((cluster, stream))
        if known is not None:
            return known
        name = None if _APART in stream else self._naming.name(cluster, stream)
        return None if name is None or len(name) > LONGEST_NAME else name

    def inside(self, cluster: str, topic: str) -> str:
        """Return the stream, or for what is none a name that no stream has."""
        if topic.startswith("__"):  # a cluster's own, which is no copy
            return topic
        stream = self.stream(cluster, topic)
        return f"{topic}{_APART}{cluster}" if stream is None else stream

    def called(self, cluster: str, stream: str) -> str | None:
        """Return the name again that :meth:`inside` was given; None for what *cluster* has no name for."""
        if _APART in stream:
            name, _, where = stream.partition(_APART)
            return name if where == cluster else None
        return stream if stream.startswith("__") else self.topic(cluster, stream)

    def origin_topic(self, stream: str) -> str | None:
        """Return what *stream* is called where it is produced; None where it is no stream."""
        return None if _APART in stream or stream.startswith("__") else self._naming.origin_topic(stream)

    def home(self, stream: str) -> str | None:
        """Return the one cluster where records of *stream* are produced; None where any may."""
        return None if _APART in stream else self._naming.home(stream)

    def affixes(self, cluster: str) -> list[Affix]:
        """Return what names at *cluster* may add to those of origins."""
        return self._naming.affixes(cluster)

    def problems(self, known: Mapping[str, Iterable[str]]) -> list[str]:
        """Return what is wrong with the topics that are *known* of each cluster, naming both that clash."""
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
