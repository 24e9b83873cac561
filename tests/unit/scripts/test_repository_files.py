"""What people expect of a repository; the client with Kerberos; reasons for changes that no test notices."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

import kerberos_client
import offset_sync
from mutants.survivors import Change, block, read_survivors

REPO = Path(__file__).resolve().parents[3]


def text_of(name: str) -> str:
    return (REPO / name).read_text(encoding="utf-8")


def test_hooks_run_what_make_check_runs() -> None:
    recipe = re.search(r"^check:.*\n((?:\t.*\n)+)", text_of("Makefile"), re.MULTILINE)
    assert recipe is not None
    checks = re.findall(r"^\t@\$\(BIN\)/(.*)$", recipe[1], re.MULTILINE)
    (local,) = yaml.safe_load(text_of(".pre-commit-config.yaml"))["repos"]
    assert local["repo"] == "local"
    assert [hook["entry"] for hook in local["hooks"]] == [f".venv/bin/{check}" for check in checks]
    # A version in the file would be a second place for what setup.cfg pins.
    assert {hook["language"] for hook in local["hooks"]} == {"system"}


def test_the_changelog_has_the_version_that_runs_below_what_is_to_come() -> None:
    versions = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d{2}-\d{2}))?$", text_of("CHANGELOG.md"), re.MULTILINE)
    assert versions[0] == ("Unreleased", "")
    assert versions[1][0] == offset_sync.__version__
    assert all(date for _, date in versions[1:])
    kinds = set(re.findall(r"^### (.+)$", text_of("CHANGELOG.md"), re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_an_archive_with_another_hash_is_not_unpacked(tmp_path: Path) -> None:
    packed = tmp_path / "sources.tgz"
    packed.write_bytes(b"abc")
    known = "3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw=="
    kerberos_client.check_hash(packed, known)
    packed.write_bytes(b"abcd")
    with pytest.raises(SystemExit, match=r"^Kerberos client: sources\.tgz has SHA-512 .*nothing was built$"):
        kerberos_client.check_hash(packed, known)


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
