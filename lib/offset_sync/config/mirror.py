"""The section ``mirror``: the data mirror's headers on copies, and its names for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, model_validator

from offset_sync.config.problems import Section, refused
from offset_sync.config.sections import AnyText, Text
from offset_sync.decode.mirror_headers import OFFSET_HEADER, ORIGIN_HEADER, PLACE_HEADER, Encoding

OWN: Final = "offset-sync"
REDPANDA: Final = "redpanda-migrator"


_HEADERS = ("origin_header", "offset_header", "offset_encoding")
_PRESETS: Mapping[str, tuple[str, str, Encoding]] = {
    OWN: ("IDC", "Offset", "text"),
    # redpanda-data/connect, internal/impl/redpanda/migrator/migrator.go: the provenance of the first hop is kept, the
    # offset is overwritten at every hop.
    REDPANDA: ("redpanda-migrator-provenance", "redpanda-migrator-offset", "int64"),
}
"""The headers that a known mirror stamps on each copy, and their encoding, by ``mirror.preset``."""


def is_part_of_name(text: str) -> bool:
    """Whether *text*, which may be empty, can be in the name of a topic."""
    return re.fullmatch(r"[A-Za-z0-9._-]*", text) is not None


def _checked_separator(separator: str) -> str:
    if not is_part_of_name(separator):
        raise refused("cannot be in the name of a topic; use A-Z a-z 0-9 . _ -")
    return separator


class Mirror(Section):
    """The headers the data mirror stamps on every record it copies; the third one only where it is named.

    Defaults are those of the *preset*. *names* is how copies are named.
    """

    preset: Literal["offset-sync", "redpanda-migrator"] = OWN
    origin_header: Text = _PRESETS[OWN][0]
    offset_header: Text = _PRESETS[OWN][1]
    offset_encoding: Encoding = _PRESETS[OWN][2]
    place_header: AnyText = ""
    names: Literal["same", "mm2"] = "same"
    separator: Annotated[Text, AfterValidator(_checked_separator)] = "."

    @model_validator(mode="before")
    @classmethod
    def _by_preset(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and given.get("preset") in [*_PRESETS]:
            return {**dict(zip(_HEADERS, _PRESETS[given["preset"]], strict=True)), **given}
        return given

    @property
    def is_closed(self) -> bool:
        """Whether origins are Kafka's own ids of the clusters.

        Then an origin that the configuration does not know, or that is the cluster itself, is of another hop, whose
        offset means another record; so it is no identity.
        """
        return self.preset == REDPANDA

    def header_columns(self) -> dict[str, str]:
        """Return the header of each column of :mod:`offset_sync.decode.mirror_headers`."""
        columns = {ORIGIN_HEADER: self.origin_header, OFFSET_HEADER: self.offset_header}
        return columns | ({PLACE_HEADER: self.place_header} if self.place_header else {})
