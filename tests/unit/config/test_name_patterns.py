"""Which topics are meant, in Python and inside Spark alike."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from builders.configurations import parsed
from offset_sync.config import Config

PATTERNS = st.sampled_from(["a", "b", "a.*", ".*b", "a|b", "[ab]+", "_.*", "ab?", "(a)(b)", "a$", ".*", "_?b{1,2}"])
OVERRIDES = st.fixed_dictionaries(
    {
        "topics": st.lists(PATTERNS, min_size=1, max_size=2),
        "strategy": st.sampled_from(["exact", "header", "timestamp", "off"]),
    }
)
TOPICS = st.fixed_dictionaries(
    {
        "include": st.lists(PATTERNS, min_size=1, max_size=3),
        "exclude": st.lists(PATTERNS, max_size=2),
        "strategy": st.sampled_from(["exact", "off"]),
        "overrides": st.lists(OVERRIDES, max_size=4),
    }
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
