"""Rules that name copies: from copy to original; and rules that cannot be reversed."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from builders.configurations import clusters, parsed, problems
from offset_sync.config import Config, parse_config
from offset_sync.config.mirror import NameRule
from offset_sync.config.rule_names import RuleNames, irreversible
from offset_sync.config.stream_names import MirroredNames

ALIASES = ("dc1", "dc2", "dc3")
CLUSTERS = clusters(*ALIASES)


def rule(source: str, target: str, topics: str = ".*", name: str = "{topic}-replica") -> dict[str, str]:
    return {"from": source, "to": target, "topics": topics, "name": name}


def naming(*rules: dict[str, str]) -> RuleNames:
    return RuleNames.of([NameRule.model_validate(each) for each in rules], {each: each for each in ALIASES})


def named(*rules: dict[str, str]) -> MirroredNames:
    return MirroredNames(naming(*rules))


def config(names: Any, known: Any = CLUSTERS, include: list[str] | None = None, **mirror: Any) -> Config:
    topics = {"include": include or ["orders", "pay-.*"]}
    return parsed(clusters=known, topics=topics, mirror={"names": names, **mirror})


def name_problems(names: Any, known: Any = CLUSTERS, **mirror: Any) -> list[str]:
    return problems(clusters=known, mirror={"names": names, **mirror})


def test_a_topic_that_is_renamed_is_one_stream_under_both_names() -> None:
    names = named(rule("dc1", "dc2", "pay-.*"))
    assert names.stream("dc1", "pay-eu") == names.stream("dc2", "pay-eu-replica") == "dc1/pay-eu"
    assert (names.topic("dc1", "dc1/pay-eu"), names.topic("dc2", "dc1/pay-eu")) == ("pay-eu", "pay-eu-replica")
    assert (names.home("dc1/pay-eu"), names.origin_topic("dc1/pay-eu")) == ("dc1", "pay-eu")


def test_what_no_rule_renames_has_the_same_name_everywhere() -> None:
    names = named(rule("dc1", "dc2", "pay-.*"))
    assert {names.stream(alias, "orders") for alias in ALIASES} == {"orders"}
    assert {names.topic(alias, "orders") for alias in ALIASES} == {"orders"}
    assert names.home("orders") is None
    # At dc3, of which no rule speaks, dc1's keeps its name.
    assert names.stream("dc3", "pay-eu") == "dc1/pay-eu"
    assert names.topic("dc3", "dc1/pay-eu") == "pay-eu"


def test_a_topic_of_the_targets_own_with_the_name_of_the_source_is_another_one() -> None:
    names = named(rule("dc1", "dc2", "pay-.*"))
    assert names.stream("dc2", "pay-eu") == "pay-eu"
    assert names.topic("dc1", "pay-eu") is None


def test_the_first_rule_that_matches_wins_and_one_that_changes_nothing_keeps_the_others_away() -> None:
    both = [rule(a, b, "audit", "{topic}") for a, b in (("dc1", "dc2"), ("dc2", "dc1"))]
    names = named(*both, rule("dc1", "dc2", "pay-.*", "{from}_{topic}"), rule("dc1", "dc2"), rule("dc2", "dc1"))
    assert {names.stream(alias, "audit") for alias in ("dc1", "dc2")} == {"audit"}
    assert names.topic("dc2", str(names.stream("dc1", "pay-eu"))) == "dc1_pay-eu"
    assert names.topic("dc2", str(names.stream("dc1", "orders"))) == "orders-replica"
    assert names.stream("dc1", "orders-replica") == names.stream("dc2", "orders") == "dc2/orders"


def test_a_copy_of_a_copy_is_the_origins_and_one_that_came_back_is_none() -> None:
    names = named(
        rule("dc1", "dc2", name="{topic}.a"), rule("dc2", "dc3", name="{topic}.b"), rule("dc3", "dc1", name="{topic}.c")
    )
    assert names.stream("dc3", "orders.a.b") == "dc1/orders"
    assert names.stream("dc1", "orders.a.b.c") is None
    assert names.outside("dc1", names.inside("dc1", "orders.a.b.c")) == "orders.a.b.c"
    assert names.topic("dc3", "dc1/orders") == "orders.a.b"


PARTS = st.sampled_from(["a", "b.", "-r", "x_"])
RULES = st.builds(
    lambda ends, topics, prefix, suffix: rule(*ends, topics, f"{prefix}{{topic}}{suffix}"),
    st.permutations(ALIASES).map(lambda each: each[:2]),
    st.sampled_from([".*", "a.*", "orders", "[ab]+"]),
    PARTS | st.just(""),
    PARTS | st.just(""),
)
NAMES = st.lists(st.sampled_from(["a", "b", "b.", "-r", "x_", "orders"]), min_size=1, max_size=4).map("".join)


@given(st.lists(RULES, min_size=1, max_size=4), st.sampled_from(ALIASES), NAMES)
def test_streams_and_names_are_each_others_inverse(rules: list[dict[str, str]], cluster: str, topic: str) -> None:
    names = named(*rules)
    stream = names.stream(cluster, topic)
    assert names.outside(cluster, names.inside(cluster, topic)) == topic
    if stream is not None:
        assert names.topic(cluster, stream) == topic
        for other in ALIASES:
            fresh = named(*rules)
            if (name := fresh.topic(other, stream)) is not None:
                assert fresh.stream(other, name) == stream


@given(st.lists(RULES, min_size=1, max_size=4), st.sampled_from(ALIASES), NAMES)
def test_what_is_included_can_be_read_by_the_pattern_of_its_cluster(
    rules: list[dict[str, str]], cluster: str, topic: str
) -> None:
    names = naming(*rules)
    stream = names.stream(cluster, topic)
    if stream is not None:
        ways = [f"{before}{re.escape(names.origin_topic(stream))}{behind}" for before, behind in names.affixes(cluster)]
        assert any(re.fullmatch(way, topic) for way in ways)


@pytest.mark.parametrize(
    "rules",
    [
        [rule("dc1", "dc3"), rule("dc2", "dc3")],
        [rule("dc1", "dc3", "pay-.*", "all-{topic}"), rule("dc2", "dc3", "pay-[a-z]+", "all-{topic}")],
        [
            rule("dc1", "dc2", "orders", "{topic}-r"),
            rule("dc3", "dc2", "orders-r", "x{topic}"),
            rule("dc3", "dc2", "xx", "{topic}"),
            rule("dc3", "dc2", "orders", "{topic}-r"),
        ],
    ],
)
def test_rules_that_make_one_name_of_two_topics_are_found_out(rules: list[dict[str, str]]) -> None:
    assert any("cannot be reversed: " in text for _, text in irreversible(naming(*rules)))
    assert any(line.startswith("mirror.names[") for line in name_problems(rules))


def test_rules_whose_patterns_are_apart_are_taken_and_looked_at_again_when_topics_are_known() -> None:
    rules = [rule("dc1", "dc3", "pay-.*|odd"), rule("dc2", "dc3", "(?!pay-).*")]
    names = config(rules).names
    assert names.problems({"dc1": ["pay-in"], "dc2": ["orders"], "dc3": ["pay-in-replica"]}) == []
    (problem,) = names.problems({"dc3": ["odd-replica"]})
    assert "odd of dc1 or odd of dc2" in problem


@pytest.mark.parametrize(
    ("names", "path"),
    [
        ("mm3", "mirror.names"),
        ([], "mirror.names"),
        (7, "mirror.names"),
        (["x"], "mirror.names[0]"),
        ([rule("dc1", "dc9")], "mirror.names[0]"),
        ([rule("dc1", "dc1")], "mirror.names[0]"),
        ([rule("dc1", "dc2", "(")], "mirror.names[0].topics"),
        ([rule("dc1", "dc2", name="replica")], "mirror.names[0].name"),
        ([rule("dc1", "dc2", name="{topic}{topic}")], "mirror.names[0].name"),
        ([rule("dc1", "dc2", name="{topic}{partition}")], "mirror.names[0].name"),
        ([rule("dc1", "dc2", name="{topic} copy")], "mirror.names[0].name"),
        ([rule("dc1", "dc2", name="__{topic}")], "mirror.names[0].name"),
        ([{**rule("dc1", "dc2"), "topic": "x"}], "mirror.names[0].topic"),
        ([{"from": "dc1", "to": "dc2", "name": "{topic}"}], "mirror.names[0].topics"),
    ],
)
def test_what_is_no_way_to_name_copies_is_an_error_once(names: Any, path: str) -> None:
    assert [line.split(": ")[0] for line in name_problems(names)] == [path]


@pytest.mark.parametrize(
    ("aliases", "separator", "path"),
    [
        (["a", "a"], ".", "clusters.dc2.mirror_alias"),
        (["a", "a.b"], ".", "clusters.dc2.mirror_alias"),
        (["us", "us-east"], "-", "clusters.dc2.mirror_alias"),
        (["a", "dc 2"], ".", "clusters.dc2.mirror_alias"),
        (["__a", "b"], ".", "clusters.dc1.mirror_alias"),
        (["a", "_"], "_", "clusters.dc2.mirror_alias"),
        (["a", "b"], "/", "mirror.separator"),
        (["a", "b"], "", "mirror.separator"),
    ],
)
def test_aliases_that_a_name_does_not_show_are_errors(aliases: list[str], separator: str, path: str) -> None:
    known = {each: {**CLUSTERS[each], "mirror_alias": alias} for each, alias in zip(ALIASES, aliases, strict=False)}
    assert [line.split(": ")[0] for line in name_problems("mm2", known, separator=separator)] == [path]


def test_the_mirrors_aliases_and_the_separator_are_those_of_the_file() -> None:
    known = {**CLUSTERS, "dc1": {**CLUSTERS["dc1"], "mirror_alias": "us-east"}}
    names = config("mm2", known, separator="_").names
    assert names.stream("dc2", "us-east_orders") == names.stream("dc1", "orders") == "us-east_orders"
    assert config([rule("dc1", "dc2", name="{from}-{topic}")], known).names.topic("dc2", "dc1/orders") == (
        "us-east-orders"
    )


def test_include_matches_the_name_at_the_origin_and_takes_all_copies_along() -> None:
    chosen = config("mm2")
    streams = [chosen.names.inside("dc1", each) for each in ("orders", "dc2.orders", "dc3.dc2.pay-eu", "dc2.x", "x")]
    assert [chosen.is_topic_included(each) for each in streams] == [True, True, True, False, False]
    pattern = chosen.topic_pattern(["dc3.orders"], "dc1")
    found = ["orders", "dc2.orders", "dc2.dc3.pay-eu", "dc3.orders", "dc2.x", "dc1.orders", "xdc2.orders"]
    assert [each for each in found if re.fullmatch(pattern, each)] == ["orders", "dc2.orders", "dc2.dc3.pay-eu"]
    assert chosen.named_topics() == ["dc1.orders", "dc2.orders", "dc3.orders"]


def test_the_mirrors_own_topics_are_never_included() -> None:
    everything = config("mm2", include=[".*"])
    for topic in ("heartbeats", "dc2.heartbeats", "mm2-offset-syncs.dc2.internal", "dc2.checkpoints.internal"):
        assert not everything.is_topic_included(everything.names.inside("dc1", topic))


def test_the_shown_configuration_loads_as_the_same_configuration() -> None:
    chosen = config([rule("dc1", "dc2", "pay-.*")])
    again = parse_config(yaml.safe_load(yaml.safe_dump(chosen.redacted())), {})
    assert again == chosen
    assert again.names == chosen.names != config("same").names


# Names that a renamed copy has elsewhere: headers of such records name places in another log than the name does


def renamed(source: str, target: str, topics: str, name: str) -> RuleNames:
    return naming(rule(source, target, topics, name))


def test_a_renamed_copy_that_is_copied_on_under_its_new_name_is_no_stream() -> None:
    names = renamed("dc1", "dc2", "orders", "x-{topic}")
    assert names.stream("dc2", "x-orders") == names.stream("dc3", "orders") == "dc1/orders"
    assert names.stream("dc3", "x-orders") is None
    assert names.name("dc3", "dc1/orders") == "orders"


def test_it_is_not_taken_for_what_its_origin_calls_so_either() -> None:
    names = renamed("dc1", "dc2", "a.*", "a{topic}")
    assert names.stream("dc2", "aaorders") == "dc1/aorders"
    assert names.stream("dc3", "aaorders") is None
    assert names.stream("dc3", "aorders") == "dc1/aorders"
    assert renamed("dc1", "dc2", "a.*", "b{topic}").stream("dc3", "aaorders") == "dc1/aaorders"


def test_a_topic_whose_name_is_a_copy_of_another_one_of_its_cluster_is_a_problem() -> None:
    (problem,) = MirroredNames(renamed("dc1", "dc2", "orders", "x-{topic}")).problems({"dc1": ["orders", "x-orders"]})
    assert "x-orders keeps its name at dc2" in problem


def test_where_headers_tell_them_apart_it_is_none() -> None:
    names = MirroredNames(renamed("dc1", "dc2", "orders", "x-{topic}"))
    assert not names.problems({"dc3": ["x-orders"], "dc1": ["orders"], "dc2": ["x-orders", "orders"]})
