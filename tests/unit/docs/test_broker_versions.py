"""The brokers that README.md names are those that the tests start."""

from __future__ import annotations

import re
from pathlib import Path

import jars

REPO = Path(__file__).resolve().parents[3]


def pairs() -> list[tuple[str, str]]:
    """Return the versions of dc1 and dc2 in each run of `make test-versions`."""
    chosen = re.search(r"^VERSIONS \?= (.*)$", (REPO / "Makefile").read_text(), re.MULTILINE)
    assert chosen is not None
    found = [each.split(",") for each in chosen[1].split()]
    assert all(len(each) == 2 for each in found)
    return [(first, second) for first, second in found]


def test_the_requirements_name_the_brokers_of_all_test_runs() -> None:
    (row,) = re.findall(r"^\| brokers \| (.*) \|$", (REPO / "README.md").read_text(), re.MULTILINE)
    pinned = (REPO / "conf" / "jars" / "ivy.xml").read_text()
    (usual,) = re.findall(r'"broker->default".* name="kafka_2.13" rev="(\d+\.\d+)', pinned)
    versions = sorted({each for pair in pairs() for each in pair})
    runs = ", ".join(f"{first} with {second}" for first, second in pairs())
    assert row == (
        f"Apache Kafka {versions[0]} to {versions[-1]}. Tested: {usual}, and in pairs {runs} (`make test-versions`)"
    )


def test_every_version_is_started_as_the_first_cluster_beside_another_version() -> None:
    assert sorted(f"broker-{first}" for first, _ in pairs()) == sorted(jars.VERSIONS)
    assert all(first != second for first, second in pairs())
