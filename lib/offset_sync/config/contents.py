"""What the section ``mirror`` says of a mirror that stamps no headers: its copies are told by their contents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import PlainValidator

from offset_sync.config.duration import Duration, PositiveDuration
from offset_sync.config.problem import KeyPath, Problem
from offset_sync.config.sections import Count, Section

FINGERPRINT = "fingerprint"
_IDENTITY: KeyPath = ("mirror", "identity")
_FLOWS: KeyPath = ("mirror", "flows")
_STRATEGIES = ("exact", "off")
"""Others look at headers, or at nothing but times."""


def _to_pairs(flows: object) -> object:
    """Freeze the list; its content is checked by the rules, item by item."""
    if not isinstance(flows, (list, tuple)):
        return flows
    return tuple(tuple(item) if isinstance(item, (list, tuple)) else item for item in flows)


class Contents(Section):
    """What is known of the mirror, with *identity* ``fingerprint``.

    *flows* are from which cluster to which it copies, where the names of copies do not say it, and *exclusive* that
    nobody else writes to copies there. *order* says whether it may put records into another order for good, *keeps*
    what a copy has of its original beside key and value. It goes back at most *resend_window* and *resend_records*
    offsets. A copy that no unique one follows is decided after *hold*. Where times are not kept a copy stands at most
    *slack* offsets from where the order would have it.
    """

    identity: Literal["headers", "fingerprint"] = "headers"
    flows: Annotated[tuple[tuple[str, str], ...], PlainValidator(_to_pairs)] = ()
    exclusive: bool = False
    order: Literal["kept", "any"] = "kept"
    keeps: tuple[Literal["timestamps", "headers"], ...] = ("timestamps", "headers")
    resend_window: PositiveDuration = timedelta(hours=1)
    resend_records: Count = 1_000_000
    hold: Duration = timedelta(seconds=10)
    slack: Count = 1_000


def source_of_all(flows: Sequence[tuple[str, str]]) -> str | None:
    """Return the cluster at which all *flows*, which are checked, begin; None where there are none."""
    targets = {target for _, target in flows}
    return next((source for source, _ in flows if source not in targets), None)


def identity_problems(
    mirror: Mapping[str, Any], topics: Mapping[str, Any], aliases: Sequence[str]
) -> Iterator[Problem]:
    """Yield what does not go with ``mirror.identity``, by contents or by headers."""
    if mirror.get("identity") != FINGERPRINT:
        for key in ("flows", "exclusive"):
            if mirror.get(key):
                text = "is of mirror.identity: fingerprint, and headers tell what a copy is; remove it, or set that"
                yield Problem(("mirror", key), text)
        return
    if mirror.get("place_header"):
        text = "is no header that anybody looks at with mirror.identity: fingerprint; remove one of the two"
        yield Problem(("mirror", "place_header"), text)
    yield from _strategy_problems(topics)
    yield from _origin_problems(mirror, aliases)


def _strategy_problems(topics: Mapping[str, Any]) -> Iterator[Problem]:
    overrides = topics.get("overrides")
    named: list[tuple[KeyPath, object]] = [(("topics", "strategy"), topics.get("strategy", "exact"))]
    for number, each in enumerate(overrides if isinstance(overrides, (list, tuple)) else ()):
        if isinstance(each, Mapping):
            named.append((("topics", "overrides", number, "strategy"), each.get("strategy")))
    for path, strategy in named:
        if isinstance(strategy, str) and strategy not in _STRATEGIES:
            text = f"{strategy} does not go by contents, as mirror.identity: fingerprint has it; write exact or off"
            yield Problem(path, text)


def _origin_problems(mirror: Mapping[str, Any], aliases: Sequence[str]) -> Iterator[Problem]:
    """Yield why nobody can tell at which cluster a topic is produced."""
    names, flows = mirror.get("names", "same"), mirror.get("flows", ())
    if names == "mm2" and flows:
        yield Problem(_FLOWS, "is what the names of copies say with mirror.names: mm2; remove it")
    elif flows:
        yield from _flow_problems(flows, aliases)
        if mirror.get("exclusive", False) is False:
            text = (
                "has to be said where copies have the names of their originals: contents do not tell a copy from a "
                "record that is produced there; write true if nobody but the mirror writes to copies"
            )
            yield Problem(("mirror", "exclusive"), text)
    elif names == "same":
        text = (
            "is needed by mirror.identity: fingerprint with the same names, for nobody can tell from contents where a "
            "record was produced; write [[source, target], …], all of them from one cluster"
        )
        yield Problem(_FLOWS, text)


def _flow_problems(flows: object, aliases: Sequence[str]) -> Iterator[Problem]:
    if not isinstance(flows, (list, tuple)):
        yield Problem(_FLOWS, "is no list of flows; write [[source, target], …]")
        return
    into: dict[str, str] = {}
    for number, flow in enumerate(flows):
        path: KeyPath = (*_FLOWS, number)
        is_pair = isinstance(flow, (list, tuple)) and len(flow) == 2
        if not is_pair or not all(isinstance(alias, str) for alias in flow):
            yield Problem(path, "is no flow; write [source, target]")
            return
        source, target = flow
        if unknown := sorted({source, target} - {*aliases}):
            yield Problem(path, f"no cluster {' or '.join(map(repr, unknown))}; use aliases below clusters")
        elif source == target:
            yield Problem(path, "begins and ends at the same cluster; name two")
        elif target in into:
            yield Problem(path, f"is a second flow into {target}, beside that from {into[target]}; leave one")
        into.setdefault(target, source)
    roots = sorted({source for source, _ in flows} - into.keys())
    if len(roots) != 1 or any(alias not in into and alias != roots[0] for alias in aliases):
        yield Problem(_FLOWS, "does not lead from one cluster to all others; contents tell copies of one origin only")
