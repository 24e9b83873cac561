"""The list of what is called in the JVM is what is called, and its versions are the pinned ones."""

from __future__ import annotations

import ast
import configparser
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

from offset_sync.kafka.librdkafka import CONFLUENT_KAFKA
from offset_sync.tables.delta.requirements import REQUIRED
from offset_sync.tables.delta.self_test import PACKAGES

REPO = Path(__file__).resolve().parents[4]
DOOR = REPO / "lib" / "offset_sync" / "tables" / "delta"
SOURCES = {
    path.name: ast.parse(path.read_text(encoding="utf-8"))
    for path in (*DOOR.glob("*.py"), REPO / "lib" / "offset_sync" / "sync" / "groups_at_once.py")
}
CLASS_NAME = re.compile(r"(?:com|io|net|org|java|scala)(?:\.[\w$]+){2,}")
OF_THE_LANGUAGE = ("java.", "scala.")
"""Java's and Scala's own classes, which are there with any Spark 4."""
CALLED_ON_THEM = {
    "java.lang.Class": "forName/3 getConstructors/0 getFields/0 getMethods/0 getPackage/0 getProtectionDomain/0",
    "java.lang.ClassLoader": "loadClass/1",
    "java.lang.Object": "getClass/0 toString/0",
    "java.lang.Package": "getImplementationVersion/0",
    "java.lang.Runtime": "availableProcessors/0 getRuntime/0",
    "java.lang.Thread": "currentThread/0 getContextClassLoader/0",
    "java.net.URL": "getPath/0",
    "java.security": "getCodeSource/0 getLocation/0",
    "java.util": "setProperty/2",
    "scala": "stringOf/1",
}
IN_PYTHON = {"addFilter/1", "getLogger/1", "removeFilter/1"}


def required() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for part in REQUIRED:
        for name, members in part.classes.items():
            found.setdefault(name, set()).update(members.split())
    return found


def uses() -> Iterator[str]:
    """Yield every call, constructor and constant in the folder as it would stand in the list."""
    for source in SOURCES.values():
        for node in ast.walk(source):
            match node:
                case ast.Call(func=ast.Attribute(attr=name), args=arguments):
                    yield f"{name}/{len(arguments)}"
                case ast.Call(func=ast.Call(func=ast.Name(id="java"), args=[ast.Constant(value=str(name))])):
                    yield f"{name.rpartition('.')[2]}/{len(node.args)}"
                case ast.Attribute(attr=name) | ast.Constant(value=str(name)) if name.isupper() or name == "MODULE$":
                    yield name


def classes_asked_for() -> set[str]:
    sources = [source for name, source in SOURCES.items() if name != "requirements.py"]
    nodes = [node for source in sources for node in ast.walk(source) if isinstance(node, ast.Constant)]
    return {str(node.value) for node in nodes if CLASS_NAME.fullmatch(str(node.value))}


def test_every_class_that_is_asked_for_stands_in_the_list() -> None:
    asked = {name for name in classes_asked_for() if not name.startswith(OF_THE_LANGUAGE)}
    assert len(asked) > 5
    assert asked <= required().keys()


def test_every_method_that_is_called_stands_in_the_list_with_so_many_arguments() -> None:
    listed = set.union(*required().values(), *(each.split() for each in CALLED_ON_THEM.values()), IN_PYTHON)
    called = {use for use in uses() if re.match(r"[a-z]+[A-Z]", use)}
    assert len(called) > 20
    assert called - listed == set()


def test_nothing_is_in_the_list_that_nobody_calls() -> None:
    called = set(uses())
    stale = {name: members - called for name, members in required().items() if members - called}
    assert stale == {}


def test_the_versions_are_the_pinned_ones_and_every_jar_given_to_spark_has_a_part() -> None:
    dependencies = ET.parse(REPO / "conf" / "jars" / "ivy.xml").iter("dependency")
    given = [each.attrib for each in dependencies if each.attrib["conf"].startswith("spark->")]
    pinned = {re.sub(r"(_4\.2)?_2\.13$", "", each["name"]): each["rev"] for each in given}
    versions = {part.jar: part.version for part in REQUIRED}
    assert pinned.keys() <= versions.keys()
    of_spark = {"spark-core", "spark-sql"}
    compared = {jar: version for jar, version in versions.items() if version and jar not in of_spark}
    assert compared == {jar: pinned[jar] for jar in compared}
    assert {versions[jar] for jar in of_spark} == {pinned_packages()["pyspark"]}
    assert pinned_packages() | PACKAGES == pinned_packages()
    assert pinned_packages()["confluent-kafka"] == CONFLUENT_KAFKA


def pinned_packages() -> dict[str, str]:
    settings = configparser.ConfigParser()
    settings.read(REPO / "setup.cfg", encoding="utf-8")
    texts = (settings["options"]["install_requires"], settings["options.extras_require"]["spark"])
    lines = [line for text in texts for line in text.splitlines()]
    return dict(line.split("==") for line in lines if "==" in line)
