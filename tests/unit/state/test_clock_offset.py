"""How far two clocks may differ, as far as what one has written and the other reads can tell."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from generators.hypothesis_strategies import law
from offset_sync.state.cluster_clock import ClockOffset


@law(200)
@given(
    st.integers(-(10**6), 10**6),
    st.lists(st.tuples(st.integers(0, 5_000), st.integers(0, 10_000)), min_size=2, max_size=30),
)
def test_it_is_never_said_to_be_less_than_it_is(ahead_ms: int, batches: list[tuple[int, int]]) -> None:
    clock, writer_ms = ClockOffset(), 10**12
    for pause_ms, latency_ms in batches:
        writer_ms += pause_ms
        clock.observe(writer_ms, writer_ms + latency_ms + ahead_ms)
        writer_ms += latency_ms
    assert clock.at_most() >= ahead_ms
