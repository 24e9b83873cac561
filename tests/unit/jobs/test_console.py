"""What the console answers before a job starts: exit codes, and where the words go."""

from __future__ import annotations

import sys

import pytest

from offset_sync.jobs.console import main


@pytest.mark.parametrize(
    ("words", "code", "out", "err"),
    [
        (["--version"], 0, "offset-sync ", ""),
        (["--help"], 0, "usage: offset-sync ", ""),
        ([], 2, "", "usage: offset-sync "),
        (["synk"], 2, "", "invalid choice: 'synk'"),
        (["cutover", "--help"], 0, "usage: offset-sync cutover ", ""),
        (["cutover", "plan", "--conf", "/nowhere.yaml", "--to", "dc2"], 2, "", "/nowhere.yaml"),
    ],
    ids=["version", "help", "nothing", "no command", "help of a command", "no configuration"],
)
def test_what_is_no_job_is_answered_at_once(
    words: list[str], code: int, out: str, err: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        sys.exit(main(words))
    assert ended.value.code == code
    said = capsys.readouterr()
    assert said.out.startswith(out)
    assert err in said.err
