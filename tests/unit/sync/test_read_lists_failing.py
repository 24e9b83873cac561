"""What is said where a read list cannot be replaced: nothing of what the next pass repairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from fakes.read_list_site import HOLDS, listed_site, told
from fakes.reconciler_site import Site
from offset_sync.model.errors import ClusterError
from offset_sync.state import failpoints


@pytest.fixture
def site() -> Site:
    """X and Y, as in ``fakes.read_list_site``."""
    return listed_site()


def test_a_group_that_goes_back_while_its_answer_is_computed_is_no_failure(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.commit("X", "readers", 3)
    assert site.reconcile() == []
    site.commit("X", "readers", 5)
    site.read_all()

    def go_back(name: str) -> None:
        if name == failpoints.AFTER_TRANSLATING and site.offsets.clusters["X"].columns["rewound_ms"].max() < 0:
            site.commit("X", "readers", 2)
            site.read("X")

    monkeypatch.setattr(failpoints, "failpoint", go_back)
    assert site.reconciler.reconcile_all() == []
    assert site.target_offset("Y", "readers") == 2  # as before: the commit of 5 does not count any more
    assert site.reconcile() == []
    assert (site.target_offset("Y", "readers"), told(site)) == (0, (0, [(1, 2), (3, 4)]))


def test_a_list_that_cannot_be_read_after_its_group_has_gone_back_is_a_failure(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.commit("X", "readers", 4)
    site.reconciled()
    ask, refused = site.clusters["Y"].committed_offsets, ClusterError("Y", "GROUP_AUTHORIZATION_FAILED")

    def refuse(groups: Sequence[str], deadline: float) -> Any:
        return {group: refused if group == HOLDS else each for group, each in ask(groups, deadline).items()}

    monkeypatch.setattr(site.clusters["Y"], "committed_offsets", refuse)
    site.commit("X", "readers", 1)
    for _ in range(2):
        (failure,) = site.reconcile()
        assert "its read list could not be replaced" in failure
    assert site.target_offset("Y", "readers") == 2
