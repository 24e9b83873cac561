"""What a job says when it starts on a Spark, or with jars, that it was not built with."""

from __future__ import annotations

import pytest

from fakes.class_path import FakeClassPath
from offset_sync.model.errors import OffsetSyncError, PlatformError
from offset_sync.tables.delta.requirements import REQUIRED
from offset_sync.tables.delta.self_test import PACKAGES, REMEDY, check

ADMIN = "org.apache.kafka.clients.admin"


@pytest.fixture
def classes() -> FakeClassPath:
    return FakeClassPath(REQUIRED)


def refusal(classes: FakeClassPath, packages: dict[str, str] | None = None) -> str:
    with pytest.raises(PlatformError) as refused:
        check(classes, REQUIRED, PACKAGES if packages is None else packages)
    assert isinstance(refused.value, OffsetSyncError)
    text, remedy = str(refused.value).split("; ", 1)
    assert remedy == REMEDY
    assert "\n" not in text
    return text


def test_what_this_was_built_with_is_taken_without_a_word(classes: FakeClassPath) -> None:
    assert check(classes, REQUIRED, PACKAGES) == []


@pytest.mark.parametrize("part", [part for part in REQUIRED if part.version], ids=lambda part: str(part.jar))
def test_every_jar_of_another_minor_version_is_refused(classes: FakeClassPath, part: object) -> None:
    jar, built_with = part.jar, part.version  # type: ignore[attr-defined]
    classes.versions[jar] = "1.9.9"
    assert refusal(classes) == f"expected {jar} {built_with}, found 1.9.9 in /jars/{jar}-1.9.9.jar"


@pytest.mark.parametrize("jar", [part.jar for part in REQUIRED])
def test_every_jar_that_was_left_out_is_refused_with_what_java_says(classes: FakeClassPath, jar: str) -> None:
    classes.without_jar(jar)
    text = refusal(classes)
    assert text.startswith(f"expected {jar}")
    assert "found none: java.lang.ClassNotFoundException: " in text


def test_another_patch_that_has_everything_is_taken_and_told(classes: FakeClassPath) -> None:
    classes.versions["kafka-clients"] = "3.9.7"
    told = "expected kafka-clients 3.9.2, found 3.9.7 in /jars/kafka-clients-3.9.7.jar"
    assert check(classes, REQUIRED, PACKAGES) == [told]


@pytest.mark.parametrize("version", ["3.9.2", "3.9.7"])
def test_a_method_that_is_missing_is_refused_whatever_the_version(classes: FakeClassPath, version: str) -> None:
    classes.versions["kafka-clients"] = version
    classes.members[f"{ADMIN}.Admin"] -= {"create/1", "close/1"}
    found = f"found {version} in /jars/kafka-clients-{version}.jar"
    assert refusal(classes) == f"expected kafka-clients 3.9.2, {found}: {ADMIN}.Admin has no close/1, create/1"


def test_a_method_with_another_number_of_arguments_is_another_method(classes: FakeClassPath) -> None:
    classes.members[f"{ADMIN}.Admin"] -= {"create/1"}
    classes.members[f"{ADMIN}.Admin"] |= {"create/2"}
    assert refusal(classes).endswith(f"{ADMIN}.Admin has no create/1")


def test_a_class_that_is_missing_in_a_jar_of_the_right_version_is_refused(classes: FakeClassPath) -> None:
    del classes.members[f"{ADMIN}.ListConsumerGroupOffsetsSpec"]
    assert "ListConsumerGroupOffsetsSpec" in refusal(classes)


def test_all_that_is_wrong_stands_in_one_line(classes: FakeClassPath) -> None:
    classes.without_jar("delta-storage")
    classes.versions["kafka-clients"] = "4.3.0"
    with pytest.raises(PlatformError) as refused:
        check(classes, REQUIRED, PACKAGES)
    assert [text.split(",")[0] for text in str(refused.value).removesuffix(REMEDY).split("; ") if text] == [
        "expected kafka-clients 3.9.2",
        "expected delta-storage 4.4.0",
    ]


def test_of_what_spark_may_bring_in_another_version_only_the_classes_count(classes: FakeClassPath) -> None:
    classes.versions["commons-pool2"] = "2.9.0"
    assert check(classes, REQUIRED, PACKAGES) == []


@pytest.mark.parametrize("package", list(PACKAGES))
def test_python_packages_are_held_against_their_versions_too(classes: FakeClassPath, package: str) -> None:
    text = f"expected the Python package {package} {PACKAGES[package]}, found "
    assert refusal(classes, {**PACKAGES, package: "4.1.1"}) == f"{text}4.1.1"
    assert check(classes, REQUIRED, {**PACKAGES, package: ""}) == [f"{text}one of no known version"]


def test_a_spark_that_writes_its_checkpoints_in_another_format_is_refused(classes: FakeClassPath) -> None:
    classes.format = "v2"
    assert refusal(classes) == "expected Spark to write checkpoints of format v1, found v2"
