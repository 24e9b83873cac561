"""Where paths without a scheme lead is read from what Spark and Hadoop would read it from, in their order."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakes.reconciler_site import config_of
from offset_sync.tables.files import default_file_system, files_of

REPO = Path(__file__).resolve().parents[3]


def core_site(value: str, name: str = "fs.defaultFS") -> str:
    text = f"<property><name>{name}</name><value>{value}</value></property>"
    return f"<configuration><property><name>a</name><value>b</value></property>{text}</configuration>"


def test_without_any_setting_it_is_this_disk() -> None:
    assert default_file_system({}) == ""
    assert default_file_system({"PYSPARK_SUBMIT_ARGS": "--conf spark.executor.cores=2 pyspark-shell"}) == ""
    assert default_file_system({"PYSPARK_SUBMIT_ARGS": "--conf fs.defaultFS=hdfs://name"}) == "", "nor by Spark"


@pytest.mark.parametrize("name", ["spark.hadoop.fs.defaultFS", "spark.hadoop.fs.default.name"])
def test_a_conf_of_the_command_says_it(name: str) -> None:
    environ = {"PYSPARK_SUBMIT_ARGS": f"--conf a=b --conf {name}=hdfs://name:8020 --conf 'c=d e' pyspark-shell"}
    assert default_file_system(environ) == "hdfs://name:8020"


@pytest.mark.parametrize(("variable", "below"), [("SPARK_CONF_DIR", "."), ("SPARK_HOME", "conf")])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("spark-defaults.conf", "# fs\n\nspark.hadoop.fs.defaultFS   hdfs://name/\n"),
        ("spark-defaults.conf", "spark.hadoop.fs.defaultFS=hdfs://name"),
        ("core-site.xml", core_site("hdfs://name")),
        ("core-site.xml", core_site(" hdfs://name\n", "fs.default.name")),
    ],
)
def test_so_do_the_files_that_spark_reads(tmp_path: Path, variable: str, below: str, name: str, text: str) -> None:
    (tmp_path / below).mkdir(exist_ok=True)
    assert default_file_system({variable: str(tmp_path)}) == ""
    (tmp_path / below / name).write_text(text)
    assert default_file_system({variable: str(tmp_path)}) == "hdfs://name"


@pytest.mark.parametrize("variable", ["HADOOP_CONF_DIR", "YARN_CONF_DIR"])
def test_so_does_hadoops_own_folder(tmp_path: Path, variable: str) -> None:
    assert default_file_system({variable: str(tmp_path / "nowhere")}) == ""
    (tmp_path / "core-site.xml").write_text(core_site("hdfs://name"))
    assert default_file_system({variable: str(tmp_path)}) == "hdfs://name"


def test_so_does_a_file_of_properties_that_is_named(tmp_path: Path) -> None:
    named = tmp_path / "my own.conf"
    named.write_text("spark.hadoop.fs.defaultFS=hdfs://name\n")
    environ = {"PYSPARK_SUBMIT_ARGS": f"--properties-file '{named}' pyspark-shell"}
    assert default_file_system(environ) == "hdfs://name"
    named.write_text("spark.executor.cores=2\n#spark.hadoop.fs.defaultFS=hdfs://name\n")
    assert default_file_system(environ) == ""


def test_what_is_said_more_closely_counts(tmp_path: Path) -> None:
    (tmp_path / "core-site.xml").write_text(core_site("hdfs://site"))
    environ = {"HADOOP_CONF_DIR": str(tmp_path), "SPARK_CONF_DIR": str(tmp_path)}
    assert default_file_system(environ) == "hdfs://site"
    (tmp_path / "spark-defaults.conf").write_text("spark.hadoop.fs.defaultFS hdfs://defaults")
    assert default_file_system(environ) == "hdfs://defaults"
    (tmp_path / "named").write_text("spark.hadoop.fs.defaultFS hdfs://named")
    environ["PYSPARK_SUBMIT_ARGS"] = f"--properties-file {tmp_path}/named"
    assert default_file_system(environ) == "hdfs://named"
    environ["PYSPARK_SUBMIT_ARGS"] += " --conf spark.hadoop.fs.defaultFS=hdfs://command"
    assert default_file_system(environ) == "hdfs://command"
    environ["PYSPARK_SUBMIT_ARGS"] = "--conf spark.hadoop.fs.defaultFS=file:///"
    assert default_file_system(environ) == ""


@pytest.mark.parametrize("form", ["--conf={}", "--conf {}", "-c {}"])
def test_the_last_conf_counts_however_it_is_given(form: str) -> None:
    said = [form.format(f"spark.hadoop.fs.defaultFS=hdfs://{name}") for name in ("first", "last")]
    assert default_file_system({"PYSPARK_SUBMIT_ARGS": " ".join(said)}) == "hdfs://last"


def test_what_spark_does_not_read_does_not_count(tmp_path: Path) -> None:
    """Its home if its settings are in another folder, and its defaults if a file of properties is named."""
    home, own, named = tmp_path / "home" / "conf", tmp_path / "own", tmp_path / "named"
    for folder in (home, own):
        folder.mkdir(parents=True)
        (folder / "spark-defaults.conf").write_text(f"spark.hadoop.fs.defaultFS hdfs://{folder.name}")
    environ = {"SPARK_HOME": str(home.parent)}
    assert default_file_system(environ) == "hdfs://conf"
    environ["SPARK_CONF_DIR"] = str(own)
    assert default_file_system(environ) == "hdfs://own"
    named.write_text("spark.executor.cores=2\n")
    environ["PYSPARK_SUBMIT_ARGS"] = f"--properties-file {named}"
    assert default_file_system(environ) == ""
    environ["PYSPARK_SUBMIT_ARGS"] += " --load-spark-defaults"
    assert default_file_system(environ) == "hdfs://own"


def test_the_settings_that_come_with_this_leave_paths_local() -> None:
    assert default_file_system({"SPARK_CONF_DIR": str(REPO / "conf")}) == ""


def test_files_of_a_configuration_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--conf spark.hadoop.fs.defaultFS=hdfs://name pyspark-shell")
    storage = {"AWS_REGION": "eu"}
    files = files_of(config_of(["X", "Y"], tables={"root": "/t", "checkpoints": "/c", "storage": storage}))
    assert (files.storage, files.uri("/t")) == (storage, "hdfs://name/t")
    assert files.local("/t") is None
    assert files.local("file:/t") == Path("/t")
