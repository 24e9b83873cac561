"""Names that a renamed copy has elsewhere: headers of such records name places in another log than the name does."""

from __future__ import annotations

from offset_sync.config.mirror import NameRule
from offset_sync.config.rule_names import RuleNames
from offset_sync.config.stream_names import MirroredNames

ALIASES = ("dc1", "dc2", "dc3")


def naming(source: str, target: str, topics: str, name: str) -> RuleNames:
    rule = NameRule.model_validate({"from": source, "to": target, "topics": topics, "name": name})
    return RuleNames.of([rule], {each: each for each in ALIASES})


def test_a_renamed_copy_that_is_copied_on_under_its_new_name_is_no_stream() -> None:
    names = naming("dc1", "dc2", "orders", "x-{topic}")
    assert names.stream("dc2", "x-orders") == names.stream("dc3", "orders") == "dc1/orders"
    assert names.stream("dc3", "x-orders") is None
    assert names.name("dc3", "dc1/orders") == "orders"


def test_it_is_not_taken_for_what_its_origin_calls_so_either() -> None:
    names = naming("dc1", "dc2", "a.*", "a{topic}")
    assert names.stream("dc2", "aaorders") == "dc1/aorders"
    assert names.stream("dc3", "aaorders") is None
    assert names.stream("dc3", "aorders") == "dc1/aorders"
    assert naming("dc1", "dc2", "a.*", "b{topic}").stream("dc3", "aaorders") == "dc1/aaorders"


def test_a_topic_whose_name_is_a_copy_of_another_one_of_its_cluster_is_a_problem() -> None:
    (problem,) = MirroredNames(naming("dc1", "dc2", "orders", "x-{topic}")).problems({"dc1": ["orders", "x-orders"]})
    assert "x-orders keeps its name at dc2" in problem


def test_where_headers_tell_them_apart_it_is_none() -> None:
    names = MirroredNames(naming("dc1", "dc2", "orders", "x-{topic}"))
    assert not names.problems({"dc3": ["x-orders"], "dc1": ["orders"], "dc2": ["x-orders", "orders"]})
