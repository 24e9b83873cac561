"""The mirrors whose headers are known: what ``mirror.preset`` stands for, and which configurations it refuses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from offset_sync.config.problem import Problem
from offset_sync.decode.mirror_headers import Encoding

OWN: Final = "offset-sync"
REDPANDA: Final = "redpanda-migrator"


@dataclass(frozen=True)
class Preset:
    """What a mirror stamps on each copy.

    *asks_ids*: the origin is Kafka's own id of the cluster. *is_closed*: an origin that the configuration does not
    know, or that is the cluster itself, tells of another hop, at which the offset means another record; so it is no
    identity.
    """

    origin_header: str
    offset_header: str
    offset_encoding: Encoding
    asks_ids: bool = False
    is_closed: bool = False

    def defaults(self) -> dict[str, str]:
        """Return the keys of the section ``mirror`` that it sets."""
        return {name: getattr(self, name) for name in ("origin_header", "offset_header", "offset_encoding")}


PRESETS: Mapping[str, Preset] = {
    OWN: Preset("IDC", "Offset", "text"),
    # redpanda-data/connect, internal/impl/redpanda/migrator/migrator.go: the provenance of the first hop is kept, the
    # offset is written anew at every hop.
    REDPANDA: Preset(
        "redpanda-migrator-provenance", "redpanda-migrator-offset", "int64", asks_ids=True, is_closed=True
    ),
}


def preset_of(mirror: Mapping[str, Any]) -> Preset:
    """Return the preset that the section names; the first one where it names none that there is."""
    name = mirror.get("preset", OWN)
    return PRESETS.get(name, PRESETS[OWN]) if isinstance(name, str) else PRESETS[OWN]


def preset_problems(mirror: Mapping[str, Any], cluster_count: int) -> Iterator[Problem]:
    """Yield what the preset in the section *mirror* does not go with.

    ``offset-sync`` is the mirror that may be told everything, so nothing contradicts it.
    """
    if mirror.get("preset") != REDPANDA:
        return
    for key, expected in PRESETS[REDPANDA].defaults().items():
        given = mirror.get(key, expected)
        if given not in (None, "", expected):
            text = f"{given!r} contradicts mirror.preset {REDPANDA}, which has {expected!r}; remove it, or the preset"
            yield Problem(("mirror", key), text)
    if cluster_count > 2:
        yield Problem(
            ("mirror", "preset"),
            f"{REDPANDA} goes with two clusters, and there are {cluster_count}: at every hop it keeps the id of the "
            "first cluster and writes the offset anew, so what comes by way of a third one has an offset of another "
            "cluster than it says; leave two clusters, or have a mirror that keeps both",
        )
