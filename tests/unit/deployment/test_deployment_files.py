"""Dockerfile and manifests: well-formed, and of one mind with each other and with the project."""

from __future__ import annotations

import re
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

import offset_sync
from offset_sync.jobs.run import STOPPING_S
from offset_sync.jobs.runner import BAD_ARGUMENTS, TAKEN_OVER
from spark_properties import read_properties

REPO = Path(__file__).resolve().parents[3]
KUBERNETES = REPO / "conf" / "kubernetes"
DOCKERFILE = (REPO / "Dockerfile").read_text()
IMAGE = f"offset-sync:{offset_sync.__version__}"
# Without these passwords could be read on the wire, on a disk or in the UI.
GUARDED = {
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    "spark.network.crypto.cipher": "AES/GCM/NoPadding",
    "spark.io.encryption.enabled": "true",
    "spark.ui.enabled": "false",
}
Manifest = dict[str, Any]


def documents() -> Iterator[tuple[str, Manifest]]:
    for path in sorted(KUBERNETES.glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            yield f"{path.name} {document['kind']}", document


DOCUMENTS = dict(documents())


def walk(tree: object) -> Iterator[str]:
    if isinstance(tree, dict):
        for value in tree.values():
            yield from walk(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from walk(value)
    else:
        yield str(tree)


def test_every_image_has_the_version_of_the_project() -> None:
    words = {word for each in DOCUMENTS.values() for word in walk(each) if word.startswith("offset-sync:")}
    words.add(read_properties(KUBERNETES / "spark-submit.conf")["spark.kubernetes.container.image"])
    assert words | set(re.findall(r"docker build -t (\S+)", DOCKERFILE)) == {IMAGE}
    assert f'version="{offset_sync.__version__}"' in DOCKERFILE
    (python,) = re.findall(r"^ARG PYTHON_VERSION=3\.(\d+)$", DOCKERFILE, re.MULTILINE)
    assert int(python) in range(10, 13)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_manifest_is_what_its_api_takes(name: str) -> None:
    kubernetes_validate.validate(DOCUMENTS[name], "1.37", strict=True)


def test_where_executors_are_elsewhere_spark_authenticates_encrypts_and_shows_nothing() -> None:
    for place in (REPO / "conf" / "yarn.conf", KUBERNETES / "spark-submit.conf"):
        assert read_properties(place).items() >= GUARDED.items(), place


def test_systemd_waits_for_the_jobs_and_starts_none_again_that_must_not_be() -> None:
    unit = ConfigParser(interpolation=None, strict=True)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(REPO / "conf" / "systemd" / "offset-sync.service")
    service = unit["Service"]
    assert service["ExecStart"].split()[1:3] == ["run", "--conf"]
    assert service["RestartPreventExitStatus"].split() == [str(BAD_ARGUMENTS), str(TAKEN_OVER)]
    assert STOPPING_S < int(service["TimeoutStopSec"]) < STOPPING_S + 30
    assert service["KillMode"] == "mixed", "the job passes SIGTERM on"
