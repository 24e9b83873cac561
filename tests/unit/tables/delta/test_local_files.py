"""What is read and written on this machine's disk without the JVM is what Hadoop would read and write there."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from offset_sync.tables import files as whole_files
from offset_sync.tables.delta import filesystem, local_files
from offset_sync.tables.delta.filesystem import HadoopFiles
from offset_sync.tables.delta.local_files import LocalFiles
from offset_sync.tables.files import Files, read_in_pieces


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> HadoopFiles:
    """Files without a JVM: who asks for one fails."""
    monkeypatch.setattr(filesystem, "hadoop_configuration", lambda _spark: None)
    found = HadoopFiles(None)  # type: ignore[arg-type]
    found._default_scheme = "file"
    return found


@pytest.fixture(params=["local", "hadoop"])
def either(files: HadoopFiles, request: pytest.FixtureRequest) -> Files:
    """Files without a JVM, and those of a JVM, which is not asked either."""
    return LocalFiles() if request.param == "local" else files


@pytest.mark.parametrize("form", ["{}", "file:{}", "file://{}", "file://localhost{}"])
def test_a_path_of_this_disk_may_be_written_in_four_ways(either: Files, tmp_path: Path, form: str) -> None:
    folder = f"{tmp_path}/with: a colon"
    either.write_text(form.format(f"{folder}/a.json"), "ä\n")
    assert either.local(form.format(folder)) == Path(folder)
    assert either.read_text(form.format(f"{folder}/a.json")) == "ä\n"
    assert either.names(form.format(folder)) == ["a.json"]


@pytest.mark.parametrize("path", ["hdfs://here/a", "s3a://bucket/a", "hdfs:/a"])
def test_what_lies_elsewhere_is_not_taken_for_local(files: HadoopFiles, path: str) -> None:
    assert files.local(path) is None
    files._default_scheme = "hdfs"
    assert files.local("/a") is None


def test_a_file_takes_its_checksum_along(either: Files, tmp_path: Path) -> None:
    """Hadoop would refuse what does not fit the checksum that it has noted."""
    path, noted = tmp_path / "5", tmp_path / ".5.crc"
    for change in (lambda: either.replace_text(str(path), "new"), lambda: either.delete(str(path))):
        path.write_text("old")
        noted.write_text("of the old one")
        change()
        assert not noted.exists()
    assert not path.exists()
    either.delete(str(path))  # it is gone


def test_a_file_is_stored_before_it_has_its_name_and_its_name_before_the_write_returns(
    files: HadoopFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, stored = tmp_path / "a.json", list[tuple[bool, bool]]()
    monkeypatch.setattr(local_files, "sync", lambda each: stored.append((each == tmp_path, path.exists())))
    files.write_text(str(path), "whole")
    assert stored == [(False, False), (True, True)]


def test_a_write_that_fails_leaves_what_was_there(
    either: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.json"
    either.write_text(str(path), "whole")

    def full(_path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(local_files, "sync", full)
    with pytest.raises(OSError, match="No space left"):
        either.replace_text(str(path), "another")
    assert path.read_text() == "whole"
    assert [each.name for each in tmp_path.iterdir()] == ["a.json"]


def test_scraps_are_not_listed_and_folders_are_by_themselves(files: HadoopFiles, tmp_path: Path) -> None:
    for name in ("1", ".1.crc", ".2.0a.tmp", ".hidden"):
        (tmp_path / name).write_text("x")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "3").write_text("x")
    assert files.names(str(tmp_path)) == [".hidden", "1"]
    assert files.folders(str(tmp_path)) == ["below"]
    assert sorted(files.names_below(str(tmp_path))) == [".2.0a.tmp", ".hidden", "1", "3"]
    assert files.count(str(tmp_path)) == 4
    assert files.written_ms(str(tmp_path)).keys() == {".hidden", "1"}
    assert files.names(str(tmp_path / "nowhere")) == []


def test_a_folder_is_deleted_with_all_in_it_and_one_that_is_not_there_is_no_error(
    files: HadoopFiles, tmp_path: Path
) -> None:
    files.write_text(f"{tmp_path}/a/b/c", "x")
    assert [files.delete_folder(f"{tmp_path}/a") for _ in range(2)] == [True, False]
    assert list(tmp_path.iterdir()) == []


def test_a_parquet_file_is_named_as_hadoop_names_it(either: Files, tmp_path: Path) -> None:
    rows = pa.table({"a": [1, 2], "b": ["x", "y"]})
    (tmp_path / "below").mkdir()
    name, size = either.write_parquet(f"{tmp_path}/below/../rows.parquet", rows)
    assert (name, size) == (f"file:{tmp_path}/rows.parquet", (tmp_path / "rows.parquet").stat().st_size)
    assert either.read_parquet(name, ["b"]) == rows.select(["b"])
    with pytest.raises(FileNotFoundError):
        either.read_parquet(f"{tmp_path}/no.parquet", ["b"])
    with pytest.raises(FileNotFoundError), either.open_parquet(f"{tmp_path}/no.parquet"):
        pass


def test_stretches_of_a_file_whose_values_are_all_smaller_are_left_out(
    either: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_files, "BATCH_ROWS", 2)
    path = f"{tmp_path}/rows.parquet"
    pq.write_table(pa.table({"a": [1, 2, 3, 4, 5, 6], "b": list("uvwxyz")}), path, row_group_size=2)

    def found(*names: str, least: int) -> list[dict[str, object]]:
        pieces = read_in_pieces(either, [path], names, ("a", least))
        return [row for piece in pieces for row in piece.to_pylist()]

    assert [row["b"] for row in found("b", "later", least=4)] == ["w", "x", "y", "z"]
    assert found("a", least=7) == []
    assert len(list(read_in_pieces(either, [path], ["a"], ("none", 9)))) == 3


def test_texts_come_by_their_dictionaries_where_that_is_wanted(either: Files, tmp_path: Path) -> None:
    rows = pa.table({"a": [1, 2, 3], "b": ["x", "y", "x"]})
    pq.write_table(rows, path := f"{tmp_path}/rows.parquet")
    (encoded,) = read_in_pieces(either, [path], ["a", "b"], encoded=True)
    assert pa.types.is_dictionary(encoded["b"].type)
    assert encoded.cast(rows.schema) == rows
    (plain,) = read_in_pieces(either, [path], ["a", "b"])
    assert plain == rows
