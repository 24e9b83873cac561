"""Where paths without a scheme lead is read from what Spark and Hadoop would read it from, in their order."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakes.reconciler_site import config_of
from offset_sync.tables.files import default_file_system, files_of


def core_site(value: str, name: str = "fs.defaultFS") -> str:
    text = f"<property><name>{name}</name><value>{value}</value></property>"
    return f"<configuration><property><name>a</name><value>b</value></property>{text}</configuration>"


DEFAULTS = "spark-defaults.conf"
FILES = {
    f"first/{DEFAULTS}": "# fs\n\nspark.hadoop.fs.defaultFS   hdfs://first/\n",
    f"second/{DEFAULTS}": "spark.hadoop.fs.defaultFS=hdfs://second",
    f"home/conf/{DEFAULTS}": "spark.hadoop.fs.defaultFS hdfs://home",
    "third/core-site.xml": core_site(" hdfs://third\n"),
    "fourth/core-site.xml": core_site("hdfs://fourth", "fs.default.name"),
    "my own.conf": "spark.hadoop.fs.defaultFS=hdfs://named\n",
    "nothing.conf": "spark.executor.cores=2\n#spark.hadoop.fs.defaultFS=hdfs://name\n",
}


@pytest.mark.parametrize(
    ("environ", "submit", "said"),
    [
        ("", "", ""),
        ("", "--conf spark.executor.cores=2 pyspark-shell", ""),
        ("", "--conf fs.defaultFS=hdfs://name", ""),  # Spark does not read that either
        ("", "--conf a=b --conf spark.hadoop.fs.defaultFS=hdfs://name:8020 --conf 'c=d e' x", "hdfs://name:8020"),
        ("", "--conf spark.hadoop.fs.default.name=hdfs://name:8020 pyspark-shell", "hdfs://name:8020"),
        ("", "--conf=spark.hadoop.fs.defaultFS=hdfs://a -c spark.hadoop.fs.defaultFS=hdfs://b", "hdfs://b"),
        ("SPARK_CONF_DIR=first", "", "hdfs://first"),
        ("SPARK_CONF_DIR=second", "", "hdfs://second"),
        ("SPARK_CONF_DIR=third", "", "hdfs://third"),
        ("SPARK_CONF_DIR=fourth", "", "hdfs://fourth"),
        ("SPARK_CONF_DIR=nowhere", "", ""),
        ("SPARK_HOME=home", "", "hdfs://home"),
        ("SPARK_HOME=home SPARK_CONF_DIR=first", "", "hdfs://first"),
        ("HADOOP_CONF_DIR=third", "", "hdfs://third"),
        ("YARN_CONF_DIR=third", "", "hdfs://third"),
        ("HADOOP_CONF_DIR=nowhere", "", ""),
        ("", "--properties-file '{}/my own.conf' pyspark-shell", "hdfs://named"),
        ("", "--properties-file {}/nothing.conf", ""),
        # What is said more closely counts.
        ("HADOOP_CONF_DIR=third SPARK_CONF_DIR=first", "", "hdfs://first"),
        ("SPARK_CONF_DIR=first", "--properties-file '{}/my own.conf'", "hdfs://named"),
        ("SPARK_CONF_DIR=first", "--properties-file {}/nothing.conf", ""),
        ("SPARK_CONF_DIR=first", "--properties-file {}/nothing.conf --load-spark-defaults", "hdfs://first"),
        ("", "--properties-file '{}/my own.conf' --conf spark.hadoop.fs.defaultFS=hdfs://command", "hdfs://command"),
        ("HADOOP_CONF_DIR=third", "--conf spark.hadoop.fs.defaultFS=file:///", ""),
    ],
)
def test_it_is_what_spark_would_take(tmp_path: Path, environ: str, submit: str, said: str) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    given = {name: str(tmp_path / folder) for name, _, folder in (each.partition("=") for each in environ.split())}
    assert default_file_system(given | {"PYSPARK_SUBMIT_ARGS": submit.format(tmp_path)}) == said


def test_files_of_a_configuration_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--conf spark.hadoop.fs.defaultFS=hdfs://name pyspark-shell")
    storage = {"AWS_REGION": "eu"}
    files = files_of(config_of(["X", "Y"], tables={"root": "/t", "checkpoints": "/c", "storage": storage}))
    assert (files.storage, files.uri("/t")) == (storage, "hdfs://name/t")
    assert files.local("/t") is None
    assert files.local("file:/t") == Path("/t")
