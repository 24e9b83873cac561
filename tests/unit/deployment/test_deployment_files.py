"""Dockerfile, manifests, alert rules and dashboard: of one mind with each other and with the project."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

import offset_sync
from offset_sync.jobs.run import STOPPING_S
from offset_sync.jobs.runner import BAD_ARGUMENTS, TAKEN_OVER
from spark_properties import read_properties
from tools.prometheus_expressions import PAGE, described, names_in, needs_promtool, run_promtool

REPO = Path(__file__).resolve().parents[3]
KUBERNETES = REPO / "conf" / "kubernetes"
DOCKERFILE = (REPO / "Dockerfile").read_text()
IMAGE = f"offset-sync:{offset_sync.__version__}"
# Without these passwords could be read on the wire, on a disk or in the UI.
GUARDED = {
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    "spark.network.crypto.cipher": "AES/GCM/NoPadding",
    "spark.io.encryption.enabled": "true",
    "spark.ui.enabled": "false",
}
Manifest = dict[str, Any]


DOCUMENTS: dict[str, Manifest] = {
    f"{path.name} {document['kind']}": document
    for path in sorted(KUBERNETES.glob("*.yaml"))
    for document in yaml.safe_load_all(path.read_text())
}


def walk(tree: object) -> Iterator[str]:
    if isinstance(tree, dict):
        for value in tree.values():
            yield from walk(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from walk(value)
    else:
        yield str(tree)


def test_every_image_has_the_version_of_the_project() -> None:
    words = {word for each in DOCUMENTS.values() for word in walk(each) if word.startswith("offset-sync:")}
    words.add(read_properties(KUBERNETES / "spark-submit.conf")["spark.kubernetes.container.image"])
    assert words | set(re.findall(r"docker build -t (\S+)", DOCKERFILE)) == {IMAGE}
    assert f'version="{offset_sync.__version__}"' in DOCKERFILE
    (python,) = re.findall(r"^ARG PYTHON_VERSION=3\.(\d+)$", DOCKERFILE, re.MULTILINE)
    assert int(python) in range(10, 13)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_manifest_is_what_its_api_takes(name: str) -> None:
    kubernetes_validate.validate(DOCUMENTS[name], "1.37", strict=True)


def test_where_executors_are_elsewhere_spark_authenticates_encrypts_and_shows_nothing() -> None:
    for place in (REPO / "conf" / "yarn.conf", KUBERNETES / "spark-submit.conf"):
        assert read_properties(place).items() >= GUARDED.items(), place


def test_systemd_waits_for_the_jobs_and_starts_none_again_that_must_not_be() -> None:
    unit = ConfigParser(interpolation=None, strict=True)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(REPO / "conf" / "systemd" / "offset-sync.service")
    service = unit["Service"]
    assert service["ExecStart"].split()[1:3] == ["run", "--conf"]
    assert service["RestartPreventExitStatus"].split() == [str(BAD_ARGUMENTS), str(TAKEN_OVER)]
    assert STOPPING_S < int(service["TimeoutStopSec"]) < STOPPING_S + 30
    assert service["KillMode"] == "mixed", "the job passes SIGTERM on"


FOLDER = REPO / "conf" / "prometheus"
RULES: list[dict[str, Any]] = yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"][0]["rules"]
TESTED = Path(__file__).parent / "alert_rules_test.yaml"


def test_rules_name_metrics_of_the_page_and_are_called_differently() -> None:
    told = " ".join(text for rule in RULES for text in rule["annotations"].values())
    assert [name for name in re.findall(r"offset_sync_\w+", told) if f"`{name}`" not in PAGE.read_text()] == []
    assert len({(rule["alert"], rule["labels"].get("cause")) for rule in RULES}) == len(RULES)


def test_every_rule_is_tried_out() -> None:
    tried = TESTED.read_text()
    assert [rule["alert"] for rule in RULES if rule["alert"] not in tried] == []
    causes = [rule["labels"].get("cause", "") for rule in RULES]
    assert [cause for cause in causes if f'cause="{cause}"' not in tried and cause] == []


@needs_promtool
def test_prometheus_takes_the_rules_and_they_fire_when_they_should_and_only_then() -> None:
    run_promtool("check", "rules", "--lint-fatal", str(FOLDER / "alerts.yaml"))
    run_promtool("check", "config", str(FOLDER / "prometheus.yaml"))
    run_promtool("test", "rules", str(TESTED))


def test_no_metric_is_for_nothing() -> None:
    board = json.loads((REPO / "conf" / "grafana" / "offset-sync.json").read_text(encoding="utf-8"))
    targets = [each for panel in board["panels"] if panel["type"] != "row" for each in panel["targets"]]
    expressions = [each["expr"] for each in (*RULES, *targets)]
    used = {re.sub("_(bucket|count)$", "", name) for each in expressions for name in names_in(each)}
    assert used == {each.name for each in described("sync_offsets", "report_status")}
    assert len(used) == 24
