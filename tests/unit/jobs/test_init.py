"""A first configuration: what is asked, what is written, and that it arrives as it was given."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from offset_sync.check import rules
from offset_sync.check.rules import Rule
from offset_sync.check.stamps import Stamped
from offset_sync.config import load_config
from offset_sync.jobs import init as command
from offset_sync.jobs.init import init, note_origins, prefixed

SCHEMA = Path(__file__).resolve().parents[3] / "conf" / "schema.json"
GIVEN = ["--cluster", "dc1=one:9092", "--cluster", "dc2=two:9092,three:9092"]
UNUSED = cast(Any, None)


@pytest.fixture(autouse=True)
def shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the clusters show nothing in particular."""
    monkeypatch.setattr(command, "fill", lambda _tree: ["dc1: 1 broker"])
    monkeypatch.setattr(command, "_check", lambda _path: 0)


def test_what_is_given_on_the_command_line_is_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "my.yaml"
    more = ["--security", "protocol=SSL", "--security", "dc2:ca=/a=b.pem", "--topics", r"orders\..*"]
    assert init(["--conf", str(path), *GIVEN, *more]) == 0
    assert init(["--conf", str(path), *GIVEN]) == 2, "a file that is there is left alone"
    first = path.read_text().splitlines()[0].removeprefix("# yaml-language-server: $schema=")
    assert (tmp_path / first).resolve() == SCHEMA
    load_config(path)
    tree = yaml.safe_load(path.read_text())
    ssl = {"protocol": "SSL"}
    assert tree["clusters"] == {
        "dc1": {"kafka": {"bootstrap.servers": "one:9092"}, "security": ssl},
        "dc2": {"kafka": {"bootstrap.servers": "two:9092,three:9092"}, "security": {**ssl, "ca": "/a=b.pem"}},
    }
    assert tree["topics"]["include"] == [r"orders\..*"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "--cluster is missing"),
        (["--cluster", "dc1"], "--cluster dc1: write it as ALIAS=SERVERS"),
        ([*GIVEN, "--security", "x"], "--security x: write it as KEY=VALUE"),
        ([*GIVEN, "--security", "dc9:a=b"], "--security dc9:a=b: write it as"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert init(["--conf", str(tmp_path / "my.yaml"), *words]) == 2
    assert capsys.readouterr().err.startswith(said)
    assert [*tmp_path.iterdir()] == []


def stamped(rule: Rule, said: str = "", count: int = 1) -> list[Stamped]:
    return [Stamped("orders", UNUSED, UNUSED, rule, said)] * count


def test_an_origin_that_is_no_alias_is_that_of_the_other_cluster() -> None:
    clusters: Any = {"dc1": {}, "dc2": {}}
    copies = [*stamped(rules.UNKNOWN, "eu-west", 2), *stamped(rules.STAMPED, "dc1"), *stamped(rules.NATIVE)]
    found = note_origins(clusters, {"dc1": stamped(rules.STAMPED, "dc2", 3), "dc2": copies})
    assert found == ["dc2: headers call dc1 'eu-west': clusters.dc1.origin"]
    assert clusters == {"dc1": {"origin": "eu-west"}, "dc2": {}}
    uncertain = {"dc1": [*stamped(rules.UNKNOWN, "east"), *stamped(rules.UNKNOWN, "west")]}
    assert note_origins({"dc1": {}, "dc2": {}}, uncertain) == []


def test_names_with_prefixes_are_told_where_the_original_is_there() -> None:
    clusters = {"dc1": ["orders", "dc2.pay"], "dc2": ["dc1.orders", "dc1.gone", "dc1.heartbeats", "other.orders"]}
    assert prefixed(clusters, lambda _topic: True) == {("dc2", "dc1"): 1}
