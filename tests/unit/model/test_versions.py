"""Which versions are taken for the one that the program was built with."""

from __future__ import annotations

import pytest

from offset_sync.model.versions import Match, match_version


@pytest.mark.parametrize(
    ("found", "match"),
    [
        ("4.4.0", Match.SAME),
        ("4.4.1", Match.SIMILAR),
        ("4.4", Match.SIMILAR),
        ("4.4.0-SNAPSHOT", Match.SIMILAR),
        ("4.4.0.7.1.9-387", Match.SIMILAR),
        ("", Match.SIMILAR),
        ("4.3.9", Match.OTHER),
        ("4.5.0", Match.OTHER),
        ("5.4.0", Match.OTHER),
        ("4.40.0", Match.OTHER),
        ("14.4.0", Match.OTHER),
        ("4", Match.OTHER),
        ("unknown", Match.OTHER),
    ],
)
def test_another_patch_is_similar_and_another_minor_version_is_not(found: str, match: Match) -> None:
    assert match_version("4.4.0", found) is match
