"""Problems of the configuration: ``path.to.key: what is wrong; remedy``, never quoting a secret."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
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
    "less_than": "is too large; choose a smaller number",
}

_OF_COPIES = (
    "'identity' was removed: what copies byte for byte (Cluster Linking, Shadowing) keeps offsets, and syncs those of "
    "groups itself; switch that on there, and write off; for another strategy begin with new tables "
    "(docs/mirrors-presets.md)"
)
_OF_ORIGINALS = "was removed together with strategy identity, its only user; remove the line"
_OF_CONTENTS = "belongs to the extension that tells copies by contents; move the line to extensions.contents"
_FIXED: dict[KeyPath, str] = {
    ("topics", "header_look_back"): "1000",
    ("sync", "idle_after"): "10m",
    ("sync", "max_offsets_per_trigger"): "500000",
    ("sync", "requests_in_flight"): "500",
    ("sync", "commit_timeout"): "15s",
    ("status", "drift_window"): "10m",
    ("status", "drift_threshold"): "1000",
    ("status", "shape_window"): "1h",
    ("report", "rehearse", "records"): "200",
    ("metrics", "worst"): "20",
    ("maintenance", "interval"): "15m",
}
"""Options that were removed because one value is right everywhere."""
_REMOVED: dict[KeyPath, str] = {
    **{path: f"was removed: it is always {value}; remove the line" for path, value in _FIXED.items()},
    ("mirror", "identity"): (
        "was removed; remove the line, and for fingerprint write extensions: {contents: {}} and begin with new tables "
        "(docs/mirrors-contents.md)"
    ),
    **{
        ("mirror", key): _OF_CONTENTS
        for key in ("flows", "exclusive", "order", "keeps", "resend_window", "resend_records", "hold", "slack")
    },
    ("sync", "deletes"): (
        "was removed; remove the line: offsets that a group deleted at its home cluster are no longer refreshed at the "
        "other clusters and expire there; nothing is deleted"
    ),
    ("sync", "metadata"): "was removed; remove the line: commits carry empty metadata",
    ("mirror", "names", "list"): (
        "rules were removed; write mm2 if each copy has the name of its source before its own, whatever the mirror "
        "calls that (clusters.X.mirror_alias, mirror.separator), else have the mirror keep the names, and write same "
        "(docs/mirrors-names.md)"
    ),
    ("topics", "strategy", "identity"): _OF_COPIES,
    ("topics", "overrides", "strategy", "identity"): _OF_COPIES,
    ("topics", "origin"): _OF_ORIGINALS,
    ("topics", "overrides", "origin"): _OF_ORIGINALS,
    ("mirror", "pipelines"): "was removed together with mirror.preset lenses-k2k, its only user; remove the line",
    ("mirror", "preset", "lenses-k2k"): (
        "'lenses-k2k' was removed: it was never tested with Lenses K2K; write extensions: {contents: "
        "{keeps: [timestamps]}} instead, and begin with new tables (docs/mirrors-contents.md). Or write origin_header: "
        "k2k_pipeline, offset_header: k2k_offset and, as clusters.X.origin, the pipeline that reads X; k2k_topic and "
        "k2k_partition are no longer checked then. So this is safe only if at most one pipeline reads each cluster, "
        "no copy is copied on or back, and no application passes headers on; else unread records may count as read"
    ),
}
"""Removed options, whatever their value, and removed values, by option and value, or ``list``; each with the remedy.

Indices of lists are left out.
"""


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


def to_lines(read: Iterable[Problem], validated: Iterable[Problem]) -> list[str]:
    """Return the lines to show: problems found when the file was read, and when it was validated.

    A path that could not be read is not reported again. Otherwise an unset variable would be followed by "not a
    duration" and other consequences.
    """
    read = list(read)
    unread = {each.path for each in read}
    return list(dict.fromkeys(map(str, [*read, *(each for each in validated if each.path not in unread)])))


def explain(error: ValidationError, model: type[BaseModel]) -> Iterator[Problem]:
    """Yield pydantic's errors as problems with our texts, one for each error of validation against *model*."""
    for detail in error.errors(include_url=False):
        if detail["type"] == "too_short" and detail["input"]:
            continue  # it has entries, all of them wrong, and each is reported by itself
        path = tuple(detail["loc"])
        yield Problem(path, _text(detail, path, model))


def _text(detail: ErrorDetails, path: KeyPath, model: type[BaseModel]) -> str:
    kind, value = detail["type"], detail["input"]
    plain = tuple(part for part in path if isinstance(part, str))
    if kind == "extra_forbidden":
        return _REMOVED.get(plain) or _unknown_key_text(str(path[-1]), _keys_at(path[:-1], model))
    if value is None and kind != "missing":
        return "is empty; give it a value or remove the line"
    if kind == _PROBLEM:
        return detail["msg"]
    if kind == "literal_error":
        named = value if isinstance(value, str) else type(value).__name__
        if removed := _REMOVED.get((*plain, named)):
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


def _keys_at(path: KeyPath, section: Any) -> list[str]:
    """Return the keys of the section at *path*; keys of mappings and indices name no section."""
    for part in path:
        if field := section.model_fields.get(part):
            section = _section_in(field.annotation) or section
    return sorted(field.alias or name for name, field in section.model_fields.items())


def _section_in(annotation: object) -> Any:
    """Return the model inside ``Section``, ``dict[str, Section]`` or ``tuple[Section, ...]``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for inner in get_args(annotation) if (found := _section_in(inner))), None)
