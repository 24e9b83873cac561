"""The command lines of the recipes for YARN and Kubernetes, as text: what docs/deployment.md says is what is run."""

from __future__ import annotations

import os
import shlex
import zipfile
from pathlib import Path

import pyspark
import pytest

import archive
from spark_options import OptionError, split_options
from spark_properties import read_properties
from submit import IN_IMAGE, build_command

REPO = Path(__file__).resolve().parents[3]
YARN = "--properties-file conf/yarn.conf --principal sync@R --keytab /k/sync.keytab --files dc1.password --conf my.yaml"
KUBERNETES = "--master k8s://https://h:6443 --properties-file conf/kubernetes/spark-submit.conf"
IN_POD = "/etc/offset-sync/conf/offset-sync.yaml"


@pytest.fixture(autouse=True)
def in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPO)


def built(words: str, **environ: str) -> list[str]:
    return build_command(REPO, "sync_offsets", split_options(shlex.split(words)), environ).words


def after(words: list[str], option: str) -> list[str]:
    return [words[at + 1] for at, word in enumerate(words) if word == option]


def test_yarn_gets_code_jars_libraries_configuration_and_secrets() -> None:
    words = built(YARN)
    assert after(words, "--master") == ["yarn"]
    assert after(words, "--name") == ["offset-sync-sync-offsets"]
    assert after(words, "--py-files") == [str(REPO / "dist" / "offset_sync.zip")]
    (jars,) = after(words, "--jars")
    assert all(f"/{name}" in jars for name in ("delta-spark_", "kafka-clients-", "spark-sql-kafka-"))
    assert after(words, "--files") == [f"dc1.password,{os.path.abspath('my.yaml')}"]
    assert after(words, "--principal") == ["sync@R"]
    assert after(words, "--keytab") == ["/k/sync.keytab"]
    assert "--load-spark-defaults" in words
    assert words[-3:] == [str(REPO / "jobs" / "sync_offsets.py"), "--conf", "my.yaml"]


def test_spark_submit_is_told_where_spark_is_and_nothing_that_yarn_would_give_to_the_driver() -> None:
    def environment(**environ: str) -> dict[str, str]:
        return build_command(REPO, "sync_offsets", split_options(shlex.split(YARN)), environ).environment

    assert environment() == {
        "SPARK_CONF_DIR": str(REPO / "conf"),
        # Else it asks the python3 of the machine, which need not have PySpark.
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
    }
    assert environment(SPARK_HOME="/opt/spark") == {}


def test_the_settings_of_yarn_name_the_archive_as_the_script_packs_it() -> None:
    settings = read_properties(REPO / "conf" / "yarn.conf")
    path, _, folder = settings["spark.archives"].partition("#")
    assert REPO / path == archive.TARGET
    assert settings["spark.pyspark.python"] == f"./{folder}/bin/python"
    assert settings["spark.submit.deployMode"] == "cluster"


def test_kubernetes_finds_everything_in_the_image_and_the_configuration_in_the_pod() -> None:
    words = built(f"{KUBERNETES} --conf {IN_POD} --dry-run")
    assert words[-4:] == [f"local://{IN_IMAGE}/jobs/sync_offsets.py", "--conf", IN_POD, "--dry-run"]
    assert not {"--jars", "--py-files", "--files"} & set(words)
    assert after(words, "--properties-file") == ["conf/kubernetes/spark-submit.conf"]


def test_kubernetes_refuses_a_second_driver_by_the_name_of_its_pod() -> None:
    name = "spark.kubernetes.driver.pod.name"
    assert f"{name}=offset-sync-sync-offsets-driver" in built(f"{KUBERNETES} --conf {IN_POD}")
    own = built(f"{KUBERNETES} --conf {name}=mine --conf {IN_POD}")
    assert [word for word in own if word.startswith(name)] == [f"{name}=mine"]
    assert not [word for word in built(YARN) if word.startswith(name)]


def test_what_the_user_adds_goes_along_to_the_image() -> None:
    words = built(f"{KUBERNETES} --jars local:///x.jar --conf spark.executor.instances=8 --conf {IN_POD}")
    assert after(words, "--jars") == ["local:///x.jar"]
    assert "spark.executor.instances=8" in after(words, "--conf")


def test_a_configuration_that_no_pod_could_find_is_refused_with_the_remedy() -> None:
    with pytest.raises(OptionError, match=r"my\.yaml: on Kubernetes this is a file in the driver's pod; mount it"):
        built(f"{KUBERNETES} --conf my.yaml")


def test_with_a_place_for_uploads_kubernetes_takes_all_from_here() -> None:
    words = built(f"{KUBERNETES} --conf spark.kubernetes.file.upload.path=s3a://b/u --conf my.yaml")
    assert after(words, "--files") == [os.path.abspath("my.yaml")]
    assert after(words, "--py-files") == [str(REPO / "dist" / "offset_sync.zip")]
    assert words[-3:] == [str(REPO / "jobs" / "sync_offsets.py"), "--conf", "my.yaml"]


@pytest.mark.parametrize("words", [YARN, f"{KUBERNETES} --conf {IN_POD}"])
def test_an_installed_spark_is_used_where_there_is_one(words: str) -> None:
    assert built(words, SPARK_HOME="/opt/spark")[0] == "/opt/spark/bin/spark-submit"


PARTS = ("core", "yarn", "kubernetes", "common-utils", "launcher", "network-common")


def test_every_setting_in_the_recipes_is_one_that_spark_knows() -> None:
    # Its classes hold them, each behind its length, but for these two: the name of a variable, and what a prefix makes.
    free = {"spark.yarn.appMasterEnv.OFFSET_SYNC_LOG_FORMAT", "spark.kubernetes.authenticate.driver.serviceAccountName"}
    jars = Path(pyspark.__file__).parent.glob("jars/spark-*_2.13-*.jar")
    known = b"".join(
        opened.read(name)
        for jar in jars
        if jar.name.startswith(tuple(f"spark-{part}" for part in PARTS))
        for opened in [zipfile.ZipFile(jar)]
        for name in opened.namelist()
        if name.endswith(".class") and ("conf" in name.lower() or "launcher" in name)
    )
    settings = {
        key
        for name in ("spark-defaults.conf", "yarn.conf", "kubernetes/spark-submit.conf")
        for key in read_properties(REPO / "conf" / name)
    }
    assert [key for key in settings - free if len(key).to_bytes(2, "big") + key.encode() not in known] == []
