"""From a YAML file, or a tree of plain values, to a :class:`Config`; values are kept as they are written."""

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Mapping
from math import inf
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from offset_sync.config.configuration import Config
from offset_sync.config.problems import Problem, explain
from offset_sync.config.rules import rule_problems
from offset_sync.config.secret import substituted
from offset_sync.model.errors import ConfigError

_TAG = "tag:yaml.org,2002:"


class _Loader(yaml.SafeLoader):
    """SafeLoader with the scalars of YAML 1.2: `strategy: off` is not false and `010` is not eight."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Return a mapping; raises ConstructorError for a key that is given twice."""
        known = set[str]()
        for key, _ in node.value:
            if (name := str(key.value)) in known:
                raise yaml.constructor.ConstructorError(None, None, f"{name} is given twice", key.start_mark)
            known.add(name)
        return super().construct_mapping(node, deep)


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

    Raises ConfigError with all values that are wrong, or all rules between sections that are broken. Never quotes the
    file where it may hold secrets.
    """
    path = Path(path)
    try:
        tree = read_yaml(path.read_bytes())
        if not isinstance(tree, dict):
            raise ConfigError([f"{path}: is not a mapping of keys to values; start from conf/two-clusters.yaml"])
        return parse_config(tree, environment)
    except yaml.YAMLError as error:
        raise ConfigError([_syntax_problem(path, error)]) from None
    except RecursionError:
        raise ConfigError([f"{path}: is nested too deeply; start from conf/reference.yaml"]) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a path"
        raise ConfigError([f"{path}: cannot be read ({reason}); name a readable file with --conf"]) from None


def parse_config(tree: Mapping[str, Any], environment: Mapping[str, str] | None = None) -> Config:
    """Return the configuration in *tree*, the content of a file; raises ConfigError as :func:`load_config` does."""
    problems = list[Problem]()
    given = substituted(tree, os.environ if environment is None else environment, problems)
    unread = {each.path for each in problems}
    try:
        config = Config.model_validate(given)
        problems += rule_problems(config)
    except ValidationError as error:
        # What follows from a value that could not be read is not reported again.
        problems += [each for each in explain(error) if each.path not in unread]
    if problems:
        raise ConfigError([*dict.fromkeys(map(str, problems))])
    return config


def read_yaml(content: bytes) -> Any:
    """Return the content of a file."""
    return _Loader(content).get_single_data()


def to_yaml(tree: Mapping[str, object]) -> str:
    """Return *tree* as YAML, without a line break at its end."""
    return yaml.safe_dump(tree, sort_keys=False, width=inf).rstrip()


def _syntax_problem(path: Path, error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    location = f"{path}, line {mark.line + 1}" if mark is not None else str(path)
    what = str(getattr(error, "problem", None) or getattr(error, "reason", None) or "not readable")
    # An unquoted password such as *x or !x is read as an alias or a tag, and the message would quote it.
    hidden = re.sub(r"(alias|anchor|tag|handle) ['\"].*", r"\1, put text that begins with * & or ! in quotes", what)
    return f"{location}: not valid YAML ({hidden}); correct it"
