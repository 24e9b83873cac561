"""What works and cannot be verified: copies that come by way of a third cluster, without their place."""

from __future__ import annotations

from typing import Any

import pytest

from fakes.newest_logs import known_config
from offset_sync.config.rules import cautions

THREE = ("dc1", "dc2", "dc3")
RULE = {"from": "dc1", "to": "dc2", "topics": "pay-.*", "name": "{topic}.{from}"}
ONWARD = {"from": "dc2", "to": "dc3", "topics": r"pay-.*\.dc1", "name": "{topic}.{from}"}
ELSE = {"from": "dc2", "to": "dc3", "topics": "audit", "name": "{topic}.{from}"}


def said(aliases: tuple[str, ...] = THREE, **sections: Any) -> list[str]:
    return [str(each) for each in cautions(known_config(aliases, **sections))]


@pytest.mark.parametrize("names", ["mm2", [RULE, ONWARD]])
def test_copies_that_may_pass_two_hops_want_their_place(names: Any) -> None:
    (found,) = said(mirror={"names": names})
    assert found.startswith("mirror.place_header: is empty, and with these mirror.names and 3 clusters a copy may come")
    assert "have the mirror stamp the place" in found
    assert said(mirror={"names": names, "place_header": "Place"}) == []


@pytest.mark.parametrize(
    "mirror", [{}, {"names": [RULE]}, {"names": [RULE, ELSE]}, {"names": [RULE, {**ONWARD, "to": "dc1"}]}]
)
def test_where_nothing_is_copied_on_by_name_there_is_nothing_to_say(mirror: Any) -> None:
    assert said(mirror=mirror) == []


def test_two_clusters_copies_without_headers_and_other_strategies_need_no_place() -> None:
    assert said(("dc1", "dc2"), mirror={"names": "mm2"}) == []
    assert said(mirror={"names": "mm2", "identity": "fingerprint"}) == []
    assert said(mirror={"names": "mm2"}, topics={"include": ["a"], "strategy": "timestamp"}) == []
