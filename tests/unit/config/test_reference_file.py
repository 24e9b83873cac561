"""The files in conf/: the reference lists every option with its default, and the examples load."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from pydantic import BaseModel

from offset_sync.config import Config, Override, load_config, parse_config

CONF = Path(__file__).parents[3] / "conf"
REFERENCE = CONF / "reference.yaml"
MAPS = r"clusters\.\*\.(kafka|spark|admin)|tables\.storage|extensions"
OVERRIDE = "topics.overrides[]."  # the default is empty: its fields are shown in the comment


def fields(model: type[BaseModel], path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (path, default) of every option that *model* knows."""
    for name, field in model.model_fields.items():
        section, step = section_in(field.annotation)
        if section is None or step == "[]":
            yield path + name, field.get_default(call_default_factory=True)
        if section is not None:
            yield from fields(section, f"{path}{name}{step}.")


def section_in(annotation: Any) -> tuple[type[BaseModel] | None, str]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, ""
    inner = [arg for arg in get_args(annotation) if isinstance(arg, type) and issubclass(arg, BaseModel)]
    return (inner[0], ".*" if annotation.__origin__ is dict else "[]") if inner else (None, "")


def written(tree: Any, path: str = "") -> Iterator[str]:
    """Yield the paths of the options in the file; the content of an option map is not looked into."""
    for key, value in tree.items():
        here = path + ("*" if path == "clusters." else key)
        is_section = isinstance(value, dict) and not re.fullmatch(MAPS, here)
        yield from written(value, here + ".") if is_section else [here]


@pytest.fixture(scope="module")
def tree() -> Any:
    return yaml.safe_load(REFERENCE.read_text())


def test_every_option_of_the_model_is_in_the_reference_and_no_other(tree: Any) -> None:
    assert set(written(tree)) == {path for path, _ in fields(Config) if not path.startswith(OVERRIDE)}


def test_the_reference_says_the_same_as_a_file_that_leaves_all_of_it_out(tree: Any) -> None:
    least = {"clusters": tree["clusters"], "topics": {"include": tree["topics"]["include"]}}
    assert parse_config(least, {}) == load_config(REFERENCE, {})


def test_the_fields_of_an_override_are_shown_by_an_example_that_loads(tree: Any) -> None:
    (line,) = [line for line in REFERENCE.read_text().splitlines() if line.strip().startswith("overrides:")]
    (example,) = yaml.safe_load(line[line.index("[{") :])
    assert set(example) == set(Override.model_fields)
    parse_config({**tree, "topics": {"include": [".*"], "overrides": [example]}}, {})


def test_every_option_in_the_reference_has_one_comment_of_one_line() -> None:
    lines = REFERENCE.read_text().splitlines()
    options = [line for line in lines if re.match(r"\s*[a-z_0-9.]+:", line)]
    assert [line for line in options if line.split(":", 1)[1].strip() and " # " not in line] == []


def test_the_active_active_example_syncs_three_clusters_with_each_other() -> None:
    config = load_config(CONF / "active-active.yaml", {})
    assert len(config.pairs()) == 6
    assert [config.strategy_of(topic) for topic in ("orders", "pay-dlq", "legacy-scratch", "legacy-x")] == [
        "exact",
        "off",
        "off",
        "timestamp",
    ]
