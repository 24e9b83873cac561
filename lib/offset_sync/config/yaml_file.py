"""Reads YAML so that values arrive as they are written, and reports keys that are given twice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from offset_sync.config.problem import KeyPath, Problem
from offset_sync.model.errors import ConfigError

_TAG = "tag:yaml.org,2002:"


class _Loader(yaml.SafeLoader):
    """SafeLoader with the scalars of YAML 1.2: `strategy: off` is not false and `010` is not eight."""


_Loader.yaml_implicit_resolvers = {}
for _name, _written, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(?:0|[1-9][0-9_]{0,17})", list("-+0123456789")),
    ("float", r"[-+]?(?:0|[1-9][0-9]*)\.[0-9]+", list("-+0123456789")),
    ("null", r"~|null|Null|NULL|", [*"~nN", ""]),
    ("merge", r"<<", ["<"]),
):
    _Loader.add_implicit_resolver(_TAG + _name, re.compile(rf"(?:{_written})\Z"), _first)


def read_yaml(path: Path) -> tuple[dict[str, Any], list[Problem]]:
    """Return the mapping in the file, with all keys as text, and a problem for each key that is given twice.

    Raises ConfigError where there is no mapping. Never quotes the file, which may hold secrets.
    """
    content = _read(path)
    try:
        loader = _Loader(content)
        node = loader.get_single_node()
        if node is None:
            raise ConfigError([f"{path}: is empty; start from conf/two-clusters.yaml"])
        problems = list(_checked_keys(node, (), ()))
        tree = loader.construct_document(node)
    except yaml.YAMLError as error:
        raise ConfigError([_syntax_problem(path, error)]) from None
    except RecursionError:
        raise ConfigError([f"{path}: is nested too deeply; start from conf/reference.yaml"]) from None
    if not isinstance(tree, dict):
        raise ConfigError([f"{path}: is not a mapping of keys to values; start from conf/two-clusters.yaml"])
    return tree, problems


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise ConfigError([f"{path}: no such file; name an existing one with --conf"]) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a path"
        raise ConfigError([f"{path}: cannot be read ({reason}); name a readable file with --conf"]) from None


def _checked_keys(node: yaml.Node, key_path: KeyPath, parents: tuple[yaml.Node, ...]) -> Iterator[Problem]:
    """Yield the keys that are given twice in one mapping; also turns keys that look like numbers into text."""
    if any(node is parent for parent in parents):
        raise yaml.constructor.ConstructorError(None, None, "an alias stands inside what it names", node.start_mark)
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _checked_keys(item, (*key_path, index), (*parents, node))
    if not isinstance(node, yaml.MappingNode):
        return
    lines: dict[str, int] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            continue  # refused when the mapping is constructed
        if key.tag != _TAG + "merge":
            key.tag = _TAG + "str"
        line = key.start_mark.line + 1
        if key.value in lines:
            yield Problem((*key_path, key.value), f"stands twice, lines {lines[key.value]} and {line}; remove one")
        lines.setdefault(key.value, line)
        yield from _checked_keys(value, (*key_path, key.value), (*parents, node))


def _syntax_problem(path: Path, error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    location = f"{path}, line {mark.line + 1}" if mark is not None else str(path)
    what = str(getattr(error, "problem", None) or getattr(error, "reason", None) or "not readable")
    # An unquoted password such as *x or !x is read as an alias or a tag, and the message would quote it.
    hidden = re.sub(
        r"(alias|anchor|tag|handle) ['\"].*", r"\1, put text that begins with * & or ! in quotes", str(what)
    )
    return f"{location}: not valid YAML ({hidden}); correct it"
