"""The options of the transform: what is refused, and that the documents name them as they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from connect.mirror_cases import MirrorCases, Record, Refused

pytestmark = pytest.mark.xdist_group("connect")
PAGE = Path(__file__).resolve().parents[3] / "docs" / "mirrors.md"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"on_mirrored": "skip"}, "skip for configuration on.mirrored: String must be one of: drop, pass"),
        ({"on_mirrored": "DROP"}, "on.mirrored"),
        ({"on_mirrored": ""}, "on.mirrored"),
        ({"on_mirrored": None}, "on.mirrored"),
        ({"origin": ""}, "origin: String must be non-empty"),
        ({"origin": " "}, "origin: String must be non-empty"),
        ({"origin": "ü" * 125}, "origin: has more than 249 bytes"),
        ({"origin_header": ""}, "origin.header: String must be non-empty"),
        ({"origin_header": None}, "origin.header: entry must be non null"),
        ({"offset_header": " "}, "offset.header: String must be non-empty"),
        ({"place_header": None}, "place.header: entry must be non null"),
        ({"offset_header": "IDC"}, "IDC for configuration offset.header: is the name of origin.header too"),
        ({"place_header": "IDC"}, "IDC for configuration place.header: is the name of another"),
        ({"origin_header": "Place"}, "Place for configuration place.header"),
        ({"offset_header": "Place"}, "Place for configuration place.header"),
    ],
)
def test_what_is_wrong_is_refused_by_name(mirror: MirrorCases, options: dict[str, str | None], said: str) -> None:
    with pytest.raises(Refused, match=r"^ConfigException: Invalid value") as refused:
        mirror.apply(Record(), **options)
    assert said in str(refused.value)


def test_the_page_has_every_option_with_its_default(mirror: MirrorCases) -> None:
    options = mirror.ask({"options": {}, "records": [], "times": 1, "more": 0})["options"]
    rows = re.findall(r"^\| `([a-z.]+)` \| (?:`(\w+)`|[^|`]+) \|", PAGE.read_text(), re.MULTILINE)
    assert dict(rows) == {name: default or "" for name, default in options.items()}
