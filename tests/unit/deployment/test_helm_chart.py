"""The Helm chart, rendered by the real helm: its API takes it, the jobs find what they need; wrong values are named."""

from __future__ import annotations

from pathlib import Path

import kubernetes_validate
import pytest
import yaml

import offset_sync
from tools.golden_output import expect
from tools.helm_chart import EXAMPLE, Manifest, needs_helm, refusal, render

pytestmark = needs_helm
REPO = Path(__file__).resolve().parents[3]
LAKE = {"root": "s3a://lake/tables", "checkpoints": "s3a://lake/checkpoints", "storage": {"aws_region": "eu-central-1"}}

# Everything that either mode may be given, beside what the example has.
MORE: Manifest = {
    "image": {"repository": "registry.example/offset-sync", "pullPolicy": "Always", "pullSecrets": [{"name": "pull"}]},
    "env": [{"name": "HADOOP_CONF_DIR", "value": "/etc/hadoop"}],
    "envFrom": [{"secretRef": {"name": "aws"}}],
    "volumes": [{"name": "hadoop", "configMap": {"name": "hadoop"}}],
    "volumeMounts": [{"name": "hadoop", "mountPath": "/etc/hadoop"}],
    "sparkConf": {"spark.driver.memory": "4g", "spark.hadoop.fs.s3a.endpoint": "https://s3.example"},
    "nodeSelector": {"pool": "data"},
    "tolerations": [{"key": "data", "operator": "Exists"}],
    "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}},
    "podLabels": {"team": "data"},
    "podAnnotations": {"example.com/owner": "data"},
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}, "interval": "30s"},
    "prometheusRule": {"enabled": True, "labels": {"release": "prometheus"}},
    "console": {"enabled": True},
}
OPERATED: Manifest = {"mode": "spark-operator", "config": {"tables": LAKE}}
VALUES: dict[str, Manifest] = {
    "run": {},
    "run, on S3": {"persistence": {"enabled": False}, "config": {"tables": LAKE}},
    "run, by a secret": {"existingConfig": {"secret": "configuration"}, "secret": ""},
    "run, with more": MORE,
    "spark-operator": OPERATED,
    "spark-operator, with more": {**MORE, **OPERATED},
    "no metrics": {"config": {"metrics": {"sync_offsets_port": "off", "report_status_port": "off"}}},
}
OPERATOR = "sparkoperator.k8s.io/v1beta2"


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES.keys())
def test_a_manifest_is_what_its_api_takes(values: Manifest) -> None:
    for document in render(values).values():
        assert document["metadata"]["namespace"] == "syncing"
        if document["apiVersion"] not in (OPERATOR, "monitoring.coreos.com/v1"):
            kubernetes_validate.validate(document, "1.37", strict=True)


@pytest.mark.parametrize("name", ["run, with more", "spark-operator, with more", "no metrics"])
def test_what_it_makes_is_in_the_golden_file(name: str) -> None:
    """What objects refer to is there, and pods are of the restricted profile of Kubernetes' security standards.

    The applications were compared with the definitions of the Kubeflow Spark operator, commit 38082f33: look a new
    field up there.
    """
    left_out = ("ConfigMap", "PrometheusRule")  # the configuration, and rules that are compared by themselves
    documents = [document for document in render(VALUES[name]).values() if document["kind"] not in left_out]
    text = yaml.safe_dump_all(documents).replace(offset_sync.__version__, "VERSION")
    expect(f"chart, {name}.yaml".replace(", ", "-").replace(" ", "-"), text)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"persistence": {"enabled": False}}, "checkpoints: ./data/checkpoints is lost with the pod; put it at s3a://"),
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
