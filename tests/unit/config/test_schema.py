"""The JSON Schema takes what the program takes, and shows most of what it refuses; the files in conf/ fit both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from builders.configurations import clusters, parsed
from config_schema import CHART, REFERENCE, REPO, SCHEMA, chart_with, config_schema
from offset_sync.config import load_config, parse_config
from offset_sync.config.load import read_yaml

CHECK = jsonschema.Draft7Validator(json.loads(SCHEMA.read_text()))
CLUSTERS = clusters("dc1", "dc2")
TAKEN: list[dict[str, Any]] = [
    {},
    {"sync": {"hole_grace": 7, "home_silence": "7", "refresh_interval": "2d", "index_memory": "1GiB"}},
    {"metrics": {"sync_offsets_port": False, "report_status_port": "9"}, "sync": {"max_commits_per_second": False}},
    {"metrics": {"sync_offsets_port": "${PORT}"}, "index": {"starting": "${START}", "max_offsets_per_trigger": "${N}"}},
    {"directions": [["dc1", "dc2"]], "topics": {"include": ["a"], "overrides": [{"topics": ["b"], "strategy": False}]}},
    {"clusters": CLUSTERS | {"dc3": {"kafka": {"bootstrap.servers": "c:1", "x": 1, "y": True}, "commits": "admin"}}},
]
ENVIRONMENT = {"PORT": "9470", "START": "latest", "N": "5"}


def test_the_schemas_are_those_of_the_model() -> None:
    assert json.loads(SCHEMA.read_text()) == config_schema(), "run make docs"
    text = CHART.read_text()
    assert chart_with(config_schema(), text) == text, "run make docs"


@pytest.mark.parametrize("sections", TAKEN)
def test_what_the_program_takes_the_schema_takes(sections: dict[str, Any]) -> None:
    parsed(ENVIRONMENT, **sections)
    CHECK.validate({"clusters": CLUSTERS, "topics": {"include": ["orders"]}, **sections})


@pytest.mark.parametrize("name", ["reference", "two-clusters", "active-active"])
def test_the_files_in_conf_name_the_schema_and_fit_it(name: str) -> None:
    path = Path(REPO, "conf", f"{name}.yaml")
    assert path.read_text().startswith("# yaml-language-server: $schema=schema.json\n")
    CHECK.validate(read_yaml(path.read_bytes())[0])
    load_config(path, {})


def test_the_reference_says_the_same_as_a_file_that_leaves_all_of_it_out() -> None:
    tree = yaml.safe_load(REFERENCE.read_text())
    least = {"clusters": tree["clusters"], "topics": {"include": tree["topics"]["include"]}}
    assert parse_config(least, {}) == load_config(REFERENCE, {})
