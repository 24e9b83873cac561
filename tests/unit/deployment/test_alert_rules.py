"""Alert rules and the Grafana dashboard are about metrics and labels that exist."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.prometheus_expressions import PAGE, described, names_in, needs_promtool, problems, run_promtool

REPO = Path(__file__).parents[3]
FOLDER = REPO / "conf" / "prometheus"
RULES: list[dict[str, Any]] = yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"][0]["rules"]
TESTED = Path(__file__).parent / "alert_rules_test.yaml"


def title(rule: dict[str, Any]) -> str:
    return f"{rule['alert']}-{rule['labels'].get('cause', '')}"


@pytest.mark.parametrize("rule", RULES, ids=title)
def test_a_rule_names_what_exists_and_says_how_bad_it_is_and_what_to_do(rule: dict[str, Any]) -> None:
    told = " ".join(rule["annotations"].values())
    assert problems(rule["expr"], re.findall(r"\$labels\.(\w+)", told)) == []
    assert [name for name in re.findall(r"offset_sync_\w+", told) if f"`{name}`" not in PAGE.read_text()] == []
    assert [*map(title, RULES)].count(title(rule)) == 1


def test_every_rule_is_tried_out() -> None:
    tried = TESTED.read_text()
    assert [rule["alert"] for rule in RULES if rule["alert"] not in tried] == []
    causes = [rule["labels"].get("cause", "") for rule in RULES]
    assert [cause for cause in causes if f'cause="{cause}"' not in tried and cause] == []


@needs_promtool
def test_prometheus_takes_the_rules_and_the_example() -> None:
    run_promtool("check", "rules", "--lint-fatal", str(FOLDER / "alerts.yaml"))
    run_promtool("check", "config", str(FOLDER / "prometheus.yaml"))


@needs_promtool
def test_the_rules_fire_when_they_should_and_only_then() -> None:
    run_promtool("test", "rules", str(TESTED))


FILE = Path(__file__).parents[3] / "conf" / "grafana" / "offset-sync.json"
BOARD: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
PANELS = [panel for panel in BOARD["panels"] if panel["type"] != "row"]
VARIABLES = {variable["name"]: variable for variable in BOARD["templating"]["list"]}


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_a_panel_asks_for_what_exists_and_says_what_it_means(panel: dict[str, Any]) -> None:
    for target in panel["targets"]:
        assert problems(target["expr"], re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) == []
        assert {*re.findall(r"\$(\w+)", target["expr"])} <= {*VARIABLES, "__rate_interval"}
    assert panel["description"]


def test_no_metric_is_for_nothing() -> None:
    expressions = [rule["expr"] for rule in RULES] + [each["expr"] for panel in PANELS for each in panel["targets"]]
    used = {re.sub("_(bucket|count)$", "", name) for each in expressions for name in names_in(each)}
    assert used == {each.name for each in described("sync_offsets", "report_status")}
    assert len(used) == 25
