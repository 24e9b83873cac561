"""What the command check makes of the rights that a cluster tells of. No cluster is asked."""

from __future__ import annotations

from typing import Any

import pytest

from fakes.newest_logs import known_config, silent_cluster, wrong
from offset_sync.jobs.checks.facts import LIST_GROUP, MARK_GROUP, OWN_GROUP, judge_rights
from offset_sync.kafka.requests import NotAuthorizedError
from offset_sync.model.finding import some
from offset_sync.model.values import CONSUMER_OFFSETS as COMMITS

READ = frozenset({"READ", "DESCRIBE", "DESCRIBE_CONFIGS"})
DESCRIBE = frozenset({"DESCRIBE"})
ALL = READ | {"WRITE", "CREATE", "DELETE", "ALTER", "ALTER_CONFIGS", "CLUSTER_ACTION", "IDEMPOTENT_WRITE"}
REFUSED = NotAuthorizedError("dc2", "orders")
NAMED: dict[str, Any] = {"topics": {"include": ["orders"]}}
MINIMAL: dict[str, Any] = {
    "topics": {"orders": READ, COMMITS: READ},
    "group_rights": {"billing": READ, OWN_GROUP: DESCRIBE},
}

LISTS: dict[str, Any] = {"sync": {"read_lists": {"groups": ["billing", "ship.*"]}}}


def with_lists(of_lists: Any, of_marks: Any = DESCRIBE) -> dict[str, Any]:
    """Return the minimal rights, with what is told of groups that hold read lists, and marks."""
    return {"group_rights": {**MINIMAL["group_rights"], LIST_GROUP: of_lists, MARK_GROUP: of_marks}}


def rights(told: dict[str, Any] | None = None, **sections: Any) -> dict[str, str]:
    return wrong(judge_rights(known_config(**{**NAMED, **sections}), silent_cluster(**{**MINIMAL, **(told or {})})))


@pytest.mark.parametrize("error", ["NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"])
def test_a_cluster_without_commits_refuses_nothing(error: str) -> None:
    found = rights({"topics": {"orders": READ}, "group_rights": {"billing": error, OWN_GROUP: error}})
    assert {name.split()[0] for name in found} == {"WARN", "SKIP"}
    assert "no coordinator yet" in found["SKIP own groups"]
    assert "no group exists with which" in found["SKIP groups"]


def test_the_minimal_rights_are_all_right() -> None:
    found = list(judge_rights(known_config(**NAMED), silent_cluster(**MINIMAL)))
    assert [(each.level.value, each.check) for each in found] == [
        ("OK", "topics"),
        ("OK", "commits"),
        ("OK", "own groups"),
        ("OK", "groups"),
        ("OK", "no other right"),
    ]


@pytest.mark.parametrize(
    ("told", "check", "words"),
    [
        ({"topics": {"orders": REFUSED, COMMITS: READ}}, "topics", ["topic orders", "Describe", "grant Read"]),
        ({"topics": {"orders": DESCRIBE, COMMITS: READ}}, "topics", ["orders: the operation Read", "grant Read"]),
        ({"topics": {"orders": READ, COMMITS: DESCRIBE}}, "commits", [COMMITS, "Read", "grant Read"]),
        ({"topics": {"orders": READ, COMMITS: NotAuthorizedError("dc2", COMMITS)}}, "commits", [COMMITS, "grant Read"]),
        (
            {"group_rights": {"billing": READ, OWN_GROUP: "GROUP_AUTHORIZATION_FAILED"}},
            "own groups",
            ["grant Describe"],
        ),
        ({"group_rights": {"billing": DESCRIBE, OWN_GROUP: DESCRIBE}}, "groups", ["billing", "grant Read"]),
        (
            {"group_rights": {"billing": "GROUP_AUTHORIZATION_FAILED", OWN_GROUP: DESCRIBE}},
            "groups",
            ["billing: GROUP_AUTHORIZATION_FAILED", "grant Read"],
        ),
    ],
)
def test_a_right_that_is_missing_fails_with_what_to_grant(told: dict[str, Any], check: str, words: list[str]) -> None:
    found = rights(told)
    assert list(found) == [f"FAIL {check}"]
    text = found[f"FAIL {check}"]
    assert [word for word in [*words, "Minimal ACLs"] if word not in text] == [], text


def test_a_source_needs_less_of_groups() -> None:
    described = {"group_rights": {"billing": DESCRIBE, OWN_GROUP: DESCRIBE}}
    assert rights(described, directions=[["dc2", "dc1"]]) == {}


def test_the_right_to_write_read_lists_is_one_line_for_all_groups_that_are_named() -> None:
    found = list(judge_rights(known_config(**NAMED, **LISTS), silent_cluster(**{**MINIMAL, **with_lists(READ)})))
    (line,) = [each for each in found if each.check == "read lists"]
    assert (line.level.value, line.text) == ("OK", "Read on groups with the prefix __offset-sync.read.")
    assert [each.text for each in found if each.check == "groups"] == ["Read on billing"]
    refused = rights(with_lists("GROUP_AUTHORIZATION_FAILED"), **LISTS)
    prefix, says = "groups with the prefix __offset-sync.read.", "the operation Read is not allowed; grant Read on it"
    assert refused == {
        "FAIL read lists": f"{prefix}: GROUP_AUTHORIZATION_FAILED: {says} (docs/operations.md, Minimal ACLs)"
    }
    assert list(rights(with_lists(DESCRIBE), **LISTS)) == ["FAIL read lists"]


def test_at_a_source_read_lists_are_only_looked_at() -> None:
    assert rights(with_lists(DESCRIBE), **LISTS, directions=[["dc2", "dc1"]]) == {}


def test_the_right_to_see_marks_is_another_line() -> None:
    prefix, says = "groups with the prefix __offset-sync.seen.", "the operation Describe is not allowed"
    (line,) = rights(with_lists(READ, "GROUP_AUTHORIZATION_FAILED"), **LISTS).items()
    assert line[0] == "FAIL marks"
    assert line[1].startswith(f"{prefix}: GROUP_AUTHORIZATION_FAILED: {says}")


def test_where_the_groups_of_read_lists_have_no_coordinator_yet_nothing_is_said_of_the_right() -> None:
    found = rights(with_lists(*["COORDINATOR_NOT_AVAILABLE"] * 2), **LISTS)
    says = "no coordinator yet; repeat check once a group has committed"
    assert found == {"SKIP read lists": says, "SKIP marks": says}


def test_what_is_never_needed_is_a_warning_that_names_it() -> None:
    found = rights({"own_rights": frozenset({"DESCRIBE", "ALTER"})})
    assert found == {"WARN no other right": "Alter on the cluster is never needed; revoke it"}
    found = rights({"topics": {"orders": READ | {"WRITE", "ALTER_CONFIGS"}, COMMITS: READ}})
    assert found == {"WARN no other right": "AlterConfigs, Write on orders is never needed; revoke it"}
    found = rights({"group_rights": {"billing": READ | {"DELETE"}, OWN_GROUP: DESCRIBE}})
    assert found == {"WARN no other right": "Delete on group billing is never needed; revoke it"}


def test_a_cluster_without_an_authorizer_is_one_warning() -> None:
    everything = {"orders": ALL, COMMITS: ALL}
    found = rights({"own_rights": ALL, "topics": everything, "group_rights": {"billing": ALL, OWN_GROUP: ALL}})
    assert list(found) == ["WARN no other right"]
    assert "no authorizer" in found["WARN no other right"]


def test_what_is_not_there_yet_is_no_failure() -> None:
    found = rights({"topics": {}, "group_rights": {OWN_GROUP: DESCRIBE}})
    assert list(found) == ["WARN commits", "SKIP groups"]


def test_names_are_not_listed_without_end() -> None:
    assert some(["d", "c", "b", "a", "e"]) == "a, b, c and 2 more"
