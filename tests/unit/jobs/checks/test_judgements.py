"""What the command check makes of what clusters tell: rights and settings. No cluster is asked."""

from __future__ import annotations

from typing import Any

import pytest

from builders.check_findings import config, wrong
from offset_sync.jobs.checks.broker_settings import judge_settings
from offset_sync.jobs.checks.rights import COMMITS, OWN_GROUP, ToldRights, judge_rights
from offset_sync.kafka.error_codes import NotAuthorizedError
from offset_sync.model.finding import some

READ = frozenset({"READ", "DESCRIBE", "DESCRIBE_CONFIGS"})
DESCRIBE = frozenset({"DESCRIBE"})
ALL = READ | {"WRITE", "CREATE", "DELETE", "ALTER", "ALTER_CONFIGS", "CLUSTER_ACTION", "IDEMPOTENT_WRITE"}
REFUSED = NotAuthorizedError("dc2", "orders")
MINIMAL: dict[str, Any] = {
    "topics": {"orders": READ, COMMITS: READ},
    "groups": {"billing": READ, OWN_GROUP: DESCRIBE},
}


def rights(told: dict[str, Any] | None = None, **sections: Any) -> dict[str, str]:
    return wrong(judge_rights(config(**sections), ToldRights("dc2", **{**MINIMAL, **(told or {})})))


@pytest.mark.parametrize("error", ["NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"])
def test_a_cluster_where_nobody_has_committed_yet_refuses_nothing(error: str) -> None:
    found = rights({"topics": {"orders": READ}, "groups": {"billing": error, OWN_GROUP: error}})
    assert {name.split()[0] for name in found} == {"WARN", "SKIP"}
    assert "no coordinator yet" in found["SKIP own groups"]
    assert "no group is known" in found["SKIP groups"]


def test_the_minimal_rights_are_all_right() -> None:
    found = list(judge_rights(config(), ToldRights("dc2", **MINIMAL)))
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
        ({"groups": {"billing": READ, OWN_GROUP: "GROUP_AUTHORIZATION_FAILED"}}, "own groups", ["grant Describe"]),
        ({"groups": {"billing": DESCRIBE, OWN_GROUP: DESCRIBE}}, "groups", ["billing", "grant Read"]),
        (
            {"groups": {"billing": "GROUP_AUTHORIZATION_FAILED", OWN_GROUP: DESCRIBE}},
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
    described = {"groups": {"billing": DESCRIBE, OWN_GROUP: DESCRIBE}}
    assert rights(described, directions=[["dc2", "dc1"]]) == {}


def test_what_is_never_needed_is_a_warning_that_names_it() -> None:
    found = rights({"cluster": frozenset({"DESCRIBE", "ALTER"})})
    assert found == {"WARN no other right": "Alter on the cluster is never needed; take it back"}
    found = rights({"topics": {"orders": READ | {"WRITE", "ALTER_CONFIGS"}, COMMITS: READ}})
    assert found == {"WARN no other right": "AlterConfigs, Write on orders is never needed; take it back"}
    found = rights({"groups": {"billing": READ | {"DELETE"}, OWN_GROUP: DESCRIBE}})
    assert found == {"WARN no other right": "Delete on group billing is never needed; take it back"}


def test_a_cluster_without_an_authorizer_is_one_warning() -> None:
    everything = {"orders": ALL, COMMITS: ALL}
    found = rights({"cluster": ALL, "topics": everything, "groups": {"billing": ALL, OWN_GROUP: ALL}})
    assert list(found) == ["WARN no other right"]
    assert "no authorizer" in found["WARN no other right"]


def test_what_is_not_there_yet_is_no_failure() -> None:
    found = rights({"topics": {}, "groups": {OWN_GROUP: DESCRIBE}})
    assert list(found) == ["WARN topics", "WARN commits", "SKIP groups"]
    assert found["WARN topics"].startswith("orders: not there")


def test_with_prefixes_a_topic_that_is_produced_elsewhere_need_not_be_here() -> None:
    prefixed = {"mirror": {"names": "mm2"}}
    found = rights({"topics": {"dc1.orders": READ, COMMITS: READ}}, **prefixed)
    assert found == {}
    assert rights({"topics": {COMMITS: READ}}, **prefixed)["WARN topics"].startswith("orders: not there")


def settings(found: dict[str, str] | str, brokers: int = 1, **sections: Any) -> dict[str, str]:
    return wrong(judge_settings(config(**sections), "dc2", found, brokers))


GOOD = {"offsets.retention.minutes": "10080", "unclean.leader.election.enable": "false"}


@pytest.mark.parametrize(
    ("changed", "level", "word"),
    [
        ({"offsets.retention.minutes": "720"}, "FAIL", "sync.refresh_interval (12h)"),
        ({"offsets.retention.minutes": "1439"}, "WARN", "sync.refresh_interval (12h)"),
        ({"unclean.leader.election.enable": "true"}, "WARN", "set it to false"),
        ({"offsets.topic.replication.factor": "1"}, "WARN", "set it to 3"),
    ],
)
def test_a_setting_on_which_the_promise_leans_is_told_with_what_it_should_be(
    changed: dict[str, str], level: str, word: str
) -> None:
    assert settings(GOOD) == {}
    found = settings({**GOOD, **changed}, brokers=3)
    assert list(found) == [f"{level} broker settings"]
    assert next(iter(changed)) in found[f"{level} broker settings"]
    assert word in found[f"{level} broker settings"]


def test_the_time_of_copies_matters_to_one_strategy_only() -> None:
    appended = {**GOOD, "log.message.timestamp.type": "LogAppendTime"}
    assert settings(appended) == {}
    timed = settings(appended, topics={"include": ["orders"], "strategy": "timestamp"})
    assert "set CreateTime" in timed["WARN broker settings"]


def test_settings_that_may_not_be_read_are_skipped_and_said_what_they_should_be() -> None:
    found = settings("CLUSTER_AUTHORIZATION_FAILED")
    assert list(found) == ["SKIP broker settings"]
    assert "offsets.retention.minutes be more than 1d" in found["SKIP broker settings"]


def test_names_are_not_listed_without_end() -> None:
    assert some(["d", "c", "b", "a", "e"]) == "a, b, c and 2 more"
