"""From a file, or a tree of plain values, to a :class:`Config`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from offset_sync.config.configuration import Config
from offset_sync.config.problem import Problem
from offset_sync.config.substitution import Substitution
from offset_sync.config.yaml_file import read_yaml


def load_config(path: str | Path, environment: Mapping[str, str] | None = None) -> Config:
    """Return the configuration in the YAML file at *path*; ``${NAME}`` is looked up in *environment* (os.environ).

    Raises ConfigError with all problems of the file.
    """
    tree, twice = read_yaml(Path(path))
    return parse_config(tree, environment, twice)


def parse_config(
    tree: Mapping[str, Any],
    environment: Mapping[str, str] | None = None,
    problems: Iterable[Problem] = (),
) -> Config:
    """Return the configuration in *tree*, the content of a file.

    Raises ConfigError with all problems at once, among them *problems*, which the reader of the file has found.
    """
    substitution = Substitution(os.environ if environment is None else environment)
    replaced = substitution.apply(tree)
    config = Config.model_validate(replaced, context=[*problems, *substitution.problems])
    return config.hiding(substitution.hidden)
