"""Parameters of a plan: read from the cell by ``ast``, checked before a kernel starts.

papermill warns at most about an unknown name, takes ``"False"`` for true, and
injects its cell after the parameters cell, so that a derived value keeps the old
one. So here: typed literals only, strict types, bounds, and nothing else.
"""

from __future__ import annotations

import ast
import difflib
import json
from collections.abc import Iterator, Mapping, Sequence

from benchlib.analysis._sources import Finding
from benchlib.analysis.declarations import (
    Parameter,
    ParameterRule,
    ParameterType,
    ParameterValue,
)
from benchlib.contracts.base import LARGEST_INTEGER
from benchlib.contracts.paths import path_fault
from benchlib.errors import InputError, InWords

_ANNOTATIONS: Mapping[str, ParameterType] = {
    "int": "integer",
    "str": "text",
    "bool": "boolean",
    "tuple[str, ...]": "text-list",
    "tuple[int, ...]": "integer-list",
}
_IN_WORDS: Mapping[ParameterType, str] = {
    "integer": "a whole number",
    "text": "text",
    "boolean": "true or false",
    "path": "a portable relative path",
    "text-list": "a list of texts",
    "integer-list": "a list of whole numbers",
}
_LINE = f"lines of the form `name: type = literal`, type one of {', '.join(_ANNOTATIONS)}"


def declared_parameters(
    source: str, rules: Sequence[ParameterRule]
) -> tuple[tuple[Parameter, ...], tuple[Finding, ...]]:
    """Read the parameters cell without running it.

    Args:
        source: The cell's text; it parses as Python.
        rules: Bounds from the notebook's metadata, by name.

    Returns:
        The parameters in the order of the cell, and what is wrong with the cell.

    Example:
        >>> declared_parameters("alpha_ppm: int = 50000", ())[0][0].default
        50000
    """
    known = {rule.name: rule for rule in rules}
    parameters: dict[str, Parameter] = {}
    findings: list[Finding] = []
    for statement in ast.parse(source).body:
        parameter = _parameter(statement, known)
        if isinstance(parameter, Finding):
            findings.append(parameter)
        elif parameter.name in parameters:
            findings.append(_finding(statement, parameter.name, "each parameter once"))
        else:
            fault = _value_fault(parameter, parameter.default)
            if fault:
                findings.append(_finding(statement, repr(parameter.default), fault))
            parameters[parameter.name] = parameter
    findings += [
        Finding(1, 1, f"a rule for {name!r}", "rules only for parameters that the cell has")
        for name in known
        if name not in parameters
    ]
    return tuple(parameters.values()), tuple(findings)


def _finding(statement: ast.stmt, found: str, allowed: str) -> Finding:
    return Finding(statement.lineno, statement.col_offset + 1, found, allowed)


def _parameter(statement: ast.stmt, rules: Mapping[str, ParameterRule]) -> Parameter | Finding:
    if (
        not isinstance(statement, ast.AnnAssign)
        or not isinstance(statement.target, ast.Name)
        or statement.value is None
    ):
        return _finding(statement, ast.unparse(statement), _LINE)
    name, kind = statement.target.id, _ANNOTATIONS.get(ast.unparse(statement.annotation))
    try:
        default = ast.literal_eval(statement.value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return _finding(
            statement, ast.unparse(statement), f"a literal; an expression keeps its value; {_LINE}"
        )
    if kind is None or not _is_name(name) or not _fits(kind, default):
        return _finding(statement, ast.unparse(statement), _LINE)
    rule = rules.get(name, ParameterRule(name=name))
    return Parameter(
        name=name,
        type="path" if rule.is_path and kind == "text" else kind,
        minimum=rule.minimum,
        maximum=rule.maximum,
        default=default,
    )


def _is_name(name: str) -> bool:
    return name.isascii() and name[:1].isalpha() and name == name.lower() and len(name) <= 64


def _fits(kind: ParameterType, value: object) -> bool:
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "integer":
        return (
            isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST_INTEGER
        )
    if kind in {"text", "path"}:
        return isinstance(value, str)
    part: ParameterType = "text" if kind == "text-list" else "integer"
    return isinstance(value, tuple) and all(_fits(part, one) for one in value)


def _value_fault(parameter: Parameter, value: object) -> str | None:
    """Say which rule a value breaks; None where it fits."""
    if not _fits(parameter.type, value):
        return _IN_WORDS[parameter.type]
    if parameter.type == "path" and isinstance(value, str):
        fault = path_fault(value)
        return f"{_IN_WORDS['path']}, not {fault}" if fault else None
    numbers = value if isinstance(value, tuple) else (value,)
    for number in numbers:
        if isinstance(number, int) and not _in_bounds(parameter, number):
            return f"{parameter.minimum} to {parameter.maximum}"
    return None


def _in_bounds(parameter: Parameter, number: int) -> bool:
    too_small = parameter.minimum is not None and number < parameter.minimum
    return not too_small and not (parameter.maximum is not None and number > parameter.maximum)


def check_parameters(
    place: str, parameters: Sequence[Parameter], values: Mapping[str, object]
) -> dict[str, ParameterValue]:
    """Check the values of one run, all of them, before anything starts.

    Args:
        place: The plan's name, for messages.
        parameters: As the plan declares them.
        values: What the caller wants; a list stands for a tuple.

    Returns:
        Every parameter with its value, in the order of the plan.

    Raises:
        InputError: An unknown name, a value of another type or out of its bounds; all findings.
    """
    declared = {parameter.name: parameter for parameter in parameters}
    findings = [_unknown(place, name, declared) for name in values if name not in declared]
    checked: dict[str, ParameterValue] = {}
    for name, parameter in declared.items():
        value = values.get(name, parameter.default)
        value = tuple(value) if isinstance(value, list) else value
        fault = _value_fault(parameter, value)
        if fault is None and isinstance(value, bool | int | str | tuple):
            checked[name] = value
        else:
            findings.append(
                InputError(
                    place,
                    f"parameter {name}",
                    found=value,
                    allowed=fault or _IN_WORDS[parameter.type],
                    next_step="give another value",
                )
            )
    _raise_all(findings)
    return checked


def _unknown(place: str, name: str, declared: Mapping[str, Parameter]) -> InputError:
    near = difflib.get_close_matches(name, declared, n=1)
    return InputError(
        place,
        f"parameter {name}",
        found=InWords(f"the name {name!r}"),
        allowed=f"one of {', '.join(declared)}",
        next_step=f"write {near[0]}" if near else "leave it out",
    )


def _raise_all(findings: Sequence[InputError]) -> None:
    if findings:
        first, *others = findings
        first.also = tuple(others)
        raise first


def parse_settings(
    place: str, parameters: Sequence[Parameter], settings: Sequence[str]
) -> dict[str, ParameterValue]:
    """Read ``name=value`` texts by the declared types, as ``--set`` gives them.

    Args:
        place: The plan's name, for messages.
        parameters: As the plan declares them.
        settings: Such as ``alpha_ppm=10000`` or ``names=["a", "b"]``.

    Returns:
        All parameters with their values.

    Raises:
        InputError: As ``check_parameters``; also a text without ``=`` or a name given twice.
    """
    values: dict[str, object] = {}
    findings = []
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or name in values:
            findings.append(
                InputError(
                    place,
                    "--set",
                    found=setting,
                    allowed="name=value, each name once",
                    next_step="give the value behind an equals sign",
                )
            )
        values[name] = _by_type(text, next((p for p in parameters if p.name == name), None))
    _raise_all(findings)
    return check_parameters(place, parameters, values)


def _by_type(text: str, parameter: Parameter | None) -> object:
    if parameter is None or parameter.type in {"text", "path"}:
        return text
    try:
        value = json.loads(text, parse_float=str, parse_constant=str)
    except ValueError:
        return text  # of no fitting type; the check says which one is wanted
    return tuple(value) if isinstance(value, list) else value


def parameter_lines(values: Mapping[str, ParameterValue]) -> Iterator[str]:
    """Yield one line of text for each value, for records and reports."""
    for name, value in values.items():
        yield f"{name} = {json.dumps(value, ensure_ascii=False)}"
