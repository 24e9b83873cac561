"""What a container runs: Spark's driver and executor on Kubernetes, as text, and jobs and commands by hand."""

from __future__ import annotations

import os
import shlex
import sys
import zipfile
from pathlib import Path

import pyspark
import pytest

from entrypoint import command_for
from spark_options import OptionError

# As Spark 4.2 calls the image: DriverCommandFeatureStep and BasicExecutorFeatureStep.
EXECUTOR = {
    "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@d:7078",
    "SPARK_EXECUTOR_ID": "3",
    "SPARK_EXECUTOR_CORES": "2",
    "SPARK_APPLICATION_ID": "spark-1",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.3",
    "SPARK_RESOURCE_PROFILE_ID": "0",
    "SPARK_EXECUTOR_POD_NAME": "exec-3",
    "SPARK_EXECUTOR_MEMORY": "2048m",
    "SPARK_JAVA_OPT_10": "-Dten=1",
    "SPARK_JAVA_OPT_2": "-Dtwo=a b",
    "SPARK_HOME": "/opt/offset-sync/spark",
    "JAVA_HOME": "/opt/java",
}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    for name in ("jobs/sync_offsets.py", "conf/log4j2.properties"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text('"""Sync."""\n')
    return tmp_path


@pytest.fixture
def mounted(tmp_path: Path) -> Path:
    """The folder that Kubernetes mounts for a driver, as the operator's spark-submit leaves it."""
    folder = tmp_path / "mounted"
    folder.mkdir()
    properties = "spark.master=k8s\\://https\\://10.0.0.1\\:443\nspark.app.name=offset-sync-sync-offsets\n"
    (folder / "spark.properties").write_text(properties)
    return folder


def driver(repo: Path, mounted: Path, script: str, *last: str) -> tuple[list[str], dict[str, str]]:
    words = ["driver", "--properties-file", str(mounted / "spark.properties")]
    words += ["--class", "org.apache.spark.deploy.PythonRunner", script, *last]
    environ = {"SPARK_HOME": "/opt/spark", "SPARK_CONF_DIR": str(mounted), "SPARK_DRIVER_BIND_ADDRESS": "10.0.0.2"}
    built = command_for(repo, words, environ)
    return built.words, built.environment


def test_the_driver_of_a_job_is_python_and_not_a_child_of_the_jvm(repo: Path, mounted: Path) -> None:
    script = f"local://{repo}/jobs/sync_offsets.py"
    given_to_job = ["--conf", "/etc/x.yaml", "--dry-run", "--name", "job's"]
    words, environment = driver(repo, mounted, script, *given_to_job)
    assert words == [sys.executable, str(repo / "jobs" / "sync_offsets.py"), *given_to_job]
    given = shlex.split(environment["PYSPARK_SUBMIT_ARGS"])
    assert given[given.index("--deploy-mode") + 1] == "client"
    assert given[given.index("--properties-file") + 1] == str(mounted / "spark.properties")
    assert given[given.index("--name") + 1] == "offset-sync-sync-offsets"
    assert given[given.index("--master") + 1] == "k8s://https://10.0.0.1:443"
    assert "spark.driver.bindAddress=10.0.0.2" in given
    assert "spark.executorEnv.SPARK_DRIVER_POD_IP=10.0.0.2" in given
    assert not {"--class", "org.apache.spark.deploy.PythonRunner"} & set(given)
    assert given[-1] == "pyspark-shell"


def test_the_driver_has_our_log_configuration_unless_another_is_mounted(repo: Path, mounted: Path) -> None:
    script = f"local://{repo}/jobs/sync_offsets.py"
    assert driver(repo, mounted, script)[1]["SPARK_CONF_DIR"] == str(repo / "conf")
    (mounted / "log4j2.properties").write_text("")
    assert driver(repo, mounted, script)[1]["SPARK_CONF_DIR"] == str(mounted)


@pytest.mark.parametrize("script", ["local:///elsewhere/sync_offsets.py", "s3a://b/upload-1/sync_offsets.py"])
def test_a_script_that_is_not_of_the_image_runs_as_in_sparks_own(repo: Path, mounted: Path, script: str) -> None:
    words, _ = driver(repo, mounted, script, "--conf", "x.yaml")
    assert words[0] == "/opt/spark/bin/spark-submit"
    assert words[-4:] == ["org.apache.spark.deploy.PythonRunner", script, "--conf", "x.yaml"]
    assert words[words.index("--deploy-mode") + 1] == "client"


def test_an_executor_is_what_the_driver_told_it_to_be(repo: Path) -> None:
    built = command_for(repo, ["executor"], EXECUTOR)
    assert built.words[:5] == ["/opt/java/bin/java", "-Dtwo=a b", "-Dten=1", "-Xms2048m", "-Xmx2048m"]
    assert built.words[6] == f"{repo / 'conf'}:/opt/offset-sync/spark/jars/*:{os.getcwd()}"
    assert built.words[7:] == [
        "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend",
        *("--driver-url", "spark://CoarseGrainedScheduler@d:7078", "--executor-id", "3", "--cores", "2"),
        *("--app-id", "spark-1", "--hostname", "10.0.0.3", "--resourceProfileId", "0", "--podName", "exec-3"),
    ]


def test_an_executor_without_settings_says_what_is_missing(repo: Path) -> None:
    told = {name: value for name, value in EXECUTOR.items() if name != "SPARK_DRIVER_URL"}
    with pytest.raises(OptionError, match="SPARK_DRIVER_URL not set"):
        command_for(repo, ["executor"], told)


def test_the_backend_that_is_called_is_in_the_spark_that_is_pinned() -> None:
    (jar,) = Path(pyspark.__file__).parent.glob("jars/spark-kubernetes_*.jar")
    backend = command_for(Path("/"), ["executor"], EXECUTOR).words[7]
    assert f"{backend.replace('.', '/')}.class" in zipfile.ZipFile(jar).namelist()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["sync_offsets", "--once"], ["{repo}/spark-submit.sh", "sync_offsets", "--once"]),
        (["bash", "-c", "true"], ["bash", "-c", "true"]),
        ([], ["{repo}/spark-submit.sh", "--help"]),
    ],
)
def test_a_job_or_any_command_can_be_given_by_hand(repo: Path, words: list[str], expected: list[str]) -> None:
    assert command_for(repo, words, {}).words == [word.format(repo=repo) for word in expected]
