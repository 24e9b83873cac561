"""The section ``mirror``: what the data mirror stamps on copies, and what it calls them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import PlainValidator

from offset_sync.config.contents import Contents
from offset_sync.config.sections import Text


def _to_rules(names: object) -> object:
    """Freeze the list; its content is checked by the rules, item by item."""
    return tuple(names) if isinstance(names, list) else names


class Mirror(Contents):
    """The headers the data mirror stamps on every record it copies; the third one only where it is named.

    *names* says what it calls copies; rules are mappings with from, to, topics and name. Without headers contents tell.
    """

    origin_header: Text = "IDC"
    offset_header: Text = "Offset"
    place_header: str = ""
    offset_encoding: Literal["text", "int64"] = "text"
    names: Annotated[Literal["same", "mm2"] | tuple[Mapping[str, str], ...], PlainValidator(_to_rules)] = "same"
    separator: Text = "."
