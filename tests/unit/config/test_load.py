"""Reading the file: what it says is what arrives, also from elsewhere; secrets are shown nowhere, whatever fails."""

from __future__ import annotations

import pickle
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from builders.configurations import clusters, parsed, problems
from offset_sync.config import Config, load_config
from offset_sync.config.rules import cautions
from offset_sync.model.errors import ConfigError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sync.yaml"


def file_problems(path: Path, text: str | None) -> list[str]:
    if text is not None:
        path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_config(path, {})
    return caught.value.problems


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot be read (No such file or directory); name a readable file with --conf"),
        ("", ""),
        ("- a\n- b\n", "not a mapping"),
        ("clusters:\n  dc1: {\n", "sync.yaml, line 3: not valid YAML"),
        ("a: !!python/name:os.system\n", "not valid YAML"),
        ("a: &a\n  b: [*a]\n", "nested too deeply"),
        ("a: 1\nb:\n  c: 1\n  c: 2\n", "sync.yaml, line 4: not valid YAML (c is given twice)"),
        ("a: " + "[" * 1000, "nested too deeply"),
    ],
)
def test_what_is_not_one_plain_mapping_is_refused_in_one_line(path: Path, text: str | None, said: str) -> None:
    (line,) = file_problems(path, text)
    assert said in line


def test_numbers_and_truths_become_the_text_of_client_options(path: Path) -> None:
    options = "{bootstrap.servers: 'a:1', request.timeout.ms: 20000, enable.x: true, y: False, z: 0.8, w: 010}"
    topics = "topics: {include: [on, no], strategy: off}"
    path.write_text(f"clusters: {{a: {{kafka: {options}}}, b: {{kafka: {{bootstrap.servers: 'b:2'}}}}}}\n{topics}")
    config = load_config(path)
    assert [*config.clusters["a"].kafka.values()] == ["a:1", "20000", "true", "false", "0.8", "010"]
    assert (config.topics.strategy, config.topics.include) == ("off", ("on", "no"))


# Values from elsewhere, and secrets

CANARY = "c4n4ry"


def tree(**options: object) -> dict[str, Any]:
    kafka = {"bootstrap.servers": "a:1", **options}
    return {
        "clusters": {"dc1": {"kafka": kafka}, "dc2": {"kafka": {"bootstrap.servers": "b:2"}}},
        "topics": {"include": ["orders"]},
    }


def shown(config: Config) -> str:
    dc1 = config.clusters["dc1"]
    options = (config.spark_options("dc1"), config.admin_options("dc1"))
    return f"{config!r} {config} {dc1!r} {dc1} {dc1.kafka} {options} {config.tables!r} {config.topics}"


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("<${NAME}/${NAME:-other}>", "<found/found>"),
        ("${UNSET:-other}", "other"),
        ("${EMPTY:-other}", "other"),
        ("${NESTED}", "${NAME}"),
        ("$NAME", "$NAME"),
        ("${file:{tmp_path}/secret}", CANARY),  # without the blanks around it
    ],
)
def test_environment_variables_and_files_are_put_into_text(written: str, value: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(f" {CANARY}\n")
    written = written.replace("{tmp_path}", str(tmp_path))
    environment = {"NAME": "found", "EMPTY": "", "NESTED": "${NAME}"}
    config = parsed(environment, **tree(**{"client.id": written}))
    assert config.clusters["dc1"].kafka["client.id"] == value


@pytest.mark.parametrize(
    ("name", "written"), [("client.id", "x ${S}"), ("client.id", "${NONE:-c4n4ry}"), ("sasl.user.name.secret", CANARY)]
)
def test_a_secret_and_a_value_that_came_from_elsewhere_are_never_shown(name: str, written: str) -> None:
    content = tree(**{name: written})
    if written != CANARY:
        content["tables"] = {"root": written}
        content["topics"]["include"].append(written)
    config = parsed({"S": CANARY}, **content)
    assert CANARY not in shown(config)
    assert CANARY in str(config.spark_options("dc1")[f"kafka.{name}"])


@pytest.mark.parametrize(
    "changes",
    [
        {"sync": {"hole_grace": "${S}", "max_commits_per_second": "${S}"}},
        {"directions": "${S}"},
        {"topics": {"include": ["${S}("], "strategy": "${S}"}},
        {"clusters": {a: {"origin": "${S}", "kafka": {"bootstrap.servers": "${S}"}} for a in ("dc1", "dc2")}},
    ],
)
def test_no_error_message_quotes_a_value_that_came_from_elsewhere(changes: dict[str, Any]) -> None:
    found = problems({"S": CANARY}, **{**tree(), **changes})
    assert found
    assert CANARY not in "\n".join(found)


def test_a_configuration_survives_the_way_to_an_executor() -> None:
    config = parsed({"T": "orders"}, topics={"include": ["${T}"]})
    copy = pickle.loads(pickle.dumps(config))
    assert copy == config
    assert repr(copy) == repr(config)


@pytest.mark.parametrize(
    ("section", "key", "values"),
    [
        ("sync", "hole_grace", {"500ms": timedelta(seconds=0.5), "12h": timedelta(hours=12), 7: timedelta(seconds=7)}),
        ("sync", "index_memory", {"512MiB": 512 << 20, 1 << 24: 1 << 24, "100 MB": 10**8}),
        ("metrics", "sync_offsets_port", {"9470": 9470, "off": None, False: None}),
    ],
)
def test_values_are_read_as_people_write_them(section: str, key: str, values: dict[object, object]) -> None:
    found: list[Any] = [getattr(parsed(**{section: {key: each}}), section) for each in values]
    assert [getattr(each, key) for each in found] == [*values.values()]


def test_copies_that_may_pass_two_hops_want_their_place() -> None:
    def said(**mirror: str) -> list[str]:
        return [str(each) for each in cautions(parsed(clusters=clusters("dc1", "dc2", "dc3"), mirror=mirror))]

    (found,) = said(names="mm2")
    assert found.startswith("mirror.place_header: is empty, and with mirror.names mm2 and 3 clusters a copy may come")
    assert said(names="mm2", place_header="Place") == said() == []
