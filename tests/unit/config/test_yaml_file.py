"""Reading the YAML file: what stands there is what arrives, and what cannot be read is said without quoting it."""

from __future__ import annotations

from pathlib import Path

import pytest

from offset_sync.config import load_config
from offset_sync.model.errors import ConfigError

LEAST = """
clusters: {dc1: {kafka: {bootstrap.servers: "a:1"}}, dc2: {kafka: {bootstrap.servers: "b:2"}}}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sync.yaml"


def problems(path: Path, text: str | bytes | None) -> list[str]:
    if text is not None:
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(ConfigError) as caught:
        load_config(path, {})
    return caught.value.problems


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n"])
def test_an_empty_file_is_refused(path: Path, text: str) -> None:
    assert len(problems(path, text)) == 1


def test_a_file_that_is_not_there_is_refused(path: Path) -> None:
    assert problems(path, None) == [f"{path}: no such file; name an existing one with --conf"]


def test_a_folder_is_refused(tmp_path: Path) -> None:
    assert "cannot be read" in problems(tmp_path, None)[0]


@pytest.mark.parametrize("text", ["- a\n- b\n", "text\n", "5\n"])
def test_a_file_that_is_no_mapping_is_refused(path: Path, text: str) -> None:
    assert "not a mapping" in problems(path, text)[0]


def test_a_syntax_error_names_the_line(path: Path) -> None:
    assert problems(path, "clusters:\n  dc1: {\n")[0].startswith(f"{path}, line 3: not valid YAML")


@pytest.mark.parametrize(
    "text", [b"\xff\xfe\x00", b"a: \x07", "a: b\n--- \nc: d\n", "? [a]\n: b\n", "a: !!python/name:os.system\n"]
)
def test_content_that_is_not_one_plain_document_is_refused(path: Path, text: str | bytes) -> None:
    assert "not valid YAML" in problems(path, text)[0]


@pytest.mark.parametrize(
    "unquoted", ["*hunter2", "!hunter2", "!hunter2!x y", "&hunter2 &hunter2 x", "%hunter2", "@hunter2"]
)
def test_a_password_without_quotes_is_not_quoted_in_the_syntax_error(path: Path, unquoted: str) -> None:
    assert "hunter2" not in problems(path, f"sasl.password: {unquoted}\n")[0]


def test_a_file_that_contains_itself_is_refused(path: Path) -> None:
    assert "inside what it names" in problems(path, "a: &a\n  b: [*a]\n")[0]


def test_a_file_nested_without_end_is_refused(path: Path) -> None:
    assert "nested too deeply" in problems(path, "a: " + "[" * 3000)[0]


def test_keys_that_stand_twice_are_all_reported_with_their_lines(path: Path) -> None:
    text = (
        LEAST
        + "topics: {include: [a], include: [b]}\nsync: {}\nindex:\n  starting: latest\n  starting: earliest\nsync: {}\n"
    )
    assert problems(path, text) == [
        "topics.include: stands twice, lines 3 and 3; remove one",
        "index.starting: stands twice, lines 6 and 7; remove one",
        "sync: stands twice, lines 4 and 8; remove one",
    ]


def test_a_key_that_stands_twice_does_not_hide_the_other_problems(path: Path) -> None:
    found = problems(path, LEAST + "topics: {include: [a], include: [b]}\nsnyc: {}\n")
    assert [line.split(": ")[0] for line in found] == ["topics.include", "snyc"]


def test_off_is_a_strategy_and_not_false(path: Path) -> None:
    path.write_text(LEAST + "topics: {include: [on, no], strategy: off}\n")
    config = load_config(path)
    assert (config.topics.strategy, config.topics.include) == ("off", ("on", "no"))


def test_numbers_and_truths_become_the_text_of_client_options(path: Path) -> None:
    options = "{bootstrap.servers: 'a:1', request.timeout.ms: 20000, enable.x: true, y: False, z: 0.8, w: 010}"
    path.write_text(
        f"clusters: {{1: {{kafka: {options}}}, 2: {{kafka: {{bootstrap.servers: 'b:2'}}}}}}\ntopics: {{include: [a]}}"
    )
    kafka = load_config(path).clusters["1"].kafka
    assert kafka == {
        "bootstrap.servers": "a:1",
        "request.timeout.ms": "20000",
        "enable.x": "true",
        "y": "false",
        "z": "0.8",
        "w": "010",
    }


def test_shared_options_may_be_written_once_and_merged(path: Path) -> None:
    path.write_text(
        "clusters:\n"
        "  dc1: {kafka: &shared {bootstrap.servers: 'a:1', client.id: sync}}\n"
        "  dc2: {kafka: {<<: *shared, bootstrap.servers: 'b:2'}}\n"
        "topics: {include: [a]}\n"
    )
    assert load_config(path).clusters["dc2"].kafka == {"bootstrap.servers": "b:2", "client.id": "sync"}
