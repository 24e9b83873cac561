"""Whether a path is this machine's is told without Hadoop; where its settings could say otherwise it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from offset_sync.tables.places import local_place

CORE = "<property><name>fs.defaultFS</name><value>hdfs://name</value></property>"


@pytest.mark.parametrize("path", ["/a/b", "file:/a/b", "file:///a/b", "file://localhost/a/b"])
def test_a_path_of_this_disk_may_be_written_in_four_ways(path: str) -> None:
    assert local_place(path, {}) == Path("/a/b")


def test_a_relative_path_stays_one() -> None:
    assert local_place("./data/tables", {}) == Path("data/tables")


@pytest.mark.parametrize("path", ["hdfs://name/a", "s3a://bucket/a", "abfss://c@a.net/a"])
def test_what_lies_elsewhere_is_not_taken_for_local(path: str) -> None:
    assert local_place(path, {}) is None


@pytest.mark.parametrize(
    "environ",
    [
        {"HADOOP_CONF_DIR": "/etc/hadoop"},
        {"YARN_CONF_DIR": "/etc/hadoop"},
        {"PYSPARK_SUBMIT_ARGS": "--conf spark.hadoop.fs.defaultFS=hdfs://name pyspark-shell"},
        {"PYSPARK_SUBMIT_ARGS": "--conf spark.hadoop.fs.default.name=hdfs://name pyspark-shell"},
    ],
)
def test_where_hadoop_may_have_another_default_only_a_path_with_a_scheme_is_local(environ: dict[str, str]) -> None:
    assert local_place("/a", environ) is None
    assert local_place("file:/a", environ) == Path("/a")


@pytest.mark.parametrize(("variable", "below"), [("SPARK_CONF_DIR", "."), ("SPARK_HOME", "conf")])
@pytest.mark.parametrize(
    ("name", "text"), [("spark-defaults.conf", "spark.hadoop.fs.defaultFS hdfs://name\n"), ("core-site.xml", CORE)]
)
def test_so_may_the_files_that_spark_would_read(
    tmp_path: Path, variable: str, below: str, name: str, text: str
) -> None:
    (tmp_path / below).mkdir(exist_ok=True)
    assert local_place("/a", {variable: str(tmp_path)}) == Path("/a")
    (tmp_path / below / name).write_text(text)
    assert local_place("/a", {variable: str(tmp_path)}) is None


def test_so_may_a_file_of_properties_that_is_named(tmp_path: Path) -> None:
    named = tmp_path / "my own.conf"
    named.write_text("spark.hadoop.fs.defaultFS=hdfs://name\n")
    environ = {"PYSPARK_SUBMIT_ARGS": f"--properties-file '{named}' pyspark-shell"}
    assert local_place("/a", environ) is None
    named.write_text("spark.executor.cores=2\n")
    assert local_place("/a", environ) == Path("/a")


def test_the_settings_that_come_with_this_leave_paths_local() -> None:
    assert local_place("/a", {"SPARK_CONF_DIR": str(Path(__file__).resolve().parents[3] / "conf")}) == Path("/a")
