"""Dockerfile and manifests: well-formed, and of one mind with each other and with the project."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

import offset_sync
from offset_sync.config import parse_config
from offset_sync.ingest.query_supervisor import QuerySupervisor
from offset_sync.jobs.run import JOBS as OF_RUN
from offset_sync.jobs.run import Patience
from offset_sync.jobs.runner import BAD_ARGUMENTS, TAKEN_OVER
from spark_properties import read_properties
from submit import IN_IMAGE, JAVA_OPTIONS

REPO = Path(__file__).resolve().parents[3]
KUBERNETES = REPO / "conf" / "kubernetes"
DOCKERFILE = (REPO / "Dockerfile").read_text()
IMAGE = f"offset-sync:{offset_sync.__version__}"
JOBS = {*OF_RUN}
# Without these passwords could be read on the wire, on a disk or in the UI.
GUARDED = {
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    "spark.network.crypto.cipher": "AES/GCM/NoPadding",
    "spark.io.encryption.enabled": "true",
    "spark.ui.enabled": "false",
}
OPERATOR = "sparkoperator.k8s.io/v1beta2"
# Fields that the operator's definitions have at each place and that are used here. The manifests were held against the
# whole of those definitions once (Kubeflow Spark operator 2.5.2); a field that is new here has to be looked up there.
POD = "cores coreRequest memory memoryOverhead javaOptions terminationGracePeriodSeconds podSecurityContext "
POD += "securityContext "
FIELDS = {
    "spec": "type pythonVersion mode sparkVersion image mainApplicationFile arguments restartPolicy timeToLiveSeconds "
    "sparkConf volumes driver executor",
    "driver": f"{POD} volumeMounts serviceAccount annotations ports",
    "executor": f"{POD} volumeMounts instances",
    "restartPolicy": "type onFailureRetryInterval onSubmissionFailureRetries onSubmissionFailureRetryInterval",
    "schedule": "schedule concurrencyPolicy successfulRunHistoryLimit failedRunHistoryLimit template",
}
NUMBERS = re.compile("cores|instances|.*(Seconds|Interval|Retries|Limit)")
Manifest = dict[str, Any]


def documents() -> Iterator[tuple[str, Manifest]]:
    for path in sorted(KUBERNETES.glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            yield f"{path.name} {document['kind']}", document


DOCUMENTS = dict(documents())


def applications() -> dict[str, Manifest]:
    """Job -> spec of a SparkApplication."""
    found = [each["spec"] for each in DOCUMENTS.values() if each["apiVersion"] == OPERATOR]
    specs = [spec.get("template", spec) for spec in found]
    return {Path(spec["mainApplicationFile"]).stem: spec for spec in specs}


def test_jobs_have_the_jvm_options_that_the_script_gives_them() -> None:
    for job, spec in applications().items():
        wanted = [JAVA_OPTIONS.get(job)] * 2
        assert [spec[side].get("javaOptions") for side in ("driver", "executor")] == wanted, job


def pods() -> dict[str, Manifest]:
    """Return every pod that the manifests describe, the operator's as if they were plain ones."""
    found = {name: each["spec"] for name, each in DOCUMENTS.items() if each["kind"] == "Pod"}
    found["stateful-set"] = DOCUMENTS["stateful-set.yaml StatefulSet"]["spec"]["template"]["spec"]
    for job, spec in applications().items():
        for role in ("driver", "executor"):
            pod = spec[role]
            container = {"image": spec["image"], **{k: pod[k] for k in ("securityContext", "volumeMounts")}}
            rest = {"securityContext": pod["podSecurityContext"], "volumes": spec["volumes"]}
            grace = {"terminationGracePeriodSeconds": pod["terminationGracePeriodSeconds"]}
            found[f"{job} {role}"] = {**rest, **grace, "containers": [container]}
    return found


def walk(tree: object) -> Iterator[str]:
    if isinstance(tree, dict):
        for value in tree.values():
            yield from walk(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from walk(value)
    else:
        yield str(tree)


def test_the_dockerfile_has_nothing_that_hadolint_would_object_to() -> None:
    linter = Path(sys.executable).with_name("hadolint")
    said = subprocess.run(
        [str(linter), str(REPO / "Dockerfile")], capture_output=True, text=True, check=False, timeout=300
    )
    assert (said.returncode, said.stdout + said.stderr) == (0, "")


def test_the_dockerfile_copies_what_there_is_and_ignores_all_else() -> None:
    copied = set(re.findall(r"^COPY (?!--from)(\S+) ", DOCKERFILE, re.MULTILINE))
    assert all((REPO / name).exists() for name in copied)
    allowed = re.findall(r"^!(\S+)$", (REPO / ".dockerignore").read_text(), re.MULTILINE)
    assert set(allowed) == copied


def test_what_the_dockerfile_runs_and_starts_is_in_the_project() -> None:
    for script in re.findall(r"(?:python|\[.*) (?:/opt/offset-sync/)?(scripts/\w+\.py)", DOCKERFILE):
        assert (REPO / script).is_file(), script
    (entry,) = re.findall(r'^ENTRYPOINT \[.*"(/\S+\.py)"\]$', DOCKERFILE, re.MULTILINE)
    assert (REPO / Path(entry).relative_to(IN_IMAGE)).is_file()
    assert f"WORKDIR {IN_IMAGE}\n" in DOCKERFILE
    assert f"COPY --from=builder {IN_IMAGE} {IN_IMAGE}\n" in DOCKERFILE
    (user,) = re.findall(r"^USER (\d+)$", DOCKERFILE, re.MULTILINE)
    assert {pod["securityContext"]["runAsUser"] for pod in pods().values()} == {int(user)}


def test_every_image_has_the_version_of_the_project() -> None:
    words = {word for each in DOCUMENTS.values() for word in walk(each) if word.startswith("offset-sync:")}
    words.add(read_properties(KUBERNETES / "spark-submit.conf")["spark.kubernetes.container.image"])
    assert words | set(re.findall(r"docker build -t (\S+)", DOCKERFILE)) == {IMAGE}
    assert f'version="{offset_sync.__version__}"' in DOCKERFILE
    (python,) = re.findall(r"^ARG PYTHON_VERSION=3\.(\d+)$", DOCKERFILE, re.MULTILINE)
    assert int(python) in range(10, 13)


def check_fields(place: str, fields: Manifest) -> None:
    assert not fields.keys() - set(FIELDS[place].split())
    is_number = {name: isinstance(value, int) for name, value in fields.items()}
    assert is_number == {name: NUMBERS.fullmatch(name) is not None for name in fields}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_manifest_is_what_its_api_takes(name: str) -> None:
    document = DOCUMENTS[name]
    if document["apiVersion"] == OPERATOR:
        spec = document["spec"]
        if document["kind"] == "ScheduledSparkApplication":
            check_fields("schedule", spec)
            spec = spec["template"]
        check_fields("spec", spec)
        for place in ("driver", "executor", "restartPolicy"):
            check_fields(place, spec[place])
    else:
        kubernetes_validate.validate(document, "1.37", strict=True)
    assert document["metadata"].get("namespace", "offset-sync") == "offset-sync"


def test_the_operator_runs_every_job_that_stays() -> None:
    assert set(applications()) == JOBS
    for job, spec in applications().items():
        assert spec["mainApplicationFile"] == f"local://{IN_IMAGE}/jobs/{job}.py"
        assert spec["restartPolicy"]["type"] == ("Never" if "--once" in spec["arguments"] else "Always")
        pyspark = re.search(r"pyspark==(\S+)", (REPO / "setup.cfg").read_text())
        assert pyspark is not None
        assert spec["sparkVersion"] == pyspark[1]


def test_settings_are_those_of_spark_submit() -> None:
    defaults = read_properties(REPO / "conf" / "spark-defaults.conf")
    plain = defaults | read_properties(KUBERNETES / "spark-submit.conf")
    memory = {"spark.driver.memory", "spark.driver.memoryOverhead"}
    for spec in applications().values():
        assert spec["sparkConf"] == {key: value for key, value in defaults.items() if key not in memory} | GUARDED
        executor = {name: str(spec["executor"][name]) for name in ("instances", "cores", "memory", "memoryOverhead")}
        if spec is not applications()["report_status"]:
            assert executor == {name: plain[f"spark.executor.{name}"] for name in executor}
        assert spec["driver"]["serviceAccount"] == plain["spark.kubernetes.authenticate.driver.serviceAccountName"]
        assert spec["driver"]["memory"] == plain["spark.driver.memory"]
    assert applications()["sync_offsets"]["driver"]["memoryOverhead"] == plain["spark.driver.memoryOverhead"]
    for role in ("driver", "executor"):
        assert (REPO / plain[f"spark.kubernetes.{role}.podTemplateFile"]).is_file()


def test_where_executors_are_elsewhere_spark_authenticates_encrypts_and_shows_nothing() -> None:
    for place in (REPO / "conf" / "yarn.conf", KUBERNETES / "spark-submit.conf"):
        assert read_properties(place).items() >= GUARDED.items(), place
    assert [job for job, spec in applications().items() if not spec["sparkConf"].items() >= GUARDED.items()] == []


@pytest.mark.parametrize("name", pods())
def test_a_pod_mounts_what_is_there_and_may_do_nothing_else(name: str) -> None:
    pod = pods()[name]
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    for container in pod["containers"]:
        mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
        assert mounts.keys() <= volumes.keys()
        # A folder inside a mounted folder that cannot be written to could not be mounted.
        assert not [(a, b) for a in mounts.values() for b in mounts.values() if b.startswith(f"{a}/")]
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
    secret = volumes["secrets"]["secret"]
    assert secret == {"secretName": "offset-sync-kafka", "defaultMode": 0o440}
    assert pod["securityContext"]["fsGroup"] == pod["securityContext"]["runAsUser"]


@pytest.mark.parametrize("name", [name for name in pods() if "executor" not in name])
def test_a_driver_has_time_to_finish_its_micro_batch(name: str) -> None:
    patience = inspect.signature(QuerySupervisor.stop).parameters["patience_seconds"].default
    assert pods()[name]["terminationGracePeriodSeconds"] >= patience + 20


def test_there_is_never_more_than_one_driver_of_a_job() -> None:
    stateful = DOCUMENTS["stateful-set.yaml StatefulSet"]["spec"]
    assert stateful["replicas"] == 1
    assert [each["kind"] for each in DOCUMENTS.values() if each["kind"] in ("Deployment", "ReplicaSet")] == []
    assert [container["args"][0] for container in stateful["template"]["spec"]["containers"]] == ["run"]
    assert DOCUMENTS["maintain-tables.yaml ScheduledSparkApplication"]["spec"]["concurrencyPolicy"] == "Forbid"


def test_systemd_waits_for_the_jobs_and_starts_none_again_that_must_not_be() -> None:
    unit = ConfigParser(interpolation=None, strict=True)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(REPO / "conf" / "systemd" / "offset-sync.service")
    service = unit["Service"]
    assert service["ExecStart"].split()[1:3] == ["run", "--conf"]
    assert service["RestartPreventExitStatus"].split() == [str(BAD_ARGUMENTS), str(TAKEN_OVER)]
    assert Patience().stopping < int(service["TimeoutStopSec"]) < Patience().stopping + 30
    assert service["KillMode"] == "mixed", "the job passes SIGTERM on"


def test_the_configuration_that_is_mounted_is_valid_and_its_secrets_are_files() -> None:
    (text,) = DOCUMENTS["configuration.yaml ConfigMap"]["data"].values()
    tree = yaml.safe_load(re.sub(r"\$\{file:/etc/offset-sync/secrets/[\w.]+\}", "secret", text))
    assert "${" not in str(tree)
    ports = tree["metrics"]
    config = parse_config(tree, {})
    assert config.admin_options("dc1")["ssl.ca.location"] == "/etc/offset-sync/secrets/ca.pem"
    for job in ("sync_offsets", "report_status"):
        driver = applications()[job]["driver"]
        assert driver["annotations"]["prometheus.io/port"] == str(ports[f"{job}_port"])
        assert [port["containerPort"] for port in driver["ports"]] == [ports[f"{job}_port"]]
    (place,) = {spec["arguments"][1] for spec in applications().values()}
    (name,) = DOCUMENTS["configuration.yaml ConfigMap"]["data"]
    assert place == f"/etc/offset-sync/conf/{name}"
