"""What no test of the pure core notices is in a file, with a reason for each change; it names code that is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from mutants.survivors import Change, block, read_survivors

REPO = Path(__file__).resolve().parents[3]
TEXT = """
# of what
sync/plan.py Plan.without
    a «<» b -> «<=»
    a«, 0» -> «»
    because: never equal

sync/plan.py rules
    «a» -> «None»
    because: only a speed-up
"""


def test_a_reason_is_that_of_the_changes_above_it() -> None:
    found = read_survivors(TEXT)
    assert list(found.values()) == ["never equal", "never equal", "only a speed-up"]
    assert list(found)[2] == Change("sync/plan.py", "rules", "«a» -> «None»")
    assert [line for line in TEXT.splitlines() if "->" in line or line.startswith("sync")] == block(found).splitlines()


@pytest.mark.parametrize("without", ["    because: never equal\n", "    because: only a speed-up\n", "only a speed-up"])
def test_a_change_without_a_reason_is_refused(without: str) -> None:
    with pytest.raises(ValueError, match="without a reason"):
        read_survivors(TEXT.replace(without, ""))


def test_what_is_named_is_in_the_code() -> None:
    found = read_survivors((REPO / "tests" / "mutants" / "survivors.txt").read_text(encoding="utf-8"))
    for change in found:
        text = (REPO / "lib" / "offset_sync" / change.file).read_text(encoding="utf-8")
        assert f"def {change.function.rpartition('.')[2]}(" in text, change
