"""The Grafana dashboard: provisionable, readable, and about metrics and labels that exist."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.prometheus_expressions import names_in, needs_promtool, problems, run_promtool, series

FILE = Path(__file__).parents[3] / "conf" / "grafana" / "offset-sync.json"
BOARD: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
PANELS = [panel for panel in BOARD["panels"] if panel["type"] != "row"]
VARIABLES = {variable["name"]: variable for variable in BOARD["templating"]["list"]}
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
ALERTS = (FILE.parents[1] / "prometheus" / "alerts.yaml").read_text()


def overlap(one: dict[str, int], other: dict[str, int]) -> bool:
    is_beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
    is_below = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
    return not (is_beside or is_below)


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_a_panel_asks_for_what_exists_has_a_unit_and_says_what_it_means(panel: dict[str, Any]) -> None:
    targets = panel["targets"]
    for target in targets:
        assert problems(target["expr"], re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) == []
        assert {*re.findall(r"\$(\w+)", target["expr"])} <= {*VARIABLES, "__rate_interval"}
    assert panel["fieldConfig"]["defaults"]["unit"]
    assert [each["datasource"] for each in (panel, *targets)] == [DATASOURCE] * (len(targets) + 1)
    assert len({target["refId"] for target in targets}) == len(targets) > 0
    assert panel["description"]
    assert [
        name for name in re.findall(r"OffsetSync\w+", panel["description"]) if f"alert: {name}\n" not in ALERTS
    ] == []


def test_it_can_be_provisioned_without_being_asked_anything_and_ids_and_titles_are_unique() -> None:
    assert "__inputs" not in BOARD
    assert (BOARD["id"], BOARD["uid"]) == (None, "offset-sync")
    assert (VARIABLES["datasource"]["type"], VARIABLES["datasource"]["query"]) == ("datasource", "prometheus")
    for field in ("id", "title"):
        assert len({panel[field] for panel in BOARD["panels"]}) == len(BOARD["panels"])


def test_panels_do_not_overlap_and_fit_the_width() -> None:
    places = [(panel["title"], panel["gridPos"]) for panel in BOARD["panels"]]
    assert [(a, b) for (a, one), (b, other) in combinations(places, 2) if overlap(one, other)] == []
    assert [title for title, at in places if at["x"] < 0 or at["x"] + at["w"] > 24 or min(at["w"], at["h"]) < 1] == []


@pytest.mark.parametrize("name", sorted(VARIABLES.keys() - {"datasource"}))
def test_a_variable_lists_the_values_of_a_label_that_exists(name: str) -> None:
    variable = VARIABLES[name]
    match = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"]["query"])
    assert match is not None
    assert match[2] in series()[match[1]]
    assert variable["definition"] == variable["query"]["query"]


def test_whatever_raises_an_alert_can_be_seen() -> None:
    rules = yaml.safe_load(ALERTS)["groups"][0]["rules"]
    shown = {name for panel in PANELS for target in panel["targets"] for name in names_in(target["expr"])}
    assert {name for rule in rules for name in names_in(rule["expr"])} - shown == set()


@needs_promtool
def test_prometheus_can_read_every_expression(tmp_path: Path) -> None:
    expressions = [target["expr"] for panel in PANELS for target in panel["targets"]]
    plain = [re.sub(r"\$\w+", "5m", text) for text in expressions]
    rules = [{"record": f"panel:{number}", "expr": text} for number, text in enumerate(plain)]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    run_promtool("check", "rules", str(file))
