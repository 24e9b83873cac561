"""``${NAME}``, ``${NAME:-default}`` and ``${file:/path}`` inside the text values of the file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from offset_sync.config.problem import KeyPath, Problem
from offset_sync.config.secret import Secret

_REFERENCE = re.compile(r"\$\{([^{}]*)\}")
_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)


@dataclass
class Substitution:
    """One pass over a tree, with the *problems* it found and the paths of the values that have to be *hidden*.

    A text with a reference becomes a :class:`Secret` as a whole, even if only a part of it was substituted. What a
    reference brings in is not searched for references again.
    """

    environment: Mapping[str, str]
    problems: list[Problem] = field(default_factory=list)
    hidden: set[KeyPath] = field(default_factory=set)

    def apply(self, value: object, key_path: KeyPath = ()) -> object:
        """Return *value* with every reference replaced; keys stay as they are."""
        if isinstance(value, Mapping):
            return {key: self.apply(item, (*key_path, key)) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.apply(item, (*key_path, index)) for index, item in enumerate(value)]
        return self._replaced(value, key_path) if isinstance(value, str) and "${" in value else value

    def _replaced(self, text: str, key_path: KeyPath) -> str:
        self.hidden.add(key_path)
        if "${" in _REFERENCE.sub("", text):
            self._complain(key_path, "holds a ${ without its }; write ${NAME}, ${NAME:-default} or ${file:/path}")
            return Secret(text)
        return Secret(_REFERENCE.sub(lambda reference: self._resolved(reference[1], key_path), text))

    def _resolved(self, name: str, key_path: KeyPath) -> str:
        if name.startswith("file:"):
            return self._file_content(name.removeprefix("file:"), key_path)
        variable = _VARIABLE.fullmatch(name)
        if variable is None:
            return self._complain(key_path, "is no reference; write ${NAME}, ${NAME:-default} or ${file:/path}")
        value, default = self.environment.get(variable[1]), variable[2]
        if value is None and default is None:
            return self._complain(key_path, f"environment variable {variable[1]} is not set; set it before the start")
        return (value or default or "") if default is not None else (value or "")

    def _file_content(self, path: str, key_path: KeyPath) -> str:
        try:
            return Path(path).read_text(encoding="utf-8").strip()
        except UnicodeDecodeError:
            return self._complain(key_path, f"file {path} is not UTF-8 text; store the secret as text")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "not a path"
            return self._complain(key_path, f"file {path} cannot be read ({reason}); create it or correct the path")

    def _complain(self, key_path: KeyPath, text: str) -> str:
        self.problems.append(Problem(key_path, text))
        return ""
