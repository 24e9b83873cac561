"""Lists that the interceptor ignores: of another cluster, of a group that was set back, of another topic."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from consumer.read_list_texts import CLUSTER
from consumer.skip_read_cases import ALL, PLACE, RANGES, START, UNREAD, SkipReadCases

pytestmark = pytest.mark.xdist_group("consumer")
VOID = 2**63 - 1


def use(start: int, first: int) -> tuple[int, str]:
    return start, f"offset-sync/1 from={first} by app-1"


@pytest.mark.parametrize("ids", [[], [None], [CLUSTER, "another"], [CLUSTER, None, CLUSTER]])
def test_a_consumer_that_does_not_know_its_cluster_or_knows_two_gets_everything(
    cases: SkipReadCases, ids: list[str | None]
) -> None:
    cases.open(is_told=False)
    cases.give(START, RANGES, own=START)
    for each in ids:
        cases.tell(each)
    assert cases.poll(*ALL) == ALL
    assert cases.waits == []
    cases.close()
    assert cases.marks == [], "a mark says that records are skipped"


def test_a_list_of_another_cluster_is_ignored(listed: SkipReadCases) -> None:
    listed.give(START, RANGES, own=START, cluster_id="another")
    assert listed.poll(*ALL) == ALL
    assert listed.uses == []


def test_a_consumer_whose_cluster_becomes_another_one_gets_everything_from_then_on(listed: SkipReadCases) -> None:
    listed.tell(CLUSTER)
    assert listed.poll(100, 101, 102) == [100, 101]
    listed.tell("another")
    assert listed.poll(103) == [103]
    assert listed.metrics["lists"] == 0
    listed.tell(CLUSTER)
    assert listed.poll(106) == [106], "what is buffered may still be of the other one"


@pytest.mark.parametrize(("own", "offsets"), [(None, ALL), (99, ALL), (100, [99, *ALL]), (111, [5, *ALL])])
def test_a_list_of_a_group_that_was_set_back_below_it_is_void_and_stays_so(
    listed: SkipReadCases, own: int | None, offsets: list[int]
) -> None:
    listed.give(START, RANGES, own=own)
    assert listed.poll(*offsets) == offsets
    assert listed.uses == [{PLACE: use(START, VOID)}]
    listed.give(START, [*RANGES, (115, 120)], own=130)
    assert listed.poll(*ALL) == ALL, "sought back, and the list from 100 stays void"
    listed.set(own={PLACE: 101})
    for client in ("a\nname", "n" * 300, "app-1"):
        listed.restart(client_id=client)
        assert listed.poll(*ALL[1:]) == ALL[1:]
        assert listed.uses == []
    listed.give(101, RANGES, own=101)
    assert listed.poll(*ALL[1:]) == UNREAD[1:], "this is another list"
    assert listed.uses == [{PLACE: use(101, 101)}]


def test_a_group_that_began_below_its_list_while_nothing_could_be_asked_gets_everything(listed: SkipReadCases) -> None:
    listed.set(failure="timeout", own={PLACE: 50})
    assert listed.poll(50, 99, 100) == [50, 99, 100]
    assert listed.poll(101, 102) == [101, 102], "in the pause"
    listed.set(failure="", own={PLACE: 103})
    listed.later(10_000)
    assert listed.poll(*ALL[3:]) == ALL[3:]
    assert listed.uses == [{PLACE: use(START, VOID)}]
    listed.give(103, [(104, 106)], own=103)
    assert listed.poll(103, 104, 106) == [103, 106], "this is another list, and nothing was read below it"


def test_a_list_is_used_only_after_that_was_written_down_which_is_done_once(listed: SkipReadCases) -> None:
    listed.set(failure="use refused")
    assert listed.poll(100, 101, 102) == [100, 101, 102]
    listed.set(failure="")
    listed.later(10_000)
    assert listed.poll(103, 104) == [104]
    assert listed.uses == [{PLACE: use(START, START)}] * 2
    listed.later(10_001)
    assert listed.poll(105, 106) == [105]
    assert len(listed.uses) == 2
    listed.restart()
    assert listed.poll(107, 110) == [110]
    assert listed.uses == []


@pytest.mark.parametrize(
    ("used", "delivered"),
    [
        (use(START, START), UNREAD),
        (use(START, 103), [100, 101, 102, 104, 105, 110, 111]),
        (use(START, VOID), ALL),
        (use(99, VOID), UNREAD),
        ((START, ""), ALL),
        ((START, "offset-sync/2 from=100 by app-1"), ALL),
        ((START, "offset-sync/1 from=-1 by app-1"), ALL),
    ],
)
def test_what_is_written_down_of_this_list_holds_and_what_cannot_be_read_makes_it_void(
    listed: SkipReadCases, used: tuple[int, str], delivered: list[int]
) -> None:
    listed.set(used={PLACE: used})
    assert listed.poll(*ALL) == delivered


def test_who_starts_below_the_own_commit_gets_everything_up_to_it(listed: SkipReadCases) -> None:
    listed.set(own={PLACE: 107})
    listed.seek()
    assert listed.poll(*ALL) == [*range(100, 107), 110, 111], "sought to the list's start, as to the log's beginning"
    assert listed.uses == [{PLACE: use(START, 107)}]


@pytest.mark.parametrize(
    ("settings", "own", "next_offset", "is_of_poll"),
    [
        ({"group_protocol": "consumer"}, 103, 103, True),
        ({"group_protocol": "CONSUMER", "enable_auto_commit": "true"}, 101, 103, True),
        ({"group_protocol": "consumer"}, 104, 103, False),
        ({"group_protocol": "consumer", "enable_auto_commit": "false"}, 103, 103, False),
        ({}, 103, 103, False),
    ],
)
def test_commits_of_the_client_for_the_poll_itself_set_no_group_back(
    cases_by_client: Callable[[str], SkipReadCases],
    settings: dict[str, str],
    own: int,
    next_offset: int,
    is_of_poll: bool,
) -> None:
    cases = cases_by_client("broker")
    cases.open(**settings)
    cases.give(START, RANGES, own=own)
    assert cases.poll(100, 101, 102, next_offset=next_offset) == ([100, 101] if is_of_poll else [100, 101, 102])
    assert cases.uses == [{PLACE: use(START, START if is_of_poll else own)}]


def test_who_seeks_below_where_it_started_gets_everything_up_to_there(listed: SkipReadCases) -> None:
    listed.set(own={PLACE: 107})
    assert listed.poll(107, 108) == []
    assert listed.uses == [{PLACE: use(START, START)}]
    listed.seek()
    assert listed.poll(*ALL) == [*range(100, 107), 110, 111]
    assert listed.uses[1:] == [{PLACE: use(START, 107)}]
    assert listed.poll(*ALL) == [*range(100, 107), 110, 111]
    assert len(listed.uses) == 2
