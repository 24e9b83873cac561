"""The Grafana dashboard: provisionable, readable, and about metrics and labels that exist."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.prometheus_expressions import needs_promtool, problems, run_promtool

FILE = Path(__file__).parents[3] / "conf" / "grafana" / "offset-sync.json"
BOARD: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
PANELS = [panel for panel in BOARD["panels"] if panel["type"] != "row"]
VARIABLES = {variable["name"]: variable for variable in BOARD["templating"]["list"]}
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
ALERTS = (FILE.parents[1] / "prometheus" / "alerts.yaml").read_text()


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


@needs_promtool
def test_prometheus_can_read_every_expression(tmp_path: Path) -> None:
    expressions = [target["expr"] for panel in PANELS for target in panel["targets"]]
    plain = [re.sub(r"\$\w+", "5m", text) for text in expressions]
    rules = [{"record": f"panel:{number}", "expr": text} for number, text in enumerate(plain)]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    run_promtool("check", "rules", str(file))
