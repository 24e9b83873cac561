"""The section ``mirror``: what the data mirror stamps on copies, and what it calls them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import PlainValidator, model_validator

from offset_sync.config.contents import Contents
from offset_sync.config.presets import OWN, PRESETS, Preset, preset_of
from offset_sync.config.sections import Text
from offset_sync.decode.mirror_headers import OFFSET_HEADER, ORIGIN_HEADER, PLACE_HEADER, Encoding


def _to_rules(names: object) -> object:
    """Freeze the list; its content is checked by the rules, item by item."""
    return tuple(names) if isinstance(names, list) else names


class Mirror(Contents):
    """The headers the data mirror stamps on every record it copies; the third one only where it is named.

    What is not given is what the *preset* says. *names* says what it calls copies; rules are mappings with from, to,
    topics and name. Without headers contents tell.
    """

    preset: Literal["offset-sync", "redpanda-migrator"] = OWN
    origin_header: Text = PRESETS[OWN].origin_header
    offset_header: Text = PRESETS[OWN].offset_header
    place_header: str = ""
    offset_encoding: Encoding = PRESETS[OWN].offset_encoding
    names: Annotated[Literal["same", "mm2"] | tuple[Mapping[str, str], ...], PlainValidator(_to_rules)] = "same"
    separator: Text = "."

    @model_validator(mode="before")
    @classmethod
    def _by_preset(cls, given: object) -> object:
        return {**preset_of(given).defaults(), **given} if isinstance(given, Mapping) else given

    @property
    def known(self) -> Preset:
        """What the preset knows of this mirror beside its keys."""
        return PRESETS[self.preset]

    def header_columns(self) -> dict[str, str]:
        """Return which column of :mod:`offset_sync.decode.mirror_headers` has the value of which header."""
        columns = {ORIGIN_HEADER: self.origin_header, OFFSET_HEADER: self.offset_header}
        return columns | ({PLACE_HEADER: self.place_header} if self.place_header else {})
