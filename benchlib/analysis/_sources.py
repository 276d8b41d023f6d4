"""Checks on the source of one cell: an aid to reviewers against accidents, not a sandbox.

Refused are characters that make a diff lie, what is no Python, and names that end
the kernel, hide what runs, or bring in the clock or chance. What a determined
author gets past these is held by the sandbox that the kernel runs in.
"""

from __future__ import annotations

import ast
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

_HIDDEN_LETTERS = frozenset("\u115f\u1160\u3164\uffa0\u2028\u2029\u034f\u17b4\u17b5")
_REFUSED_NAMES: dict[str, str] = {
    "exit": "it ends the kernel, and the run would still be called a success",
    "quit": "it ends the kernel, and the run would still be called a success",
    "SystemExit": "it ends the kernel, and the run would still be called a success",
    "get_ipython": "it reaches past the cells",
    "input": "nobody is there to answer",
    "exec": "what runs must be what is read",
    "eval": "what runs must be what is read",
    "__import__": "what runs must be what is read",
}
_REFUSED_MEMBERS: dict[tuple[str, str], str] = {
    ("sys", "exit"): _REFUSED_NAMES["exit"],
    ("os", "_exit"): _REFUSED_NAMES["exit"],
    ("numpy", "random"): "chance gives another table each time",
    ("np", "random"): "chance gives another table each time",
    ("datetime", "now"): "the clock gives another table each time",
    ("datetime", "today"): "the clock gives another table each time",
    ("datetime", "utcnow"): "the clock gives another table each time",
    ("date", "today"): "the clock gives another table each time",
    ("Timestamp", "now"): "the clock gives another table each time",
}
_REFUSED_MODULES: dict[str, str] = {
    "random": "chance gives another table each time",
    "secrets": "chance gives another table each time",
    "uuid": "chance gives another table each time",
    "time": "the clock gives another table each time",
}


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a source, and where."""

    line: int
    column: int  # counts from 1
    found: str
    allowed: str

    @property
    def where(self) -> str:
        """The place inside the cell, in words."""
        return f"line {self.line}, column {self.column}"


def hidden_characters(source: str) -> Iterator[Finding]:
    r"""Find characters that a reader of the cell would not see.

    Args:
        source: The cell's text, line ends already LF.

    Yields:
        One finding for each; the character stands as an escape, with its Unicode name.

    Example:
        >>> [one.found for one in hidden_characters("a = 1  # \u202eb")]
        ['\\u202e RIGHT-TO-LEFT OVERRIDE']
    """
    for number, line in enumerate(source.split("\n"), start=1):
        for column, character in enumerate(line, start=1):
            is_control = unicodedata.category(character) in {"Cc", "Cf"} and character != "\t"
            if is_control or character in _HIDDEN_LETTERS or "\ufe00" <= character <= "\ufe0f":
                name = unicodedata.name(character, "control character")
                yield Finding(
                    number,
                    column,
                    f"{ascii(character)[1:-1]} {name}",
                    "characters that a person sees in a diff",
                )


def code_faults(source: str) -> Iterator[Finding]:
    r"""Find what a code cell of a plan may not hold.

    Args:
        source: The cell's text.

    Yields:
        Syntax errors (a magic is one), and names from the tables above.

    Example:
        >>> [(one.where, one.found) for one in code_faults("import sys\nsys.exit(0)")]
        [('line 2, column 1', 'sys.exit')]
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None) or 1
        column = getattr(error, "offset", None) or 1
        rows = source.split("\n")
        shown = rows[line - 1].strip() if line <= len(rows) else ""
        yield Finding(line, column, shown, "plain Python without magics (%, !, ?)")
        return
    for node in ast.walk(tree):
        for name, why in _refused_in(node):
            line = getattr(node, "lineno", 1)
            column = getattr(node, "col_offset", 0) + 1
            yield Finding(line, column, name, f"a cell without it: {why}")


def _refused_in(node: ast.AST) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Name) and node.id in _REFUSED_NAMES:
        yield node.id, _REFUSED_NAMES[node.id]
    elif isinstance(node, ast.Attribute):
        owner = node.value
        of = owner.id if isinstance(owner, ast.Name) else getattr(owner, "attr", "")
        if (of, node.attr) in _REFUSED_MEMBERS:
            yield f"{of}.{node.attr}", _REFUSED_MEMBERS[of, node.attr]
    elif isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name in _REFUSED_MODULES:
                yield f"import {alias.name}", _REFUSED_MODULES[alias.name]
    elif isinstance(node, ast.ImportFrom):
        yield from _refused_import(node)


def _refused_import(node: ast.ImportFrom) -> Iterator[tuple[str, str]]:
    module = node.module or ""
    if module in _REFUSED_MODULES:
        yield f"from {module} import …", _REFUSED_MODULES[module]
        return
    for alias in node.names:
        if (module, alias.name) in _REFUSED_MEMBERS:
            yield f"from {module} import {alias.name}", _REFUSED_MEMBERS[module, alias.name]


def emitted_ids(source: str) -> list[tuple[int, str | None]]:
    """Return line and id of each call of ``emit``; the id is None where it is no literal.

    Example:
        >>> emitted_ids("emit('outcome', pairs)")
        [(1, 'outcome')]
    """
    return [
        (node.lineno, _literal_id(node))
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "emit"
    ]


def _literal_id(call: ast.Call) -> str | None:
    first = call.args[0] if call.args else None
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        return first.value
    return None


def shows_its_last_value(source: str) -> bool:
    """Tell whether a cell ends with a bare value, which a notebook would display.

    A call may return None and is judged after it ran.

    Example:
        >>> shows_its_last_value("[('undeclared', 3)]"), shows_its_last_value("load()")
        (True, False)
    """
    body = ast.parse(source).body
    if not body or not isinstance(body[-1], ast.Expr):
        return False
    value = body[-1].value
    is_docstring = isinstance(value, ast.Constant) and isinstance(value.value, str)
    return not isinstance(value, ast.Call | ast.Await) and not is_docstring


def ends_with_emit(source: str) -> bool:
    """Tell whether the last statement of a cell is one call of ``emit``."""
    body = ast.parse(source).body
    last = body[-1] if body else None
    call = last.value if isinstance(last, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "emit"
