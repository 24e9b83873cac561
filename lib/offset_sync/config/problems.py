"""Problems of the configuration: ``path.to.key: what is wrong; remedy``, never quoting a secret."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

KeyPath = tuple[str | int, ...]  # keys and list indices, from the root of the file
_PROBLEM = "problem"  # the pydantic error type whose message is already complete

_TEXTS = {
    "missing": "is missing; add it as in conf/reference.yaml",
    "string_type": "must be text; put it in quotes",
    "string_too_short": "is empty; give it a value or remove the line",
    "too_short": "is empty; add at least one entry",
    "tuple_type": "must be a list; write it as [one, two]",
    "dict_type": "must be a mapping of names to values; write it as {name: value}",
    "model_type": "must be a mapping of names to values; write it as {name: value}",
    "greater_than": "must be above 0; choose a larger number",
    "greater_than_equal": "is too small; choose a larger number",
    "byte_size": "is no size; write it as 512MiB or 2GiB",
    "byte_size_unit": "is no size; write it as 512MiB or 2GiB",
    "less_than": "is too large; choose a smaller number",
}


class Section(BaseModel):
    """A section of the file, frozen and closed: an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class Problem:
    """A problem at *path*; *text* reads ``what is wrong; remedy`` and never quotes a secret."""

    path: KeyPath
    text: str

    def __str__(self) -> str:
        return f"{path_text(self.path)}: {self.text}"


def path_text(path: KeyPath) -> str:
    """Return ``topics.overrides[0].strategy`` for ``("topics", "overrides", 0, "strategy")``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")


def repeated(values: Mapping[str, str]) -> dict[str, str]:
    """Return each key whose value an earlier one has too, with the first of these; empty values are none."""
    owners: dict[str, str] = {}
    return {key: owners[each] for key, each in values.items() if each and owners.setdefault(each, key) != key}


def refused(text: str) -> PydanticCustomError:
    """Return the error for a validator to raise; *text* is shown as it is, braces included."""
    return PydanticCustomError(_PROBLEM, "{text}", {"text": text})


def explain(error: ValidationError) -> Iterator[Problem]:
    """Yield pydantic's errors as problems with our texts."""
    for detail in error.errors(include_url=False):
        if detail["type"] == "too_short" and detail["input"]:
            continue  # it has entries, all of them wrong, and each is reported by itself
        yield Problem(tuple(detail["loc"]), _text(detail))


def _text(detail: ErrorDetails) -> str:
    kind, value = detail["type"], detail["input"]
    if kind == "extra_forbidden":
        return _unknown_key_text(str(detail["loc"][-1]))
    if value is None and kind != "missing":
        return "is empty; give it a value or remove the line"
    if kind == _PROBLEM:
        return detail["msg"]
    if kind == "literal_error":
        shown = repr(value) if isinstance(value, str) else "this"
        return f"{shown} is none of its values; use {detail['ctx']['expected']}"
    if kind.startswith("int_"):
        return "must be a whole number; write it in digits"
    return _TEXTS.get(kind, f"{detail['msg']}; see conf/reference.yaml")


def _unknown_key_text(name: str) -> str:
    known = {key for each in Section.__subclasses__() for key in each.model_fields} - {name}
    nearest = get_close_matches(name.lower(), known, n=1)
    remedy = f"did you mean {nearest[0]}?" if nearest else "remove it, by conf/reference.yaml and CHANGELOG.md"
    return f"unknown key; {remedy}"
