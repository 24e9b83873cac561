"""What a topic is called where: streams and names are each other's inverse, whatever aliases look like."""

from __future__ import annotations

import pickle
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offset_sync.config.prefix_names import PrefixNames, ambiguous_aliases
from offset_sync.config.stream_names import SAME_NAMES, MirroredNames

ALIASES = st.lists(
    st.one_of(
        st.sampled_from(["dc", "dc1", "d", "a.b", "a", "pay", "pay.eu", "-", "1", "x_", "a-"]),
        st.text("ab.-_1", min_size=1),
    ),
    min_size=2,
    max_size=4,
    unique=True,
)
SEPARATORS = st.sampled_from([".", "-", "_", "..", ".from.", "1"])


@st.composite
def namings(draw: st.DrawFn) -> PrefixNames:
    aliases, separator = draw(ALIASES), draw(SEPARATORS)
    named = {f"c{number}": alias for number, alias in enumerate(aliases)}
    is_internal = any(f"{alias}{separator}".startswith("__") for alias in aliases)  # which the configuration refuses
    if is_internal or ambiguous_aliases(named, separator):
        named = {f"c{number}": f"{number}{alias}" for number, alias in enumerate(aliases)}
    return PrefixNames(named, separator)


@st.composite
def topics(draw: st.DrawFn, naming: PrefixNames) -> str:
    parts = st.sampled_from([*naming.aliases.values()]) | st.sampled_from(["orders", "pay", "heartbeats", "x"])
    return naming.separator.join(draw(st.lists(parts, min_size=1, max_size=4)))


def mm2(*aliases: str, separator: str = ".", **renamed: str) -> MirroredNames:
    return MirroredNames(PrefixNames({each: renamed.get(each, each) for each in aliases}, separator))


def test_with_the_same_names_a_topic_is_its_own_stream() -> None:
    assert (SAME_NAMES.stream("dc1", "orders"), SAME_NAMES.topic("dc2", "orders")) == ("orders", "orders")
    assert (SAME_NAMES.home("orders"), SAME_NAMES.origin_topic("dc1.orders")) == (None, "dc1.orders")


def test_a_group_that_reads_both_of_dc1_reads_both_of_dc2_under_other_names() -> None:
    names = mm2("dc1", "dc2")
    streams = [names.stream("dc1", each) for each in ("orders", "dc2.orders")]
    assert streams == ["dc1.orders", "dc2.orders"]
    assert [names.topic("dc2", str(each)) for each in streams] == ["dc1.orders", "orders"]
    assert [names.home(str(each)) for each in streams] == ["dc1", "dc2"]
    assert {names.origin_topic(str(each)) for each in streams} == {"orders"}


def test_of_two_hops_the_innermost_name_is_the_origins() -> None:
    names = mm2("dc1", "dc2", "dc3")
    assert names.stream("dc3", "dc2.dc1.orders") == "dc1.orders"
    assert names.topic("dc3", "dc1.orders") == "dc2.dc1.orders"
    assert names.topic("dc2", "dc1.orders") == "dc1.orders"


@pytest.mark.parametrize(
    ("cluster", "topic", "stream"),
    [
        ("dc1", "pay.eu", "dc1.pay.eu"),
        ("dc2", "pay.eu", "dc2.pay.eu"),
        ("dc2", "dc1.pay.eu", "dc1.pay.eu"),
        ("dc2", "dc10.orders", "dc2.dc10.orders"),
        ("dc1", "dc1.orders", "dc1.dc1.orders"),
        ("dc2", "dc1.dc1.orders", "dc1.dc1.orders"),
        ("dc2", "dc1.", "dc2.dc1."),
        ("dc1", "dc2.dc1.orders", None),  # what was here already
        ("dc1", "heartbeats", None),
        ("dc1", "dc2.heartbeats", None),
        ("dc1", "dc2.checkpoints.internal", None),
        ("dc1", "mm2-offset-syncs.dc2.internal", None),
        ("dc1", "__consumer_offsets", None),
        ("dc9", "orders", None),
    ],
)
def test_aliases_that_are_known_and_no_others_are_read_off_a_name(cluster: str, topic: str, stream: str | None) -> None:
    names = mm2("dc1", "dc2")
    assert names.stream(cluster, topic) == stream
    assert names.outside(cluster, names.inside(cluster, topic)) == topic


@pytest.mark.parametrize("separator", [".", "-", "_", "_of_"])
def test_the_separator_and_the_mirrors_own_aliases_count(separator: str) -> None:
    names = mm2("dc1", "dc2", separator=separator, dc1="us-east")
    assert names.stream("dc2", f"us-east{separator}orders") == f"us-east{separator}orders"
    assert names.topic("dc1", f"us-east{separator}orders") == "orders"
    assert names.stream("dc2", "dc1.orders") == f"dc2{separator}dc1.orders"


def test_a_second_name_of_a_stream_is_none_and_the_problem_names_both() -> None:
    names = mm2("dc1", "dc2", "dc3")
    assert names.stream("dc3", "dc1.orders") == "dc1.orders"
    assert names.stream("dc3", "dc2.dc1.orders") is None
    assert names.outside("dc3", names.inside("dc3", "dc2.dc1.orders")) == "dc2.dc1.orders"
    (problem,) = names.problems({"dc3": ["dc2.dc1.orders", "dc1.orders"]})
    assert "clusters.dc3: dc1.orders and dc2.dc1.orders are two names" in problem


def test_a_name_that_is_too_long_for_kafka_is_none() -> None:
    names = mm2("dc1", "dc2")
    stream = names.stream("dc1", "x" * 246)
    assert stream is not None
    assert names.topic("dc1", stream) == "x" * 246
    assert names.topic("dc2", stream) is None


@given(st.data())
def test_streams_and_names_are_each_others_inverse(data: st.DataObject) -> None:
    naming = data.draw(namings())
    cluster = data.draw(st.sampled_from(sorted(naming.aliases)))
    topic = data.draw(topics(naming))
    names = MirroredNames(naming)
    stream = names.stream(cluster, topic)
    assert names.outside(cluster, names.inside(cluster, topic)) == topic
    if stream is None:
        return
    assert names.topic(cluster, stream) == topic
    home, origin = names.home(stream), names.origin_topic(stream)
    assert home is not None
    assert origin is not None
    assert MirroredNames(naming).topic(home, stream) == origin
    for other in naming.aliases:
        fresh = MirroredNames(naming)
        name = fresh.topic(other, stream)
        assert name is not None
        assert fresh.stream(other, name) == stream
        if other != cluster:
            # One hop more, as MirrorMaker makes it, is the same stream; but back at its home it is none.
            copy = f"{naming.aliases[cluster]}{naming.separator}{topic}"
            assert MirroredNames(naming).stream(other, copy) == (None if other == home else stream)


@given(st.data())
def test_no_two_origins_have_one_stream(data: st.DataObject) -> None:
    naming = data.draw(namings())
    places = [(c, data.draw(topics(naming))) for c in naming.aliases for _ in range(2)]
    names = MirroredNames(naming)
    streams = [stream for place in places if (stream := names.stream(*place)) is not None]
    origins = {(names.home(each), names.origin_topic(each)): each for each in streams}
    assert len(set(origins.values())) == len(origins)


@given(st.data())
def test_what_is_included_can_be_read_by_the_pattern_of_its_cluster(data: st.DataObject) -> None:
    naming = data.draw(namings())
    cluster = data.draw(st.sampled_from(sorted(naming.aliases)))
    topic = data.draw(topics(naming))
    ((prefix, suffix),) = naming.affixes(cluster)
    stream = naming.stream(cluster, topic)
    origin = None if stream is None else naming.origin_topic(stream)
    if origin is not None:
        assert re.fullmatch(f"{prefix}{re.escape(origin)}{suffix}", topic)


def test_names_go_to_executors_with_what_was_learned() -> None:
    names = mm2("dc1", "dc2", "dc3")
    names.stream("dc3", "dc2.dc1.orders")
    copy = pickle.loads(pickle.dumps(names))
    assert copy == names
    assert copy.topic("dc3", "dc1.orders") == "dc2.dc1.orders"
