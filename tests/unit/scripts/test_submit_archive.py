"""The archive of Spark's classes on the command line: named where a driver on this machine can use it."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from archive_options import ARCHIVE, CONF_VARIABLE
from builders.submit_commands import after, command, make_repo, spark_words
from submit import without_other_driver


@pytest.fixture
def archived(tmp_path: Path) -> Path:
    """A repository with an archive of classes, in a folder whose name has a blank."""
    root = make_repo(tmp_path / "a repo")
    for path in (root / ARCHIVE, root / "conf" / "spark-defaults.conf"):
        path.parent.mkdir(parents=True)
        path.write_text("")
    return root


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


def test_without_an_archive_the_class_path_is_as_it_was(archived: Path) -> None:
    (archived / ARCHIVE).unlink()
    assert "spark.jsa" not in str(command(archived))
    assert CONF_VARIABLE not in command(archived).environment


def test_a_job_that_another_one_starts_begins_as_that_one_did(archived: Path) -> None:
    first = command(archived)
    second = command(archived, **without_other_driver(first.environment | {"HOME": "/home/me"}, archived))
    assert (second.words, spark_words(second)) == (first.words, spark_words(first))
    assert (
        second.environment.items()
        >= {name: first.environment[name] for name in ("SPARK_CONF_DIR", CONF_VARIABLE)}.items()
    )
    own = {"SPARK_CONF_DIR": "/etc/spark", "PYSPARK_GATEWAY_PORT": "1"}
    assert without_other_driver(own, archived) == {"SPARK_CONF_DIR": "/etc/spark"}
