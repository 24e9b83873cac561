"""The archive of Spark's classes on the command line: named where a driver on this machine can use it."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from spark_options import split_options
from submit import Command, build_command


@pytest.fixture
def archived(tmp_path: Path) -> Path:
    """A repository with one job, two jars and an archive of classes, in a folder whose name has a blank."""
    root = tmp_path / "a repo"
    for name in ("jobs/sync_offsets.py", "jars/spark/a.jar", "jars/spark/b.jar", "lib/offset_sync/__init__.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text('"""Sync them."""\n')
    (root / "jars" / "classes" / "conf").mkdir(parents=True)
    (root / "conf").mkdir()
    return root


def command(repo: Path, *words: str, **environ: str) -> Command:
    return build_command(repo, "sync_offsets", split_options(words), environ)


def spark_words(built: Command) -> list[str]:
    return shlex.split(built.environment["PYSPARK_SUBMIT_ARGS"])


def after(words: list[str], option: str) -> list[str]:
    return [words[at + 1] for at, word in enumerate(words) if word == option]


def test_a_driver_on_this_machine_starts_from_the_archive_of_classes(archived: Path) -> None:
    built = command(archived)
    words = spark_words(built)
    (given,) = [each for each in after(words, "--conf") if each.startswith("spark.driver.defaultJavaOptions=")]
    assert shlex.split(given)[0].endswith(f"-XX:SharedArchiveFile={archived}/jars/classes/spark.jsa")
    # A class path of jars alone: Spark's folder of settings, which is on it, is an empty one.
    assert f"spark.driver.extraClassPath={archived}/jars/spark/a.jar:{archived}/jars/spark/b.jar" in words
    assert built.environment["OFFSET_SYNC_EMPTY_CONF"] == f"{archived}/jars/classes/conf"
    assert after(words, "--properties-file") == [f"{archived}/conf/spark-defaults.conf"]


@pytest.mark.parametrize(
    ("words", "environ"),
    [
        (["--master", "yarn"], {}),
        (["--master", "yarn", "--deploy-mode", "cluster"], {}),
        (["--driver-class-path", "/x.jar"], {}),
        (["--conf", "spark.driver.extraClassPath=/x.jar"], {}),
        (["--conf", "spark.driver.defaultJavaOptions=-Xss4m"], {}),
        ([], {"SPARK_HOME": "/opt/spark"}),
        ([], {"SPARK_CONF_DIR": "/etc/spark"}),
    ],
)
def test_the_archive_is_left_where_it_was_not_made_for_this(
    archived: Path, words: list[str], environ: dict[str, str]
) -> None:
    built = command(archived, *words, **environ)
    assert "OFFSET_SYNC_EMPTY_CONF" not in built.environment
    assert "spark.jsa" not in str(built)


def test_settings_of_hadoop_in_conf_stay_on_the_class_path(archived: Path) -> None:
    (archived / "conf" / "core-site.xml").write_text("<configuration/>")
    assert "OFFSET_SYNC_EMPTY_CONF" not in command(archived).environment
