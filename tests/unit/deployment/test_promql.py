"""The reader of PromQL finds every metric and label that an expression names."""

from __future__ import annotations

import pytest

from tools.promql import problems, read_expression

STALE = "offset_sync_staleness_seconds"


@pytest.mark.parametrize(
    ("text", "selectors", "grouping"),
    [
        ("up", [("up", set())], set()),
        ('sum by (a, b) (rate(x_total{c="}(by) y", d!~"z"}[5m])) > 0.5', [("x_total", {"c", "d"})], {"a", "b"}),
        ("max(x) by (a) / on (b) group_left (c) y or z{}", [("x", set()), ("y", set()), ("z", set())], {"a", "b", "c"}),
        ("topk(5, x) unless time() - y > 1e3 # up", [("x", set()), ("y", set())], set()),
        ("histogram_quantile(0.99, sum by (le) (rate(h_bucket[$__rate_interval])))", [("h_bucket", set())], {"le"}),
        ("x offset 5m == bool 1", [("x", set())], set()),
    ],
)
def test_metrics_and_labels_are_found(text: str, selectors: list[tuple[str, set[str]]], grouping: set[str]) -> None:
    found = read_expression(text)
    assert found.selectors == selectors
    assert found.grouping == grouping


@pytest.mark.parametrize("text", ["x & y", "x[5]", "x[5 m]", "sum(x", "frobnicate(x)", 'x{a="b}', "x @ 5", "sum(x))"])
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        read_expression(text)


@pytest.mark.parametrize(
    ("text", "shown", "said"),
    [
        (f'max by (source) ({STALE}{{outcome="FAILED"}})', ["source"], None),
        ("offset_sync_staleness", [], "offset_sync_staleness does not exist"),
        ("offset_sync_batch_seconds", [], "offset_sync_batch_seconds does not exist"),
        ("offset_sync_batch_seconds_bucket", ["le", "instance"], None),
        (f'{STALE}{{cluster="x"}}', [], f"{STALE} has no label cluster"),
        (f"max by (cluster) ({STALE})", [], f"no metric has the label cluster: max by (cluster) ({STALE})"),
        (STALE, ["group_id"], f"no metric has the label group_id: {STALE}"),
        (f"max by (source) ({STALE})", ["target"], f"target is not left after grouping: max by (source) ({STALE})"),
        ("vector(1)", [], "no metric in vector(1)"),
    ],
)
def test_what_does_not_exist_is_named(text: str, shown: list[str], said: str | None) -> None:
    assert problems(text, shown) == ([] if said is None else [said])
