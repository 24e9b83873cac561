"""Pydantic's errors in our words: ``path.to.key: what is wrong; remedy``, never quoting a secret."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from offset_sync.config.problem import PROBLEM, KeyPath, Problem

_TEXTS = {
    "missing": "is missing; add it as in conf/reference.yaml",
    "string_type": "must be text; put it in quotes",
    "string_too_short": "is empty; give it a value or remove the line",
    "too_short": "is empty; add at least one entry",
    "tuple_type": "must be a list; write it as [one, two]",
    "dict_type": "must be a mapping of names to values; write it as {name: value}",
    "model_type": "must be a mapping of names to values; write it as {name: value}",
    "greater_than": "must be above 0; choose a larger number",
    "less_than": "is too large; choose a smaller number",
}

_REMOVED: dict[KeyPath, str] = {
    ("sync", "deletes"): (
        "was removed; remove the line: offsets that a group deleted at its home cluster are no longer refreshed at the "
        "other clusters and expire there; nothing is deleted"
    ),
    ("sync", "metadata"): "was removed; remove the line: commits carry empty metadata",
    ("mirror", "pipelines"): "was removed together with mirror.preset lenses-k2k, its only user; remove the line",
    ("mirror", "preset", "lenses-k2k"): (
        "'lenses-k2k' was removed: it was never tested with Lenses K2K; write identity: fingerprint and keeps: "
        "[timestamps] instead, and begin with new tables (docs/mirrors-contents.md). Or write origin_header: "
        "k2k_pipeline, offset_header: k2k_offset and, as clusters.X.origin, the pipeline that reads X; k2k_topic and "
        "k2k_partition are no longer checked then. So this is safe only if at most one pipeline reads each cluster, "
        "no copy is copied on or back, and no application passes headers on; else unread records may count as read"
    ),
}
"""Options of earlier versions, whatever their value, and values behind their option; each with the remedy."""


def explain(error: ValidationError, model: type[BaseModel]) -> Iterator[Problem]:
    """Yield one problem for each error that validating against *model* found."""
    for detail in error.errors(include_url=False):
        path = tuple(detail["loc"])
        if detail["type"] == "too_short" and detail["input"]:
            continue  # it has entries, all of them wrong, and each is reported by itself
        yield Problem(path, _text(detail, path, model))


def _text(detail: ErrorDetails, path: KeyPath, model: type[BaseModel]) -> str:
    kind, value = detail["type"], detail["input"]
    if kind == "extra_forbidden":
        if removed := _REMOVED.get(path):
            return removed
        return _unknown_key_text(str(path[-1]), sorted(_fields_at(path[:-1], model)))
    if value is None and kind != "missing":
        return "is empty; give it a value or remove the line"
    if kind == PROBLEM:
        return detail["msg"]
    if kind == "literal_error":
        if isinstance(value, str) and (removed := _REMOVED.get((*path, value))):
            return removed
        shown = repr(value) if isinstance(value, str) else "this"
        return f"{shown} is none of its values; use {detail['ctx']['expected']}"
    if kind.startswith("int_"):
        return "must be a whole number; write it in digits"
    return _TEXTS.get(kind, f"{detail['msg']}; see conf/reference.yaml")


def _unknown_key_text(name: str, known: list[str]) -> str:
    nearest = get_close_matches(name.lower(), known, n=1)
    if nearest:
        return f"unknown key; did you mean {nearest[0]}?"
    return f"unknown key; remove it, known here: {', '.join(known)}"


def _fields_at(path: KeyPath, model: type[BaseModel]) -> set[str]:
    """Return the names of the fields of the section at *path*; keys of mappings and indices name no field."""
    for part in path:
        field = model.model_fields.get(str(part)) if isinstance(part, str) else None
        if field is not None:
            model = _section_in(field.annotation) or model
    return set(model.model_fields)


def _section_in(annotation: object) -> type[BaseModel] | None:
    """Return the model inside ``Section``, ``dict[str, Section]`` or ``tuple[Section, ...]``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for inner in get_args(annotation) if (found := _section_in(inner))), None)
