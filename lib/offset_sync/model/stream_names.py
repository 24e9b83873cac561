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


class Names:
    """The same names everywhere: every method returns the name itself."""

    is_same = True

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

    def prefix_pattern(self, cluster: str) -> str:
        """Return a Java expression for what names at *cluster* may have before those of origins."""
        return ""

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
