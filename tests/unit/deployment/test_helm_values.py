"""The values of the Helm chart: each is described by the schema, and what cannot be meant is refused in plain words."""

from __future__ import annotations

import json
from collections.abc import Iterator

import jsonschema
import pytest
import yaml

from tools.helm_chart import CHART, EXAMPLE, Manifest, needs_helm, refusal

SCHEMA: Manifest = json.loads((CHART / "values.schema.json").read_text())
DEFAULTS: Manifest = yaml.safe_load((CHART / "values.yaml").read_text())
WRONG: dict[str, Manifest] = {
    "mode": {"mode": "operator"},
    "replicas": {"replicas": 2},
    "config.topics.strategy": {"config": {"topics": {"strategy": False}}},
    "config.metrics.sync_offsets_port": {"config": {"metrics": {"sync_offsets_port": False}}},
    "config": {"config": {"topic": {"include": ["orders"]}}},
    "image.pullPolicy": {"image": {"pullPolicy": "Sometimes"}},
    "persistence.accessModes.0": {"persistence": {"accessModes": ["ReadWriteMany"]}},
    "persistence.size": {"persistence": {"size": "large"}},
    "sparkConf.spark.cores.max": {"sparkConf": {"spark.cores.max": 4}},
    "run.cores": {"run": {"cores": 0}},
    "jobs.sync_offsets.driver.memory": {"jobs": {"sync_offsets": {"driver": {"memory": "2Gi"}}}},
    "jobs": {"jobs": {"sync": {}}},
    "terminationGracePeriodSeconds": {"terminationGracePeriodSeconds": 30},
}


def missing(values: Manifest, schema: Manifest, place: str = "") -> Iterator[str]:
    """Yield the values without a place of their own in the schema."""
    for name, value in values.items():
        if name not in schema["properties"]:
            yield f"{place}{name}"
        elif isinstance(value, dict) and "properties" in schema["properties"][name]:
            yield from missing(value, schema["properties"][name], f"{place}{name}.")


def test_the_defaults_and_the_example_are_what_the_schema_takes() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    for values in (DEFAULTS, yaml.safe_load(EXAMPLE.read_text())):
        jsonschema.validate(values, SCHEMA)
    assert [*missing(DEFAULTS, SCHEMA)] == []
    assert SCHEMA["properties"].keys() - DEFAULTS.keys() == {"global"}


@needs_helm
@pytest.mark.parametrize("place", WRONG)
def test_helm_says_which_value_is_wrong(place: str) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(WRONG[place], SCHEMA)
    said = refusal(WRONG[place], EXAMPLE)
    assert f"- {place}: " in said or f"Additional property {place} is not allowed" in said, said


@needs_helm
def test_a_configuration_that_is_missing_is_asked_for_and_two_are_refused() -> None:
    assert "config.clusters: missing; start from deploy/helm/example.yaml, or set existingConfig" in refusal({})
    both = {"existingConfig": {"configMap": "a", "secret": "b"}}
    assert "existingConfig: set configMap or secret, not both" in refusal(both, EXAMPLE)


@needs_helm
@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"persistence": {"enabled": False}}, "checkpoints: ./data/checkpoints is lost with the pod; put it at s3a://"),
        ({"mode": "spark-operator"}, "checkpoints: ./data/checkpoints is lost with the pod; put it at s3a://"),
        (
            {"mode": "spark-operator", "config": {"tables": {"checkpoints": "s3a://lake/checkpoints"}}},
            "root: ./data/tables is lost with the pod; put it at s3a://",
        ),
        (
            {"config": {"tables": {"root": "/srv/tables"}}},
            "root: /srv/tables is lost with the pod; put it below ./data, which is the volume, or at s3a://",
        ),
    ],
)
def test_tables_that_would_be_lost_with_the_pod_are_refused(values: Manifest, says: str) -> None:
    assert f"config.tables.{says}" in refusal(values, EXAMPLE)
