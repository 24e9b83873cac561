"""Print how large the code is: at commit c4b69b9, now, the most that it may be, and the goal. Standard library only.

The exit code is 1 where a figure is above its limit in pyproject.toml, ``[tool.size]``, or a Python file has more than
400 lines. A limit follows the code down and is never raised. The goals are for the work under way.

All counts are of the Python files that ``git ls-files`` names, as they are in the working tree:

- Tokens of code are those of ``tokenize`` without comments, docstrings, import statements, newlines and indentation:
  packing lines gains nothing. Every expression statement that is a plain string counts as a docstring, which
  includes the ones below attributes. An f-string counts as one token on every Python.
- A file reaches another one by any import statement in it: at the top, inside a function or under ``TYPE_CHECKING``. A
  package's ``__init__.py`` is reached where an import takes a name from it, not where an import passes through it to a
  module below. The file itself is included. Imports by a string are invisible here.

Two rows of the goals have no simple count and are left out: the files that one commit passes, which are listed in
docs/design/one-commit.md, and the libraries that write Delta. The same goes for the class archive of Spark.
"""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
LIB, CONTENTS = "lib/offset_sync", "lib/offset_sync_contents"
SYNC_BATCH, SYNC_OFFSETS = f"{LIB}/jobs/sync_batch.py", f"{LIB}/jobs/sync_offsets.py"
LONGEST_FILE = 400
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
_LAYOUT = frozenset(
    {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
)
# Python 3.12 and newer split an f-string into tokens of its parts; 3.11 does not know these names.
_NUMBERS = {name: number for number, name in tokenize.tok_name.items()}
_F_STRING = {_NUMBERS.get("FSTRING_START"): 1, _NUMBERS.get("FSTRING_END"): -1}


@dataclass(frozen=True)
class Outline:
    """Where docstrings and imports of a file start, by line and column, and the *names* that it imports.

    Imports are absolute, as tests/unit/test_import_layers.py demands.
    """

    not_code: frozenset[tuple[int, int]]
    names: tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """A Python file, by its *name* below the root of the repository, and its *text*."""

    name: str
    text: str

    @cached_property
    def outline(self) -> Outline:
        """What its syntax tree says; raises SyntaxError where the file has an error."""
        starts, names = set[tuple[int, int]](), list[str]()
        for statement in _statements(ast.parse(self.text, self.name)):
            match statement:
                case ast.Expr(value=ast.Constant(value=str())):
                    pass
                case ast.Import():
                    names += [alias.name for alias in statement.names]
                case ast.ImportFrom():
                    names += [f"{statement.module}.{alias.name}" for alias in statement.names]
                case _:
                    continue
            starts.add((statement.lineno, statement.col_offset))
        return Outline(frozenset(starts), tuple(names))

    @property
    def lines(self) -> int:
        """How many lines the file has, empty ones and comments included."""
        return self.text.count("\n") + (not self.text.endswith("\n") and self.text != "")

    @property
    def module(self) -> str:
        """The dotted name by which others import a file of ``lib``."""
        parts = Path(self.name).relative_to("lib").with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@dataclass(frozen=True)
class Measure:
    """A row of the table. *now* is empty where there is nothing to measure any more."""

    what: str
    then: tuple[int, ...]
    now: tuple[int, ...]
    goal: tuple[int, ...]
    limit: tuple[int, ...] = ()

    @property
    def is_above(self) -> bool:
        """True where a figure is above its limit."""
        return any(now > limit for now, limit in zip(self.now, self.limit, strict=False))

    @property
    def is_met(self) -> bool:
        """True where every figure is at its goal or below it."""
        return bool(self.now) and all(now <= goal for now, goal in zip(self.now, self.goal, strict=True))

    @property
    def cells(self) -> tuple[str, str, str, str, str, str]:
        """The row as texts."""
        now = _figures(self.now) if self.now else "no such file"
        mark = "ABOVE ITS LIMIT" if self.is_above else "met" if self.is_met else "not met"
        return self.what, _figures(self.then), now, _figures(self.limit), _figures(self.goal), mark


def main(repo: Path = REPO) -> int:
    """Print the table and the files that are too long, and return the exit code."""
    lib = read_sources(repo, f"{LIB}/*.py")
    limits = tomllib.loads((repo / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["size"]
    found = [replace(each, limit=tuple(limits.pop(each.what, ()))) for each in measures(repo, lib)]
    if limits:
        raise SystemExit(f"pyproject.toml, [tool.size]: no such figures: {', '.join(limits)}")
    print(to_table(found))
    longest = too_long(read_sources(repo, "*.py"))
    print(f"\nfiles with more than {LONGEST_FILE} lines: {len(longest) or 'none'}")
    for source in longest:
        print(f"  {source.name}: {source.lines}")
    return 1 if longest or any(each.is_above for each in found) else 0


def read_sources(repo: Path, pattern: str) -> list[Source]:
    """Return the files of *repo* that Git tracks by this *pattern*, without those that are deleted in the work tree."""
    paths = [(name, repo / name) for name in tracked(repo, pattern)]
    return [Source(name, path.read_text(encoding="utf-8")) for name, path in paths if path.is_file()]


def tracked(repo: Path, pattern: str) -> list[str]:
    """Return the names of the files of *repo* that Git tracks; ``*`` matches slashes too."""
    command = ["git", "ls-files", "-z", "--", pattern]
    listed = subprocess.run(command, cwd=repo, stdout=subprocess.PIPE, text=True, check=True).stdout
    # While a merge is unresolved Git lists a file once for each side.
    return sorted({name for name in listed.split("\0") if name})


def measures(repo: Path, lib: Sequence[Source]) -> list[Measure]:
    """Return the rows of the table: the figures of c4b69b9 and the goals beside what *lib* and *repo* hold now."""
    every_test = read_sources(repo, "tests/*.py")
    of_contents = [each for each in every_test if "/contents/" in each.name]
    tests = [each for each in every_test if each not in of_contents]
    java = [name for name in tracked(repo, "*.java") if not name.startswith(("connect/", "consumer/", "tests/"))]
    return [
        Measure(f"tokens of code, {LIB}", (264_194,), (tokens_of_code(lib),), (180_000,)),
        Measure(f"files / lines, {LIB}", (398, 40_940), _extent(lib), (190, 28_000)),
        Measure(
            "files / lines that jobs/sync_batch.py reaches",
            (164, 18_882),
            _extent(reached(lib, SYNC_BATCH)),
            (90, 11_500),
        ),
        Measure(
            "files / lines that jobs/sync_offsets.py reaches",
            (279, 30_856),
            _extent(reached(lib, SYNC_OFFSETS)),
            (160, 19_000),
        ),
        Measure("tokens of code, tests", (530_802,), (tokens_of_code(tests),), (320_000,)),
        Measure("lines, tests", (65_396,), (sum(each.lines for each in tests),), (40_000,)),
        Measure(f"tokens of code, {CONTENTS}", (), (tokens_of_code(read_sources(repo, f"{CONTENTS}/*.py")),), (9_000,)),
        Measure(f"lines, tests of {CONTENTS}", (), (sum(each.lines for each in of_contents),), (1_500,)),
        Measure("Java files outside connect/, consumer/ and tests/", (2,), (len(java),), (0,)),
    ]


def tokens_of_code(sources: Iterable[Source]) -> int:
    """Return how many tokens the code of *sources* has; the head of this file says what counts."""
    return sum(map(_tokens_of_code, sources))


def _tokens_of_code(source: Source) -> int:
    not_code = source.outline.not_code
    count, depth, is_skipped = 0, 0, False
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.start in not_code:
            is_skipped = True
        elif token.type == tokenize.NEWLINE or token.string == ";":
            is_skipped = False
        # Of an f-string only its start, whatever is nested in it.
        count += not (is_skipped or depth or token.type in _LAYOUT)
        depth += _F_STRING.get(token.type, 0)
    return count


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield all statements in *tree*. Only blocks are searched: no expression holds a statement."""
    nodes: list[ast.AST] = [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.stmt):
            yield node
        for block in _BLOCKS:
            nodes.extend(getattr(node, block, ()))


def reached(lib: Iterable[Source], name: str) -> list[Source]:
    """Return the files of *lib* that the file of this *name* reaches by imports; none where there is no such file."""
    modules = {source.module: source for source in lib}
    found: dict[str, Source] = {}
    waiting = [module for module, source in modules.items() if source.name == name]
    while waiting:
        module = waiting.pop()
        if module not in found:
            found[module] = modules[module]
            names = modules[module].outline.names
            waiting += [inner for name in names if (inner := _module_of(name, modules))]
    return list(found.values())


def _module_of(name: str, modules: Collection[str]) -> str:
    """Return the module that an imported *name* means, maybe that of a class in it; empty for one from elsewhere."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name


def too_long(sources: Iterable[Source]) -> list[Source]:
    """Return the files of more than ``LONGEST_FILE`` lines, the longest first."""
    found = [source for source in sources if source.lines > LONGEST_FILE]
    return sorted(found, key=lambda source: (-source.lines, source.name))


def _extent(sources: Sequence[Source]) -> tuple[int, ...]:
    """Return the number of files and of their lines; empty where there are no files."""
    return (len(sources), sum(source.lines for source in sources)) if sources else ()


def to_table(rows: Iterable[Measure]) -> str:
    """Return *rows* under their heads as text, in columns."""
    cells = [("what", "at c4b69b9", "now", "limit", "goal", ""), *(row.cells for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for what, *figures, mark in cells:
        right = [text.rjust(width) for text, width in zip(figures, widths[1:-1], strict=True)]
        lines.append("  ".join([what.ljust(widths[0]), *right, mark]).rstrip())
    return "\n".join(lines)


def _figures(numbers: Iterable[int]) -> str:
    return " / ".join(f"{number:,}" for number in numbers)


if __name__ == "__main__":
    sys.exit(main())
