"""Values from elsewhere, and that secrets are shown nowhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from offset_sync.config import Config, parse_config
from offset_sync.model.errors import ConfigError

CANARY = "c4n4ry"


def tree(**options: object) -> dict[str, Any]:
    kafka = {"bootstrap.servers": "a:1", **options}
    return {
        "clusters": {"dc1": {"kafka": kafka}, "dc2": {"kafka": {"bootstrap.servers": "b:2"}}},
        "topics": {"include": ["orders"]},
    }


def problems(content: dict[str, Any], **environment: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse_config(content, environment)
    return caught.value.problems


def shown(config: Config) -> str:
    dc1 = config.clusters["dc1"]
    options = (config.spark_options("dc1"), config.admin_options("dc1"))
    return (
        f"{config!r} {config} {config.redacted()} {dc1!r} {dc1} {dc1.kafka} {options} {config.tables!r} {config.topics}"
    )


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("${NAME}", "found"),
        ("<${NAME}/${NAME}>", "<found/found>"),
        ("${NAME:-other}", "found"),
        ("${UNSET:-other}", "other"),
        ("${UNSET:-}", ""),
        ("${EMPTY:-other}", "other"),
        ("${EMPTY}", ""),
        ("${NESTED}", "${NAME}"),
        ("$NAME", "$NAME"),
    ],
)
def test_environment_variables_are_put_into_text(written: str, value: str) -> None:
    environment = {"NAME": "found", "EMPTY": "", "NESTED": "${NAME}"}
    config = parse_config(tree(**{"client.id": written}), environment)
    assert config.clusters["dc1"].kafka["client.id"] == value


def test_references_work_anywhere_also_for_numbers_and_durations() -> None:
    content = {**tree(), "sync": {"requests_in_flight": "${N}", "hole_grace": "${D}"}, "tables": {"root": "${R}/t"}}
    config = parse_config(content, {"N": "7", "D": "3s", "R": "/r"})
    assert (config.sync.requests_in_flight, config.sync.hole_grace.seconds, config.tables.root) == (7, 3, "/r/t")


def test_the_content_of_a_file_is_put_in_without_the_blanks_around_it(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(f" {CANARY}\n")
    config = parse_config(tree(**{"client.id": f"${{file:{tmp_path}/secret}}"}), {})
    assert config.clusters["dc1"].kafka["client.id"] == CANARY


def test_a_variable_that_is_not_set_is_named_with_its_path_and_nothing_else_is_said_about_it() -> None:
    content = {**tree(**{"sasl.password": "${A}"}), "sync": {"hole_grace": "${B}"}}
    assert problems(content) == [
        "clusters.dc1.kafka.sasl.password: environment variable A is not set; set it before the start",
        "sync.hole_grace: environment variable B is not set; set it before the start",
    ]


@pytest.mark.parametrize(
    "written", ["${", "${A", "x${}", "${1}", "${a b}", "${file:}", "${file:/no/such/file}", "${file:\0}"]
)
def test_a_reference_that_cannot_be_followed_is_refused(written: str) -> None:
    assert [line.split(": ")[0] for line in problems(tree(**{"client.id": written}))] == [
        "clusters.dc1.kafka.client.id"
    ]


def test_a_variable_that_is_not_set_is_found_inside_a_list() -> None:
    content = {**tree(), "topics": {"include": ["a", "${A}"]}}
    assert [line.split(": ")[0] for line in problems(content)] == ["topics.include[1]"]


def test_a_secret_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "store.jks").write_bytes(b"\xfe\xed\xfe\xed")
    assert "not UTF-8" in problems(tree(**{"client.id": f"${{file:{tmp_path}/store.jks}}"}))[0]


@pytest.mark.parametrize(
    "name",
    [
        "ssl.key.password",
        "sasl.jaas.config",
        "sasl.username",
        "sasl.password",
        "sasl.oauthbearer.client.secret",
        "sasl.oauthbearer.config",
        "some.TOKEN",
        "ssl.keystore.key",
        "ssl.key.pem",
    ],
)
def test_a_value_with_the_name_of_a_secret_is_never_shown_and_still_given_to_the_client(name: str) -> None:
    config = parse_config(tree(**{name: CANARY}), {})
    assert CANARY not in shown(config)
    assert "***" in repr(config)
    assert str(config.spark_options("dc1")[f"kafka.{name}"]) == CANARY


@pytest.mark.parametrize("written", ["${S}", "x ${S}", "${NONE:-c4n4ry}"])
def test_a_value_that_came_from_elsewhere_is_never_shown_whatever_its_name(written: str) -> None:
    content = {**tree(**{"client.id": written}), "tables": {"root": written}}
    content["topics"]["include"].append(written)
    config = parse_config(content, {"S": CANARY})
    assert CANARY not in shown(config)
    assert CANARY in config.clusters["dc1"].kafka["client.id"]


def test_a_number_that_came_from_elsewhere_is_not_shown() -> None:
    content = {**tree(), "sync": {"requests_in_flight": "${N}", "hole_grace": "${N}"}}
    config = parse_config(content, {"N": "77"})
    shown_sync = config.redacted()["sync"]
    assert (shown_sync["requests_in_flight"], shown_sync["hole_grace"]) == ("***", "***")
    assert "77" not in f"{config!r} {config}"


@pytest.mark.parametrize(
    "changes",
    [
        {"sync": {"hole_grace": "${S}", "requests_in_flight": "${S}"}},
        {"directions": [["${S}", "dc1"]]},
        {"directions": "${S}"},
        {"topics": {"include": ["${S}("], "strategy": "${S}"}},
        {"clusters": {a: {"origin": "${S}", "kafka": {"bootstrap.servers": "${S}"}} for a in ("dc1", "dc2")}},
    ],
)
def test_no_error_message_quotes_a_value_that_came_from_elsewhere(changes: dict[str, Any]) -> None:
    found = problems({**tree(), **changes}, S=CANARY)
    assert found
    assert CANARY not in "\n".join(found)


def test_what_is_no_secret_is_shown() -> None:
    shown_kafka = parse_config(tree(**{"client.id": "sync"}), {}).redacted()["clusters"]["dc1"]["kafka"]
    assert shown_kafka == {"bootstrap.servers": "a:1", "client.id": "sync"}
