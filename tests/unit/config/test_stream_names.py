"""What a topic is called where: streams and names are each other's inverse, whatever aliases look like."""

from __future__ import annotations

import re
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.configurations import parsed
from offset_sync.config import Config
from offset_sync.config.prefix_names import PrefixNames

ALIAS = st.sampled_from(["dc", "dc1", "d", "a.b", "a", "pay", "pay.eu", "-", "1", "x_", "a-"])
ALIASES = st.lists(ALIAS | st.text("ab.-_1", min_size=1), min_size=2, max_size=4, unique=True)
SEPARATORS = st.sampled_from([".", "-", "_", "..", ".from.", "1"])


@st.composite
def namings(draw: st.DrawFn) -> PrefixNames:
    aliases, separator = draw(ALIASES), draw(SEPARATORS)
    named = {f"c{number}": alias for number, alias in enumerate(aliases)}
    prefixes = [f"{alias}{separator}" for alias in aliases]
    is_ambiguous = any(second.startswith(first) for first, second in permutations(prefixes, 2))
    if is_ambiguous or any(each.startswith("__") for each in prefixes):  # which the configuration refuses
        named = {f"c{number}": f"{number}{alias}" for number, alias in enumerate(aliases)}
    return PrefixNames(named, separator)


@st.composite
def topics(draw: st.DrawFn, naming: PrefixNames) -> str:
    parts = st.sampled_from([*naming.aliases.values()]) | st.sampled_from(["orders", "pay", "heartbeats", "x"])
    return naming.separator.join(draw(st.lists(parts, min_size=1, max_size=4)))


def mm2(*aliases: str) -> PrefixNames:
    return PrefixNames({each: each for each in aliases}, ".")


def fresh(naming: PrefixNames) -> PrefixNames:
    """Return the same without what was learned."""
    return PrefixNames(naming.aliases, naming.separator)


@pytest.mark.parametrize(
    ("cluster", "topic", "stream"),
    [
        ("dc1", "pay.eu", "dc1.pay.eu"),
        ("dc2", "dc1.pay.eu", "dc1.pay.eu"),
        ("dc1", "dc1.orders", "dc1.dc1.orders"),
        ("dc1", "dc2.dc1.orders", None),  # what was here already
        ("dc1", "heartbeats", None),
        ("dc1", "mm2-offset-syncs.dc2.internal", None),
        ("dc9", "orders", None),
        ("dc3", "dc2.dc1.orders", None),  # a second name of a stream
    ],
)
def test_aliases_that_are_known_and_no_others_are_read_off_a_name(cluster: str, topic: str, stream: str | None) -> None:
    names = mm2("dc1", "dc2", "dc3")
    assert names.stream("dc3", "dc1.orders") == "dc1.orders"
    assert names.stream(cluster, topic) == stream
    assert names.outside(cluster, names.inside(cluster, topic)) == topic


@given(st.data())
def test_streams_and_names_are_each_others_inverse(data: st.DataObject) -> None:
    names = data.draw(namings())
    cluster = data.draw(st.sampled_from(sorted(names.aliases)))
    topic = data.draw(topics(names))
    stream = names.stream(cluster, topic)
    assert names.outside(cluster, names.inside(cluster, topic)) == topic
    if stream is None:
        assert {names.topic(each, names.inside(cluster, topic)) for each in names.aliases} == {None}
        return
    assert names.topic(cluster, stream) == topic
    assert re.fullmatch(f"{names.prefix_pattern(cluster)}{re.escape(names.origin_topic(stream) or '')}", topic)
    home, origin = names.home(stream), names.origin_topic(stream)
    assert home is not None
    assert origin is not None
    assert fresh(names).topic(home, stream) == origin
    for other in names.aliases:
        unlearned = fresh(names)
        name = unlearned.topic(other, stream)
        assert name is not None
        assert unlearned.stream(other, name) == stream
        if other != cluster:
            # One hop more, as MirrorMaker makes it, is the same stream; but back at its home it is none.
            copy = f"{names.aliases[cluster]}{names.separator}{topic}"
            assert fresh(names).stream(other, copy) == (None if other == home else stream)


PATTERNS = st.sampled_from(["a", "b", "a.*", ".*b", "a|b", "[ab]+", "_.*", "ab?", "(a)(b)", "a$", ".*", "_?b{1,2}"])
STRATEGIES = st.sampled_from(["exact", "header", "timestamp", "off"])
OVERRIDES = st.fixed_dictionaries({"topics": st.lists(PATTERNS, min_size=1, max_size=2), "strategy": STRATEGIES})
CHOSEN = {"include": st.lists(PATTERNS, min_size=1, max_size=3), "exclude": st.lists(PATTERNS, max_size=2)}
TOPICS = st.fixed_dictionaries(
    {**CHOSEN, "strategy": st.sampled_from(["exact", "off"]), "overrides": st.lists(OVERRIDES, max_size=4)}
)


def config(topics: dict[str, Any]) -> Config:
    return parsed(topics={"include": [".*"], **topics})


def test_topics_named_in_full_are_known_without_asking_a_cluster() -> None:
    include = ["orders", "pay-.*", "a|b", r"v\.1", "v.2", "orders", "tmp-1", "quiet", "[x]"]
    named = config({"include": include, "exclude": ["tmp-.*"], "overrides": [{"topics": ["quiet"], "strategy": "off"}]})
    assert named.named_topics() == ["orders", "v.1", "v.2"]


@given(TOPICS, st.text("ab_", min_size=1, max_size=4))
def test_the_pattern_for_spark_matches_exactly_the_included_topics(topics: dict[str, Any], topic: str) -> None:
    chosen = config(topics)
    assert (re.fullmatch(chosen.topic_pattern(), topic) is not None) == chosen.is_topic_included(topic)
    assert (re.search(chosen.topic_pattern(), topic) is not None) == chosen.is_topic_included(topic)


def test_internal_topics_are_never_included() -> None:
    everything = config({"include": [".*", "__mine"]})
    assert not everything.is_topic_included("__mine")
    assert everything.strategy_of("__mine") == "off"
    assert not re.fullmatch(everything.topic_pattern(), "__mine")
