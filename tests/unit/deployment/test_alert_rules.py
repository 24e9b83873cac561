"""Alert rules and the Grafana dashboard are about metrics and labels that exist."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

from tools.prometheus_expressions import PAGE, described, names_in, needs_promtool, run_promtool

REPO = Path(__file__).parents[3]
FOLDER = REPO / "conf" / "prometheus"
RULES: list[dict[str, Any]] = yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"][0]["rules"]
TESTED = Path(__file__).parent / "alert_rules_test.yaml"


def title(rule: dict[str, Any]) -> str:
    return f"{rule['alert']}-{rule['labels'].get('cause', '')}"


def test_rules_name_metrics_of_the_page_and_are_called_differently() -> None:
    told = " ".join(text for rule in RULES for text in rule["annotations"].values())
    assert [name for name in re.findall(r"offset_sync_\w+", told) if f"`{name}`" not in PAGE.read_text()] == []
    assert len({*map(title, RULES)}) == len(RULES)


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


def test_no_metric_is_for_nothing() -> None:
    expressions = [rule["expr"] for rule in RULES] + [each["expr"] for panel in PANELS for each in panel["targets"]]
    used = {re.sub("_(bucket|count)$", "", name) for each in expressions for name in names_in(each)}
    assert used == {each.name for each in described("sync_offsets", "report_status")}
    assert len(used) == 25
