"""The Helm chart, rendered by the real helm: its API takes it, the jobs find what they need; wrong values are named."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import kubernetes_validate
import pytest
import yaml

from offset_sync.config import Config, load_config
from offset_sync.jobs.run import JOBS
from spark_options import split_options
from tools.helm_chart import CHART, EXAMPLE, Manifest, helm, needs_helm, refusal, render
from tools.job_arguments import arguments_of

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
    "run, on a claim": {"persistence": {"existingClaim": "tables"}},
    "run, on S3": {"persistence": {"enabled": False}, "config": {"tables": LAKE}},
    "run, by a secret": {"existingConfig": {"secret": "configuration"}, "secret": ""},
    "run, with more": MORE,
    "spark-operator": OPERATED,
    "spark-operator, with more": {**MORE, **OPERATED},
    "no metrics": {"config": {"metrics": {"sync_offsets_port": "off", "report_status_port": "off"}}},
}
each = pytest.mark.parametrize("values", VALUES.values(), ids=VALUES.keys())
OPERATOR = "sparkoperator.k8s.io/v1beta2"
# Fields of the operator's definitions, at each place, that are used here. The applications were validated once against
# the whole definitions (Kubeflow Spark operator, commit 38082f33); look a new field up there.
POD = "cores coreRequest memory memoryOverhead javaOptions terminationGracePeriodSeconds podSecurityContext labels "
POD += "securityContext annotations env envFrom nodeSelector tolerations affinity volumeMounts "
FIELDS = {
    "spec": "type pythonVersion mode sparkVersion image imagePullPolicy imagePullSecrets mainApplicationFile arguments "
    "restartPolicy timeToLiveSeconds sparkConf volumes driver executor",
    "driver": f"{POD} serviceAccount ports",
    "executor": f"{POD} instances",
    "restartPolicy": "type onFailureRetryInterval onSubmissionFailureRetries onSubmissionFailureRetryInterval",
    "schedule": "schedule concurrencyPolicy successfulRunHistoryLimit failedRunHistoryLimit template",
}
NUMBERS = re.compile("cores|instances|.*(Seconds|Interval|Retries|Limit)")


def of_kind(values: Manifest, *kinds: str) -> list[Manifest]:
    return [document for document in render(values).values() if document["kind"] in kinds]


def applications(values: Manifest) -> dict[str, Manifest]:
    """Job -> spec of a SparkApplication."""
    specs = [document["spec"] for document in render(values).values() if document["apiVersion"] == OPERATOR]
    specs = [spec.get("template", spec) for spec in specs]
    return {Path(spec["mainApplicationFile"]).stem: spec for spec in specs}


def pods(values: Manifest) -> dict[str, Manifest]:
    """Return every pod of the chart, the operator's as if they were plain ones."""
    found = {document["metadata"]["name"]: document["spec"]["template"] for document in of_kind(values, "StatefulSet")}
    for job, spec in applications(values).items():
        for role in ("driver", "executor"):
            pod = spec[role]
            container = {"image": spec["image"], "volumeMounts": pod["volumeMounts"], "args": spec["arguments"]}
            container |= {key: pod[key] for key in ("securityContext", "ports", "env", "envFrom") if key in pod}
            found[f"{job} {role}"] = {
                "metadata": {"labels": pod.get("labels", {}), "annotations": pod.get("annotations", {})},
                "spec": {
                    "containers": [container],
                    "volumes": spec["volumes"],
                    "serviceAccountName": pod.get("serviceAccount"),
                    "securityContext": pod["podSecurityContext"],
                    "terminationGracePeriodSeconds": pod["terminationGracePeriodSeconds"],
                },
            }
    return found


def containers(values: Manifest) -> Iterator[Manifest]:
    for pod in pods(values).values():
        yield from pod["spec"]["containers"]


def mounts_of(container: Manifest) -> dict[str, str]:
    """Volume -> its path in the container."""
    return {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}


def settings_of(values: Manifest, folder: Path) -> Config:
    """Return what the jobs read from the mounted configuration, with secrets in *folder*."""
    (configuration,) = of_kind(values, "ConfigMap")
    text = configuration["data"]["offset-sync.yaml"].replace("${file:/etc/offset-sync/secrets/", f"${{file:{folder}/")
    for name in ("dc1.password", "dc2.password"):
        (folder / name).write_text("secret")
    (folder / "offset-sync.yaml").write_text(text)
    return load_config(folder / "offset-sync.yaml", {})


def selects(selector: dict[str, str], labels: dict[str, str]) -> bool:
    return selector.items() <= labels.items()


def test_helm_has_nothing_to_object_to() -> None:
    for values in VALUES.values():
        done = helm("lint", "--strict", str(CHART), "-f", str(CHART.parent / "example.yaml"), values=values)
        assert done.returncode == 0, done.stdout
        assert not re.search(r"\[(WARNING|ERROR)\]", done.stdout + done.stderr)


def check_fields(place: str, fields: Manifest) -> None:
    assert not fields.keys() - set(FIELDS[place].split())
    is_number = {name: isinstance(value, int) for name, value in fields.items()}
    assert is_number == {name: NUMBERS.fullmatch(name) is not None for name in fields}


@each
def test_a_manifest_is_what_its_api_takes(values: Manifest) -> None:
    for document in render(values).values():
        assert document["metadata"]["namespace"] == "syncing"
        if document["apiVersion"] == OPERATOR:
            spec = document["spec"]
            if document["kind"] == "ScheduledSparkApplication":
                check_fields("schedule", spec)
                spec = spec["template"]
            check_fields("spec", spec)
            for place in ("driver", "executor", "restartPolicy"):
                check_fields(place, spec[place])
        elif document["apiVersion"] != "monitoring.coreos.com/v1":
            kubernetes_validate.validate(document, "1.37", strict=True)


@each
def test_objects_refer_to_what_is_there(values: Manifest) -> None:
    objects = render(values)
    for pod in pods(values).values():
        volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
        for container in pod["spec"]["containers"]:
            mounts = mounts_of(container)
            assert mounts.keys() <= volumes.keys()
            # A folder inside a mounted folder that cannot be written to could not be mounted.
            assert not [(a, b) for a in mounts.values() for b in mounts.values() if b.startswith(f"{a}/")]
        claims = [
            volume["persistentVolumeClaim"]["claimName"] for volume in volumes.values() if volume["name"] == "data"
        ]
        assert all(name == "tables" or f"PersistentVolumeClaim {name}" in objects for name in claims)
        (configuration,) = [volume for volume in volumes.values() if volume["name"] == "configuration"]
        if "configMap" in configuration:
            assert f"ConfigMap {configuration['configMap']['name']}" in objects
        account = pod["spec"]["serviceAccountName"]
        assert account is None or f"ServiceAccount {account}" in objects
    for stateful in of_kind(values, "StatefulSet"):
        assert f"Service {stateful['spec']['serviceName']}" in objects
        labels = stateful["spec"]["template"]["metadata"]["labels"]
        assert selects(stateful["spec"]["selector"]["matchLabels"], labels)
    for binding in of_kind(values, "RoleBinding"):
        assert f"Role {binding['roleRef']['name']}" in objects
        assert [f"ServiceAccount {subject['name']}" in objects for subject in binding["subjects"]] == [True]


@each
def test_a_pod_may_do_nothing_else(values: Manifest) -> None:
    """What the restricted profile of Kubernetes' pod security standards asks for."""
    for pod in pods(values).values():
        security = pod["spec"]["securityContext"]
        assert security["fsGroup"] == security["runAsUser"] == 185
        assert (security["runAsNonRoot"], security["seccompProfile"]) == (True, {"type": "RuntimeDefault"})
        for volume in pod["spec"]["volumes"]:
            assert volume.get("secret", {"defaultMode": 0o440})["defaultMode"] == 0o440
        for container in pod["spec"]["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
            }
    for stateful in of_kind(values, "StatefulSet"):
        assert stateful["spec"]["template"]["spec"]["automountServiceAccountToken"] is False
    assert bool(of_kind(values, "Role")) == (values.get("mode") == "spark-operator")


@each
def test_jobs_get_commands_that_they_take(values: Manifest) -> None:
    for name, pod in pods(values).items():
        (container,) = pod["spec"]["containers"]
        if name == "offset-sync-console":
            assert container["args"] == ["sleep", "infinity"]
            continue
        job, *words = container["args"] if name == "offset-sync" else [name.split()[0], *container["args"]]
        options = split_options(words)
        arguments = arguments_of(job, options.job)
        if "executor" not in name:
            assert arguments.conf == f"{mounts_of(container)['configuration']}/offset-sync.yaml"
        if job == "run":
            assert options.value("--master") == "local[2]"
            assert options.settings() == values.get("sparkConf", {})
        else:
            assert getattr(arguments, "once", False) == (job == "maintain_tables")


@each
def test_metrics_are_scraped_at_the_ports_of_the_configuration(values: Manifest, tmp_path: Path) -> None:
    (service,) = of_kind(values, "Service")
    ports = {port["name"]: port["port"] for port in service["spec"]["ports"] or ()}
    if "existingConfig" not in values:
        metrics = settings_of(values, tmp_path).metrics
        wanted = {"metrics-sync": metrics.sync_offsets_port, "metrics-status": metrics.report_status_port}
        assert ports == {name: port for name, port in wanted.items() if port != "off"}
    chosen = [pod for pod in pods(values).values() if selects(service["spec"]["selector"], pod["metadata"]["labels"])]
    listening = [port for pod in chosen for port in pod["spec"]["containers"][0].get("ports", [])]
    assert {port["name"]: port["containerPort"] for port in listening} == ports
    assert {port["targetPort"] for port in service["spec"]["ports"] or ()} == ports.keys()
    for monitor in of_kind(values, "ServiceMonitor"):
        assert selects(monitor["spec"]["selector"]["matchLabels"], service["metadata"]["labels"])
        assert {endpoint["port"] for endpoint in monitor["spec"]["endpoints"]} == ports.keys()
        assert monitor["metadata"]["labels"]["release"] == "prometheus"
    for pod in chosen:
        scraped = pod["metadata"]["annotations"].get("prometheus.io/port")
        assert scraped is None or int(scraped) in ports.values()


def test_the_alert_rules_are_those_of_the_project() -> None:
    (rules,) = of_kind(MORE, "PrometheusRule")
    assert rules["spec"] == yaml.safe_load((REPO / "conf" / "prometheus" / "alerts.yaml").read_text())


@each
def test_there_is_never_more_than_one_driver_of_a_job(values: Manifest) -> None:
    kinds = {document["kind"] for document in render(values).values()}
    assert kinds.isdisjoint({"Deployment", "ReplicaSet", "DaemonSet", "Job", "CronJob"})
    stateful_sets = of_kind(values, "StatefulSet")
    started = [one["spec"]["template"]["spec"]["containers"][0]["args"][0] for one in stateful_sets]
    is_operated = values.get("mode") == "spark-operator"
    assert started.count("run") == (0 if is_operated else 1)
    assert set(applications(values)) == (set(JOBS) if is_operated else set())
    assert all(one["spec"]["replicas"] == 1 for one in stateful_sets)
    for scheduled in of_kind(values, "ScheduledSparkApplication"):
        assert scheduled["spec"]["concurrencyPolicy"] == "Forbid"
    # Killing a driver that waits for one cluster would stop it for the others too.
    assert not [key for container in containers(values) for key in container if key.endswith("Probe")]


SCHEMA: Manifest = json.loads((CHART / "values.schema.json").read_text())
DEFAULTS: Manifest = yaml.safe_load((CHART / "values.yaml").read_text())
WRONG: dict[str, Manifest] = {
    "mode": {"mode": "operator"},
    "config.topics.strategy": {"config": {"topics": {"strategy": False}}},
    "config": {"config": {"topic": {"include": ["orders"]}}},
    "persistence.accessModes.0": {"persistence": {"accessModes": ["ReadWriteMany"]}},
    "jobs.sync_offsets.driver.memory": {"jobs": {"sync_offsets": {"driver": {"memory": "2Gi"}}}},
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
