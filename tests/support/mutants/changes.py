"""Mutants of a module, by mutmut's operators: each is one changed expression in one function."""

from __future__ import annotations

import ast
import importlib
import re
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import libcst as cst
from libcst import matchers as m
from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper
from mutmut.mutation.file_mutation import Mutation, MutationVisitor
from mutmut.mutation.mutators import mutation_operators
from mutmut.mutation.pragma_handling import IgnoredCode

_MARGIN = 40
"""How many characters around a change name its place in the function."""


class Mutant(NamedTuple):
    """A module's text with one change; *change* says which, ``old -> new``, and is not always unique in a function."""

    module: str
    function: str
    change: str
    text: str


class _Visitor(MutationVisitor):
    def _skip_node_and_children(self, node: cst.CSTNode) -> bool:
        # mutmut leaves out decorated functions, whose wrappers its own runner cannot replace: here only code is.
        return not isinstance(node, cst.FunctionDef) and (_says_nothing(node) or super()._skip_node_and_children(node))


def mutants_of(module: str, path: Path) -> Iterator[Mutant]:
    """Return the mutants of a module's functions, in the order of its text."""
    source = path.read_bytes()
    wrapper = MetadataWrapper(cst.parse_module(source))
    visitor = _Visitor(mutation_operators, IgnoredCode(set(), set(), set()))
    wrapper.visit(visitor)
    spans = wrapper.resolve(ByteSpanPositionProvider)
    names = dict(_functions(wrapper.module))
    for each in visitor.mutations:
        function = names.get(each.contained_by_top_level_function)
        if function is not None and not _is_told_by_another(each):
            span = spans[each.original_node]
            new = wrapper.module.code_for_node(each.mutated_node).encode()
            if not isinstance(each.original_node, cst.BaseExpression | cst.BaseSmallStatement):
                new = new.strip()
            text = source[: span.start] + new + source[span.start + span.length :]
            yield Mutant(module, function, _change(source, span.start, span.length, new), text.decode())


def _functions(node: cst.Module | cst.ClassDef, prefix: str = "") -> Iterator[tuple[cst.CSTNode, str]]:
    for each in node.body.body if isinstance(node, cst.ClassDef) else node.body:
        if isinstance(each, cst.FunctionDef):
            yield each, prefix + each.name.value
        elif isinstance(each, cst.ClassDef):
            yield from _functions(each, f"{prefix}{each.name.value}.")


_TYPES = (
    m.Attribute(m.Name("np") | m.Name("pa"))
    | m.Attribute(attr=m.Name("type"))
    | m.Call(m.Attribute(m.Name("pa")), args=[])
)
"""A word like ``np.int64`` or ``pa.string()``."""
_GUARDS = {"strict", "dtype", "stacklevel", "kind"}
_TEXTS = m.Raise() | m.Assert() | m.Call(m.Attribute(m.Name("logger")))


def _says_nothing(node: cst.CSTNode) -> bool:
    """True for what decides nothing: a type's word, an assertion that columns are of one length, text for people."""
    if isinstance(node, cst.Arg):
        return (node.keyword is not None and node.keyword.value in _GUARDS) or m.matches(node.value, _TYPES)
    return bool(m.matches(node, _TEXTS))


def _is_told_by_another(mutation: Mutation) -> bool:
    """True where the test of another mutant tells this one: it would only make the score higher, and the run longer.

    Whoever runs a call notices that an argument is None, or that one is missing in the middle. What may go unnoticed
    is that the last is missing, or one with a keyword: then a default counts. One change of a string's letters is
    enough of three.
    """
    old, new = mutation.original_node, mutation.mutated_node
    if m.matches(old, m.Assign(value=m.Name("False"))) and m.matches(new, m.Assign(value=m.Name("None"))):
        return True  # by True
    if isinstance(old, cst.SimpleString | cst.FormattedString | cst.ConcatenatedString):
        return not (isinstance(new, cst.SimpleString) and new.raw_value.startswith("XX"))
    if not (isinstance(old, cst.Call) and isinstance(new, cst.Call)) or old.func is not new.func:
        return False
    if len(old.args) == len(new.args):
        return True
    kept = {id(each) for each in new.args}
    (gone,) = (each for each in old.args if id(each) not in kept)
    if m.matches(gone, m.Arg(m.SimpleString('"left"'))):
        return True  # the default of numpy's searchsorted
    return _says_nothing(gone) or not (gone.keyword is not None or gone is old.args[-1]) or gone.star != ""


def _change(source: bytes, start: int, length: int, new: bytes) -> str:
    before, old, after = (
        part.decode() for part in (source[:start], source[start : start + length], source[start + length :])
    )
    left, right = before[before.rfind("\n") + 1 :].lstrip(), after.partition("\n")[0].rstrip()
    old, written = (" ".join(part.split()) for part in (old, new.decode()))
    words, new_words = re.findall(r"\w+|\W", old), re.findall(r"\w+|\W", written)
    head = _same(words, new_words)
    tail = _same(words[head:][::-1], new_words[head:][::-1])
    left, right = left + "".join(words[:head]), "".join(words[len(words) - tail :]) + right
    old, written = ("".join(each[head : len(each) - tail]) for each in (words, new_words))
    return f"{left[-_MARGIN:]}«{old}»{right[:_MARGIN]} -> «{written}»".strip()


def _same(one: Sequence[str], other: Sequence[str]) -> int:
    return next((n for n, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))


def install(mutant: Mutant) -> None:
    """Give the function of a *mutant*, in this process, the mutant's code and defaults."""
    _install(mutant.module, mutant.text, [mutant.function])


def note_calls(functions: Iterable[tuple[str, str]], called: Callable[[tuple[str, str]], None]) -> None:
    """Have each of *functions*, in this process, say so to *called* where it is called; much cheaper than a trace."""
    by_module: dict[str, list[str]] = {}
    for module, function in functions:
        by_module.setdefault(module, []).append(function)
    for module, names in by_module.items():
        imported: Any = importlib.import_module(module)
        tree = ast.parse(Path(imported.__file__).read_text(encoding="utf-8"))
        for node, name in _defined(tree):
            if name in names:
                node.body[:0] = ast.parse(f"_is_called({(module, name)!r})").body
        imported._is_called = called
        _install(module, ast.unparse(tree), names)


def _defined(node: ast.Module | ast.ClassDef, prefix: str = "") -> Iterator[tuple[ast.FunctionDef, str]]:
    for each in node.body:
        if isinstance(each, ast.FunctionDef):
            yield each, prefix + each.name
        elif isinstance(each, ast.ClassDef):
            yield from _defined(each, f"{prefix}{each.name}.")


def _install(module: str, text: str, functions: Iterable[str]) -> None:
    """Give *functions* the code and defaults that they have in *text*, instead of the module's own."""
    imported = importlib.import_module(module)
    namespace = dict(vars(imported))
    exec(compile(text, str(imported.__file__), "exec"), namespace)
    for function in functions:
        old, new = (_function(each, function) for each in (vars(imported), namespace))
        old.__code__ = new.__code__
        if repr((old.__defaults__, old.__kwdefaults__)) != repr((new.__defaults__, new.__kwdefaults__)):
            old.__defaults__, old.__kwdefaults__ = new.__defaults__, new.__kwdefaults__


def _function(namespace: Any, name: str) -> types.FunctionType:
    first, *rest = name.split(".")
    found = namespace[first]
    for each in rest:
        found = vars(found)[each]
    while not isinstance(found, types.FunctionType):
        found = found.fget if isinstance(found, property) else found.__func__
    return found
