"""Substituted values, by ``${NAME}``, ``${NAME:-default}`` or ``${file:/path}``, which are not shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidatorFunctionWrapHandler

from offset_sync.config.problems import KeyPath, Problem

# Also valid in Java, so that the Spark session can extend spark.redaction.regex with it.
HIDDEN_NAMES = r"(?i)password|passphrase|secret|token|credential|jaas|sasl\.username?|sasl\.oauthbearer\.config|key"
_REFERENCE = re.compile(r"\$\{([^{}]*)\}")
_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)


class Secret(str):
    """Text whose ``repr`` is ``***``, so that containers, models and error messages do not show it.

    ``str()`` and formatting give the real text, which the Kafka clients need.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "'***'"


def keep_secret(value: object, validate: ValidatorFunctionWrapHandler) -> object:
    """Validate *value* and keep it a :class:`Secret` if it was one; pydantic alone would make it plain text."""
    valid = validate(value)
    return Secret(valid) if isinstance(value, Secret) and isinstance(valid, str) else valid


def with_secrets(options: dict[str, str]) -> dict[str, str]:
    """Return client *options* with the values of secret names hidden; errs to hiding (``ssl.keystore.type`` too)."""
    return {name: Secret(value) if re.search(HIDDEN_NAMES, name) else value for name, value in options.items()}


def substituted(value: Any, environment: Mapping[str, str], problems: list[Problem], key_path: KeyPath = ()) -> Any:
    """Return *value* with every reference replaced, and add the *problems* of those that cannot be; keys stay.

    A text with a reference becomes a :class:`Secret` as a whole, even if only a part of it was substituted. A
    substituted value is not searched for references again.
    """
    if isinstance(value, Mapping):
        return {key: substituted(item, environment, problems, (*key_path, key)) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [substituted(item, environment, problems, (*key_path, number)) for number, item in enumerate(value)]
    if not isinstance(value, str) or "${" not in value:
        return value
    try:
        if "${" in _REFERENCE.sub("", value):
            raise ValueError("holds a ${ without its }; write ${NAME}, ${NAME:-default} or ${file:/path}")
        return Secret(_REFERENCE.sub(lambda reference: _resolved(reference[1], environment), value))
    except ValueError as error:
        problems.append(Problem(key_path, str(error)))
        return Secret("")


def _resolved(reference: str, environment: Mapping[str, str]) -> str:
    if reference.startswith("file:"):
        return _content_of(reference.removeprefix("file:"))
    if (found := _VARIABLE.fullmatch(reference)) is None:
        raise ValueError("is no reference; write ${NAME}, ${NAME:-default} or ${file:/path}")
    name, default = found.groups()
    if name not in environment and default is None:
        raise ValueError(f"environment variable {name} is not set; set it before the start")
    return environment.get(name) or default or ""


def _content_of(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no UTF-8 text"
        raise ValueError(f"file {path} cannot be read ({reason}); create it or correct the path") from None
