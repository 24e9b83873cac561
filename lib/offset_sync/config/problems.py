"""Problems of the configuration: ``path.to.key: what is wrong; remedy``, never quoting a secret.

Durations and sizes as people write them: ``500ms``, ``1s``, ``10m``, ``12h``, ``2d``; ``512MiB``, ``2GiB``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from difflib import get_close_matches
from typing import Annotated, Any, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ByteSize, ValidationError
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
_DURATION = re.compile(r"([0-9]{1,15})(ms|s|m|h|d)?")
_SIZE = re.compile("[0-9]{1,15} ?([KMGT]i?)?B?")
_DURATIONS = {
    "d": timedelta(days=1),
    "h": timedelta(hours=1),
    "m": timedelta(minutes=1),
    "s": timedelta(seconds=1),
    "ms": timedelta(milliseconds=1),
}
_SIZES = {"GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10}
_LONGEST = timedelta(days=3650)


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong at *path*; *text* reads ``what is wrong; remedy`` and never quotes a secret."""

    path: KeyPath
    text: str

    def __str__(self) -> str:
        return f"{path_text(self.path)}: {self.text}"


def path_text(path: KeyPath) -> str:
    """Return ``topics.overrides[0].strategy`` for ``("topics", "overrides", 0, "strategy")``."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")


def refused(text: str) -> PydanticCustomError:
    """Return the error for a validator to raise; *text* is shown as it is, braces included."""
    return PydanticCustomError(_PROBLEM, "{text}", {"text": text})


def to_lines(read: Iterable[Problem], validated: Iterable[Problem]) -> list[str]:
    """Return the lines to show: problems found when the file was read, and when it was validated.

    A path that could not be read is not mentioned again. Otherwise a variable that is not set would be followed by
    "not a duration" and other consequences.
    """
    read = list(read)
    unread = {each.path for each in read}
    return list(dict.fromkeys(map(str, [*read, *(each for each in validated if each.path not in unread)])))


def explain(error: ValidationError, model: type[BaseModel]) -> Iterator[Problem]:
    """Yield pydantic's errors in our words, one problem for each that validating against *model* found."""
    for detail in error.errors(include_url=False):
        if detail["type"] == "too_short" and detail["input"]:
            continue  # it has entries, all of them wrong, and each is reported by itself
        path = tuple(detail["loc"])
        yield Problem(path, _text(detail, path, model))


def _text(detail: ErrorDetails, path: KeyPath, model: type[BaseModel]) -> str:
    kind, value = detail["type"], detail["input"]
    if kind == "extra_forbidden":
        return _REMOVED.get(path) or _unknown_key_text(str(path[-1]), _keys_at(path[:-1], model))
    if value is None and kind != "missing":
        return "is empty; give it a value or remove the line"
    if kind == _PROBLEM:
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


def parse_duration(value: object) -> timedelta:
    """Return *value* as a duration; whole numbers, with or without quotes, are seconds."""
    if isinstance(value, timedelta):
        return value
    written = _DURATION.fullmatch(str(value))
    if written is None:
        raise refused(f"{value!r} is not a duration; write it as 500ms, 1s, 10m, 12h or 2d")
    count, unit = int(written[1]), _DURATIONS[written[2] or "s"]
    if count > _LONGEST // unit:
        raise refused(f"{value!r} is too long; write at most 3650d")
    return count * unit


def format_duration(duration: timedelta) -> str:
    """Return *duration* in the largest unit that needs no fraction; ``parse_duration`` gives it back."""
    for name, unit in _DURATIONS.items():
        if duration and duration % unit == timedelta(0):
            return f"{duration // unit}{name}"
    return "0s"


def format_size(size: int) -> str:
    """Return *size*, in bytes, in the largest unit that needs no fraction."""
    return next((f"{size // unit}{name}" for name, unit in _SIZES.items() if size % unit == 0), str(size))


def to_ms(duration: timedelta) -> int:
    """Return a duration in milliseconds."""
    return int(duration.total_seconds() * 1000)


def _is_positive(duration: timedelta) -> timedelta:
    if duration <= timedelta(0):
        raise refused("must be longer than 0s; write it as 500ms, 1s, 10m, 12h or 2d")
    return duration


def _is_size(value: object) -> object:
    if isinstance(value, bool) or not _SIZE.fullmatch(str(value)):
        raise refused(f"{value!r} is no size; write it as 512MiB or 2GiB")
    return value


def _is_enough(size: ByteSize) -> ByteSize:
    if size < 16 << 20:
        raise refused("is too small; write at least 16MiB")
    return size


Duration = Annotated[timedelta, BeforeValidator(parse_duration)]
PositiveDuration = Annotated[Duration, AfterValidator(_is_positive)]
Size = Annotated[ByteSize, BeforeValidator(_is_size), AfterValidator(_is_enough)]
