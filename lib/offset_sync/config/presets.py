"""The mirrors whose headers are known: what ``mirror.preset`` stands for, and which configurations it refuses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from offset_sync.config.problem import KeyPath, Problem
from offset_sync.decode.mirror_headers import ORIGIN_BYTES, Encoding

OWN: Final = "offset-sync"
REDPANDA: Final = "redpanda-migrator"
LENSES: Final = "lenses-k2k"


@dataclass(frozen=True)
class Preset:
    """What a mirror stamps on each copy.

    *place* are the two headers with topic and partition of the original. *asks_ids*: the origin is Kafka's own id of
    the cluster. *is_closed*: an origin that the configuration does not know, or that is the cluster itself, tells of
    another hop, at which the offset means another record; so it is no identity.
    """

    origin_header: str
    offset_header: str
    offset_encoding: Encoding
    place: tuple[str, str] | None = None
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
    # docs.lenses.io names the headers. How the numbers are encoded it does not say: text is a guess, which no int64
    # passes for, and nothing was tried.
    LENSES: Preset("k2k_pipeline", "k2k_offset", "text", ("k2k_topic", "k2k_partition"), is_closed=True),
}
_UNDOCUMENTED = (LENSES, "offset_encoding")


def preset_of(mirror: Mapping[str, Any]) -> Preset:
    """Return the preset that the section names; the first one where it names none that there is."""
    name = mirror.get("preset", OWN)
    return PRESETS.get(name, PRESETS[OWN]) if isinstance(name, str) else PRESETS[OWN]


def preset_problems(mirror: Mapping[str, Any], origins: Mapping[str, object]) -> Iterator[Problem]:
    """Yield what the preset in the section *mirror* does not go with; *origins* are those given, None else, by alias.

    ``offset-sync`` is the mirror that may be told everything, so nothing contradicts it.
    """
    name = str(mirror.get("preset", OWN))
    if name != LENSES and mirror.get("pipelines"):
        text = f"goes with mirror.preset {LENSES} only, and the preset is {name}; remove it, or set the preset"
        yield Problem(("mirror", "pipelines"), text)
    if name == OWN or name not in PRESETS:
        return
    yield from _contradictions(name, mirror)
    if name == REDPANDA and len(origins) > 2:
        yield Problem(
            ("mirror", "preset"),
            f"{REDPANDA} goes with two clusters, and there are {len(origins)}: at every hop it keeps the id of the "
            "first cluster and writes the offset anew, so what comes by way of a third one has an offset of another "
            "cluster than it says; leave two clusters, or have a mirror that keeps both",
        )
    if name == LENSES:
        yield from _pipeline_problems(mirror.get("pipelines"), list(origins))
        for alias in (alias for alias, origin in origins.items() if origin not in (None, alias)):
            text = f"is told by mirror.pipelines where mirror.preset is {LENSES}; remove it"
            yield Problem(("clusters", alias, "origin"), text)


def _contradictions(name: str, mirror: Mapping[str, Any]) -> Iterator[Problem]:
    preset = PRESETS[name]
    for key, expected in preset.defaults().items():
        given = mirror.get(key, expected)
        if given not in (None, "", expected) and (name, key) != _UNDOCUMENTED:
            text = f"{given!r} contradicts mirror.preset {name}, which has {expected!r}; remove it, or the preset"
            yield Problem(("mirror", key), text)
    if preset.place and (given := mirror.get("place_header")):
        text = f"{given!r} contradicts mirror.preset {name}, which has {' and '.join(preset.place)}"
        yield Problem(("mirror", "place_header"), f"{text}; remove it, or the preset")


def _pipeline_problems(pipelines: object, aliases: Sequence[str]) -> Iterator[Problem]:
    path: KeyPath = ("mirror", "pipelines")
    if not pipelines:
        yield Problem(path, f"is needed by mirror.preset {LENSES}; write {{pipeline: alias of its source, …}}")
    if not isinstance(pipelines, Mapping):
        return
    for name, alias in pipelines.items():
        if not 0 < len(str(name).encode()) <= ORIGIN_BYTES:
            yield Problem((*path, name), f"is no name of a pipeline; write 1 to {ORIGIN_BYTES} bytes")
        elif isinstance(alias, str) and alias not in aliases:
            yield Problem((*path, name), f"no cluster {alias!r}; use an alias below clusters")
    sources = {alias for alias in pipelines.values() if isinstance(alias, str)}
    if len(aliases) > 2 and len(sources) > 1:
        yield Problem(
            path,
            f"have {len(sources)} sources among {len(aliases)} clusters, and what K2K does to the headers of a copy "
            "that it copies on is not documented: its offset could be of another cluster than its pipeline; have all "
            "pipelines begin at one cluster, or leave two clusters",
        )
