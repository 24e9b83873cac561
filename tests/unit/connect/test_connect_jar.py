"""`make connect`: the jar of the transform; and the recipes of conf/mirrors/ as MirrorMaker 2 reads them."""

from __future__ import annotations

import itertools
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

import connect_jar
import offset_sync
from connect.mirror_cases import MirrorCases, Record, mirror_cases
from offset_sync_demo.kafka.connect_transform import TRANSFORM

pytestmark = pytest.mark.xdist_group("connect")
REPO = Path(__file__).resolve().parents[3]
CLASS = "offsetsync/connect/StampOrigin.class"
JAVA_11 = 55


@pytest.fixture(scope="module")
def jar(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The jar, where there is a compiler."""
    try:
        connect_jar.PART.find_javac()
    except SystemExit as missing:
        pytest.skip(str(missing))
    return connect_jar.build_jar(tmp_path_factory.mktemp("dist"))


def test_it_is_named_as_the_version_and_holds_one_class_and_what_tells_of_it(jar: Path) -> None:
    assert jar.name == f"offset-sync-connect-{offset_sync.__version__}.jar"
    with zipfile.ZipFile(jar) as archive:
        assert [name for name in archive.namelist() if name.endswith(".class")] == [CLASS]
        assert archive.read("META-INF/LICENSE") == (REPO / "LICENSE").read_bytes()
        assert archive.read(connect_jar.SERVICES) == b"offsetsync.connect.StampOrigin\n"
        # JVMS 4.1: the magic number, and the version in the two bytes behind the minor one.
        assert archive.read(CLASS)[:8] == b"\xca\xfe\xba\xbe\0\0" + JAVA_11.to_bytes(2, "big")


def test_connect_runs_what_is_in_it(jar: Path, tmp_path: Path) -> None:
    with mirror_cases(tmp_path, jar) as mirror:
        (answer,) = mirror.apply(Record())
        assert answer.result is not None
        assert answer.result.stamp() == (b"dc1", b"7", b"orders-3")
        said = mirror.ask({"options": {}, "records": [], "times": 1})
        assert said["version"] == offset_sync.__version__


RECIPES = REPO / "conf" / "mirrors"
CLUSTERS = {"two-clusters.properties": ["dc1", "dc2"], "three-clusters.properties": ["dc1", "dc2", "dc3"]}
Flows = dict[str, Any]
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
OF_A_CONNECTOR = {
    "transforms": "origin",
    "transforms.origin.type": TRANSFORM,
    "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
    "emit.offset-syncs.enabled": "false",
    "sync.topic.configs.enabled": "false",
    "sync.topic.acls.enabled": "false",
}


"""What has to reach each connector that copies records."""


def properties(name: str) -> dict[str, str]:
    """Return a file of properties; AssertionError if a key occurs twice."""
    lines = [line for line in (RECIPES / name).read_text().splitlines() if line and not line.startswith("#")]
    pairs = [(key, value) for key, _, value in (line.partition(" = ") for line in lines)]
    assert len(dict(pairs)) == len(pairs)
    return dict(pairs)


def strimzi() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((RECIPES / "strimzi-to-dc2.yaml").read_text())
    return loaded


def test_every_recipe_is_looked_at_here() -> None:
    tested = {*CLUSTERS, "connect-dc1-to-dc2.json", "strimzi-to-dc2.yaml"}
    assert {path.name for path in RECIPES.iterdir()} == tested
    page = (REPO / "docs" / "mirrors.md").read_text()
    assert [name for name in sorted(tested) if f"](../conf/mirrors/{name})" not in page] == []


@pytest.fixture(scope="module", params=CLUSTERS)
def recipe(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def flows(mirror: MirrorCases, recipe: str) -> Flows:
    """What MirrorMaker by itself makes of the recipe."""
    return mirror.ask({"properties": properties(recipe)})


def test_by_itself_every_pair_of_clusters_has_both_flows_with_the_transform(flows: Flows, recipe: str) -> None:
    assert set(flows) == {f"{one}->{other}" for one, other in itertools.permutations(CLUSTERS[recipe], 2)}
    for flow in flows.values():
        assert flow["enabled"] == "true"
        assert {name: flow["connector"].get(name) for name in OF_A_CONNECTOR} == OF_A_CONNECTOR
        assert flow["consumer"]["isolation.level"] == "read_committed"


def test_on_connect_one_connector_is_one_flow_with_the_transform(mirror: MirrorCases) -> None:
    settings = json.loads((RECIPES / "connect-dc1-to-dc2.json").read_text())
    assert settings["connector.class"] == "org.apache.kafka.connect.mirror.MirrorSourceConnector"
    assert (settings["source.cluster.alias"], settings["target.cluster.alias"]) == ("dc1", "dc2")
    assert {name: settings.get(name) for name in OF_A_CONNECTOR} == OF_A_CONNECTOR
    # Connect's own converter of headers would write dc1 as ZGMx.
    assert {settings.get(f"{kind}.converter") for kind in ("key", "value", "header")} == {BYTES}
    assert mirror.ask({"connector": settings})["consumer"]["isolation.level"] == "read_committed"


def test_with_strimzi_one_resource_is_all_flows_to_one_cluster_with_the_transform(mirror: MirrorCases) -> None:
    resource = strimzi()
    assert (resource["apiVersion"], resource["kind"]) == ("kafka.strimzi.io/v1", "KafkaMirrorMaker2")
    assert resource["metadata"]["name"] == f"to-{resource['spec']['target']['alias']}"
    for flow in resource["spec"]["mirrors"]:
        config = flow["sourceConnector"]["config"]
        told = {name: str(value).lower() if isinstance(value, bool) else value for name, value in config.items()}
        assert {name: told.get(name) for name in OF_A_CONNECTOR} == OF_A_CONNECTOR
        assert mirror.ask({"connector": told})["consumer"]["isolation.level"] == "read_committed"
        assert flow["groupsPattern"] == "none"
        assert "checkpointConnector" not in flow
