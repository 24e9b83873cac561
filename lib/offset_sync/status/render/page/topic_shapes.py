"""Shapes of topics: where the newest records were produced, and what the mirror has yet to bring."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from functools import cache

import pyarrow as pa

from offset_sync.model.text import visible
from offset_sync.status.rollup import TOPIC

_TINY = 0.0005


def with_shapes(topics: pa.Table, status: pa.Table) -> pa.Table:
    """Return *topics*, rolled up by TOPIC from *status*, with three columns of text for people.

    ``origins``: the mean share of each origin over the partitions that say theirs, ``dc1 52 %, dc2 48 %``.
    ``mirror_by_origin``: the records per origin that are under way, ``dc1 12``; empty where there are none.
    ``target_topic``: what it is called at the target; null where it has no name there.
    """
    logs = status.group_by([*TOPIC, "partition"], use_threads=False).aggregate(
        [("origin_share", "first"), ("mirror_lag_by_origin", "first"), ("target_topic", "first")]
    )
    shares: dict[tuple[str, ...], list[Mapping[str, float]]] = defaultdict(list)
    lags: dict[tuple[str, ...], list[Mapping[str, float]]] = defaultdict(list)
    called: dict[tuple[str, ...], str | None] = {}
    for row in logs.to_pylist():
        key = tuple(row[name] for name in TOPIC)
        called[key] = row["target_topic_first"]
        shares[key].append(_parsed(row["origin_share_first"]))
        lags[key].append(_parsed(row["mirror_lag_by_origin_first"]))
    keys = list(zip(*(topics[name].to_pylist() for name in TOPIC), strict=True))
    origins = [_shape_text([each for each in shares[key] if each]) for key in keys]
    waiting = [_lag_text(lags[key]) for key in keys]
    texts = {"origins": origins, "mirror_by_origin": waiting, "target_topic": [called[key] for key in keys]}
    for name, values in texts.items():
        topics = topics.append_column(name, pa.array(values, pa.string()))
    return topics


@cache
def _parsed(text: str | None) -> Mapping[str, float]:
    found: Mapping[str, float] = json.loads(text) if text else {}
    return found


def _shape_text(shares: list[Mapping[str, float]]) -> str:
    means = {name: value / len(shares) for name, value in _sums(shares).items()}
    shown = sorted(((-mean, name) for name, mean in means.items() if mean > _TINY))
    return ", ".join(f"{visible(name)} {_percent(-mean)}" for mean, name in shown)


def _lag_text(lags: list[Mapping[str, float]]) -> str:
    return ", ".join(f"{visible(name)} {count:,.0f}" for name, count in sorted(_sums(lags).items()) if count)


def _percent(share: float) -> str:
    return "100 %" if share > 1 - _TINY else f"{100 * share:.1f} %" if share > 0.99 else f"{100 * share:.0f} %"


def _sums(parts: list[Mapping[str, float]]) -> Mapping[str, float]:
    totals: dict[str, float] = defaultdict(float)
    for part in parts:
        for name, value in part.items():
            totals[name] += value
    return totals
