"""From a YAML file, or a tree of plain values, to a :class:`Config`; values are kept as they are written."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from offset_sync.config.configuration import Config
from offset_sync.config.problems import KeyPath, Problem, explain, to_lines
from offset_sync.config.rules import rule_problems
from offset_sync.config.secret import Substitution
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


def load_config(path: str | Path, environment: Mapping[str, str] | None = None) -> Config:
    """Return the configuration in the YAML file at *path*; ``${NAME}`` is looked up in *environment* (os.environ).

    Raises ConfigError with all values that are wrong, and all rules between sections without such values that are
    broken: those of options of clusters once all of ``clusters`` is right, those of extensions once all of the file is.
    Never quotes the file where it may hold secrets.
    """
    path = Path(path)
    try:
        tree, twice = read_yaml(path.read_bytes())
    except yaml.YAMLError as error:
        raise ConfigError([_syntax_problem(path, error)]) from None
    except RecursionError:
        raise ConfigError([f"{path}: is nested too deeply; start from conf/reference.yaml"]) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a path"
        raise ConfigError([f"{path}: cannot be read ({reason}); name a readable file with --conf"]) from None
    if not isinstance(tree, dict):
        raise ConfigError([f"{path}: is not a mapping of keys to values; start from conf/two-clusters.yaml"])
    return parse_config(tree, environment, twice)


def parse_config(
    tree: Mapping[str, Any],
    environment: Mapping[str, str] | None = None,
    problems: Iterable[Problem] = (),
) -> Config:
    """Return the configuration in *tree*, the content of a file.

    Raises ConfigError as :func:`load_config` does, and with *problems*, found when the file was read.
    """
    read = Substitution(os.environ if environment is None else environment, [*problems])
    given = read.apply(tree)
    try:
        config = Config.model_validate(given)
        found = [*rule_problems(config)]
    except ValidationError as error:
        found = [*explain(error, Config)]
        wrong = {"extensions", *(each.path[0] for each in found)}
        valid = {"topics": {"include": ["x"]}} | {name: each for name, each in given.items() if name not in wrong}
        with suppress(ValidationError):
            found += rule_problems(Config.model_validate(valid))
    if lines := to_lines(read.problems, found):
        raise ConfigError(lines)
    return config


def read_yaml(content: bytes) -> tuple[Any, list[Problem]]:
    """Return the content of a file, with all keys as text, and a problem for each duplicate key."""
    loader = _Loader(content)
    node = loader.get_single_node()
    if node is None:
        return None, []
    problems = list(_checked_keys(node, (), ()))
    return loader.construct_document(node), problems


def _checked_keys(node: yaml.Node, key_path: KeyPath, parents: tuple[yaml.Node, ...]) -> Iterator[Problem]:
    """Yield the duplicate keys of each mapping; also turns keys that look like numbers into text."""
    if any(node is parent for parent in parents):
        raise yaml.constructor.ConstructorError(None, None, "an alias is inside its own anchor", node.start_mark)
    parents = (*parents, node)
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _checked_keys(item, (*key_path, index), parents)
    lines: dict[str, int] = {}
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if not isinstance(key, yaml.ScalarNode):
            continue  # refused when the mapping is constructed
        if key.tag != _TAG + "merge":
            key.tag = _TAG + "str"
        path, line = (*key_path, key.value), key.start_mark.line + 1
        if key.value in lines:
            yield Problem(path, f"is given twice, lines {lines[key.value]} and {line}; remove one")
        lines.setdefault(key.value, line)
        yield from _checked_keys(value, path, parents)


def _syntax_problem(path: Path, error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    location = f"{path}, line {mark.line + 1}" if mark is not None else str(path)
    what = str(getattr(error, "problem", None) or getattr(error, "reason", None) or "not readable")
    # An unquoted password such as *x or !x is read as an alias or a tag, and the message would quote it.
    hidden = re.sub(r"(alias|anchor|tag|handle) ['\"].*", r"\1, put text that begins with * & or ! in quotes", what)
    return f"{location}: not valid YAML ({hidden}); correct it"
