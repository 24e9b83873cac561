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


def test_the_jar_holds_one_class_which_connect_runs(tmp_path: Path) -> None:
    try:
        connect_jar.PART.find_javac()
    except SystemExit as missing:
        pytest.skip(str(missing))
    jar = connect_jar.build_jar(tmp_path)
    assert jar.name == f"offset-sync-connect-{offset_sync.__version__}.jar"
    with zipfile.ZipFile(jar) as archive:
        assert [name for name in archive.namelist() if name.endswith(".class")] == [CLASS]
        assert archive.read(connect_jar.SERVICES) == b"offsetsync.connect.StampOrigin\n"
        # JVMS 4.1: the magic number, and the version in the two bytes behind the minor one.
        assert archive.read(CLASS)[:8] == b"\xca\xfe\xba\xbe\0\0" + JAVA_11.to_bytes(2, "big")
    with mirror_cases(tmp_path, jar) as mirror:
        (answer,) = mirror.apply(Record())
        assert answer.result is not None
        assert answer.result.stamp() == (b"dc1", b"7", b"orders-3")


RECIPES = REPO / "conf" / "mirrors"
CLUSTERS = {"two-clusters.properties": ["dc1", "dc2"], "three-clusters.properties": ["dc1", "dc2", "dc3"]}
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
    lines = [line for line in (RECIPES / name).read_text().splitlines() if line and not line.startswith("#")]
    return {key: value for key, _, value in (line.partition(" = ") for line in lines)}


@pytest.mark.parametrize("recipe", CLUSTERS)
def test_by_itself_every_pair_of_clusters_has_both_flows_with_the_transform(mirror: MirrorCases, recipe: str) -> None:
    flows = mirror.ask({"properties": properties(recipe)})
    assert set(flows) == {f"{one}->{other}" for one, other in itertools.permutations(CLUSTERS[recipe], 2)}
    for flow in flows.values():
        assert flow["enabled"] == "true"
        assert {name: flow["connector"].get(name) for name in OF_A_CONNECTOR} == OF_A_CONNECTOR
        assert flow["consumer"]["isolation.level"] == "read_committed"


def test_on_connect_and_with_strimzi_each_flow_has_the_transform(mirror: MirrorCases) -> None:
    settings = json.loads((RECIPES / "connect-dc1-to-dc2.json").read_text())
    resource: dict[str, Any] = yaml.safe_load((RECIPES / "strimzi-to-dc2.yaml").read_text())
    flows = [settings, *(flow["sourceConnector"]["config"] for flow in resource["spec"]["mirrors"])]
    for flow in flows:
        told = {name: str(value).lower() if isinstance(value, bool) else value for name, value in flow.items()}
        assert {name: told.get(name) for name in OF_A_CONNECTOR} == OF_A_CONNECTOR
        assert mirror.ask({"connector": told})["consumer"]["isolation.level"] == "read_committed"
    # Connect's own converter of headers would write dc1 as ZGMx.
    assert {settings.get(f"{kind}.converter") for kind in ("key", "value", "header")} == {BYTES}
