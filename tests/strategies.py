"""Hypothesis strategies, made from the contracts themselves: what a type says is what is drawn.

``contracts(model)`` draws instances of any contract. It walks the annotations of the
fields, so a new field needs no new line here. Only relations between fields stand in
tables: they are what an annotation cannot say.
"""

from __future__ import annotations

import functools
import hashlib
import types
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

from hypothesis import strategies as st
from pydantic import AfterValidator, JsonValue, StringConstraints
from pydantic.fields import FieldInfo

from benchlib.contracts import Challenge, Cohort, Contract, Fixture, PairReceipt, Trajectory
from benchlib.contracts.attempt import ArmReceipt
from benchlib.contracts.base import CalendarDate, UtcTime
from benchlib.contracts.cohort import NotebookPlan, PlannedEndpoint
from benchlib.contracts.fixture import GraphArm, Probe
from benchlib.contracts.foreign import ForeignJson, ForeignObject, as_foreign
from benchlib.contracts.pair import ArmDigest, Change
from benchlib.contracts.paths import FileIdentifier, OutputPattern, PortablePath, path_fault
from benchlib.contracts.policy import Rule
from benchlib.contracts.trajectory import Extra, Provenance, Step

Annotation: TypeAlias = Any  # what may stand behind a colon has no narrower type
SOME = 3  # entries of a collection at most: shapes matter, not bulk


# -- paths ------------------------------------------------------------------------------------

_LETTERS = st.characters(codec="utf-8", exclude_categories=["Cc"], exclude_characters='/\\<>:"|?*')


def components() -> st.SearchStrategy[str]:
    """Portable names of one file, of any script."""
    plain = st.text("abcXYZ019._- ", min_size=1, max_size=12)
    any_script = st.text(_LETTERS, min_size=1, max_size=12)
    return st.one_of(plain, any_script).filter(lambda name: path_fault(name) is None)


def portable_paths(max_depth: int = 4) -> st.SearchStrategy[str]:
    """Portable relative paths."""
    return st.lists(components(), min_size=1, max_size=max_depth).map("/".join)


# -- JSON that others wrote --------------------------------------------------------------------


def json_values(max_leaves: int = 6) -> st.SearchStrategy[JsonValue]:
    """Any JSON that a contract can hold."""
    numbers = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False)
    leaves = st.none() | st.booleans() | numbers | st.text(max_size=8)
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=SOME)
            | st.dictionaries(st.text(max_size=6), inner, max_size=SOME)
        ),
        max_leaves=max_leaves,
    ).map(as_foreign)


# -- contracts ---------------------------------------------------------------------------------


@functools.cache  # a strategy is costly to make and cheap to draw from
def contracts(model: type[Contract]) -> st.SearchStrategy[Any]:
    """Draw instances of a contract whose fields fit each other."""
    return st.deferred(lambda: _made(model))


def _made(model: type[Contract]) -> st.SearchStrategy[Any]:
    fields = {name: _of_field(info) for name, info in model.model_fields.items()}
    documents = st.fixed_dictionaries(fields)
    if model is Extra:
        documents = st.builds(lambda own, more: {**more, **own}, documents, _foreign_objects())
    repair = _RELATIONS.get(model, _as_drawn)
    aliases = {name: info.alias or name for name, info in model.model_fields.items()}
    return documents.map(repair).map(
        lambda drawn: model(**{aliases.get(name, name): each for name, each in drawn.items()})
    )


def _foreign_objects() -> st.SearchStrategy[dict[str, JsonValue]]:
    keys = st.text("abcxyz-é", min_size=1, max_size=6)
    return st.dictionaries(keys, json_values(), max_size=SOME)


def _of_field(info: FieldInfo) -> st.SearchStrategy[Any]:
    for known, strategy in _TYPES:
        if (info.annotation, info.metadata) == (known.annotation, known.metadata):
            return strategy
    return _of(info.annotation, tuple(info.metadata))


def _of(annotation: Annotation, metadata: tuple[Any, ...] = ()) -> st.SearchStrategy[Any]:
    """Draw what an annotation allows, bounds included."""
    origin: Any = get_origin(annotation)
    parts = get_args(annotation)
    if origin is Annotated:
        return _of_field(FieldInfo.from_annotation(annotation))
    if origin is Literal:
        return st.sampled_from(parts)
    if origin in {Union, types.UnionType}:
        return st.one_of(*(_of(part) for part in parts))
    if origin in {tuple, dict}:
        return _of_collection(origin, parts, _bounds(metadata))
    if isinstance(annotation, type) and issubclass(annotation, Contract):
        return contracts(annotation)
    return _of_scalar(annotation, metadata)


def _of_collection(
    origin: type, parts: tuple[Any, ...], bounds: dict[str, Any]
) -> st.SearchStrategy[Any]:
    if origin is dict:
        return st.dictionaries(_of(parts[0]), _of(parts[1]), max_size=SOME)
    if len(parts) == 2 and parts[1] is ...:
        least = bounds.get("min_length", 0)
        return st.lists(_of(parts[0]), min_size=least, max_size=least + SOME).map(tuple)
    return st.tuples(*(_of(part) for part in parts))


def _of_scalar(annotation: Annotation, metadata: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    bounds = _bounds(metadata)
    if annotation is bool:
        # Some validators allow one of the two alone.
        return st.booleans().filter(lambda value: _passes(value, metadata))
    if annotation is int:
        return st.integers(bounds["ge"], bounds["le"])
    if annotation is float:
        return st.floats(bounds["ge"], bounds["le"], allow_nan=False)
    if annotation is str:
        return _of_text(bounds)
    if annotation is type(None):
        return st.none()
    raise NotImplementedError(f"no strategy for {annotation!r} with {metadata!r}")


def _of_text(bounds: Mapping[str, Any]) -> st.SearchStrategy[str]:
    least, most = bounds.get("min_length") or 0, bounds.get("max_length")
    pattern = bounds.get("pattern")
    if pattern in _DIGESTS:
        return _DIGESTS[pattern]
    if pattern is None:
        return st.text(min_size=least, max_size=min(most or 40, least + 40))
    # Without its anchors: `$` of Python would also take a newline behind.
    inner = st.from_regex(pattern[1:-1], fullmatch=True, alphabet=st.characters(codec="utf-8"))
    return inner.filter(lambda text: most is None or len(text) <= most)


# Drawn by hand, for they are everywhere and dear to draw from their pattern.
_SEEDS = st.binary(max_size=2)
_SHA256 = _SEEDS.map(lambda seed: hashlib.sha256(seed).hexdigest())
_SHA1 = _SEEDS.map(lambda seed: hashlib.sha1(seed, usedforsecurity=False).hexdigest())
_DIGESTS = {"^[0-9a-f]{64}$": _SHA256, "^([0-9a-f]{40}|[0-9a-f]{64})$": _SHA1 | _SHA256}


def _bounds(metadata: tuple[Any, ...]) -> dict[str, Any]:
    names = ("ge", "le", "min_length", "max_length", "pattern")
    return {
        name: getattr(each, name)
        for each in metadata
        for name in names
        if getattr(each, name, None) is not None
    }


def _passes(value: object, metadata: tuple[Any, ...]) -> bool:
    try:
        for each in metadata:
            if isinstance(each, AfterValidator):
                each.func(value)  # type: ignore[call-arg]  # ours take the value alone
    except ValueError:
        return False
    return True


def _times() -> st.SearchStrategy[str]:
    moments = st.datetimes(datetime(1970, 1, 1), datetime(9999, 12, 31))  # noqa: DTZ001 - text only
    return st.tuples(moments, st.sampled_from(["seconds", "milliseconds"])).map(
        lambda one: one[0].replace(tzinfo=UTC).isoformat(timespec=one[1]).replace("+00:00", "Z")
    )


def _info(annotation: Annotation) -> FieldInfo:
    return FieldInfo.from_annotation(annotation)


_IDENTIFIERS = next(
    each.pattern
    for each in _info(FileIdentifier).metadata
    if isinstance(each, StringConstraints) and isinstance(each.pattern, str)
)
_FILE_IDENTIFIERS = _of_text({"pattern": _IDENTIFIERS}).filter(
    lambda name: path_fault(name) is None
)


# Types whose rule is a function, which no annotation tells.
_TYPES: list[tuple[FieldInfo, st.SearchStrategy[Any]]] = [
    (_info(PortablePath), portable_paths()),
    (_info(OutputPattern), st.one_of(portable_paths(), portable_paths().map("**/{}".format))),
    (_info(FileIdentifier), _FILE_IDENTIFIERS),
    (_info(UtcTime), _times()),
    (_info(CalendarDate), st.dates().map(str)),
    (_info(ForeignJson), json_values()),
    (_info(ForeignObject), _foreign_objects()),
]


# -- relations between fields: what an annotation cannot say -------------------------------------

Drawn = dict[str, Any]


def _as_drawn(drawn: Drawn) -> Drawn:
    return drawn


def _challenge(drawn: Drawn) -> Drawn:
    follow_up = (drawn["follow_up_prompt"] or "and then") if drawn["kind"] == "continuity" else None
    return {**drawn, "follow_up_prompt": follow_up}


def _unique(entries: tuple[Any, ...], name: str) -> tuple[Any, ...]:
    return tuple({getattr(entry, name): entry for entry in entries}.values())


def _fixture(drawn: Drawn) -> Drawn:
    arms: tuple[GraphArm, ...] = _unique(drawn["graph_arms"], "id")
    probes: tuple[Probe, ...] = _unique(drawn["probes"], "name")
    return {**drawn, "graph_arms": arms, "probes": probes}


def _cohort(drawn: Drawn) -> Drawn:
    first, second = (
        condition.model_copy(update={"id": name})
        for condition, name in zip(drawn["conditions"], ("plain", "aided"), strict=False)
    )
    challenges = tuple(dict.fromkeys(drawn["challenges"]))
    fixtures = tuple(dict.fromkeys(drawn["fixtures"]))
    update = {
        "challenge": challenges[-1],
        "fixture": fixtures[0],
        "control": "plain",
        "treatment": "aided",
    }
    pairs = tuple(pair.model_copy(update=update) for pair in _unique(drawn["pairs"], "id"))
    asked = {"challenges": challenges[:1]}
    claims = tuple(claim.model_copy(update=asked) for claim in drawn["analysis"].endpoints)
    return {
        **drawn,
        "challenges": challenges,
        "fixtures": fixtures,
        "conditions": (first, second),
        "pairs": pairs,
        "analysis": drawn["analysis"].model_copy(update={"endpoints": claims}),
    }


def _endpoint(drawn: Drawn) -> Drawn:
    has_margin = drawn["question"] != "difference"
    family = "unconditional" if has_margin else drawn["family"]
    return {
        **drawn,
        "challenges": tuple(dict.fromkeys(drawn["challenges"])),
        "lines": "per-challenge" if family.endswith("conditional") else "overall",
        "family": family,
        "margin_ppm": (drawn["margin_ppm"] or 1) if has_margin else None,
    }


def _notebook_plan(drawn: Drawn) -> Drawn:
    return {**drawn, "endpoints": _unique(drawn["endpoints"], "id")}


def _change(drawn: Drawn) -> Drawn:
    outcomes = {(0, 0): "both-failed", (1, 1): "both-passed", (0, 1): "gained", (1, 0): "lost"}
    rewards = drawn["control_reward"], drawn["treatment_reward"]
    return {**drawn, "outcome": outcomes[rewards]}


def _pair(drawn: Drawn) -> Drawn:
    order = drawn["order"][:1] + tuple({"control", "treatment"} - {drawn["order"][0]})
    is_completed = drawn["change"] is not None
    status = "completed" if is_completed else "void"
    reason = None if is_completed else (drawn["reason"] or "sandbox-failed")
    arms: tuple[ArmDigest, ...] = _unique(drawn["arms"], "arm")
    return {**drawn, "order": order, "status": status, "reason": reason, "arms": arms}


def _arm(drawn: Drawn) -> Drawn:
    is_completed = drawn["reward"] is not None
    reason = None if is_completed else (drawn["reason"] or "sandbox-failed")
    return {**drawn, "status": "completed" if is_completed else "interrupted", "reason": reason}


def _rule(drawn: Drawn) -> Drawn:
    return drawn if drawn["calls"] else {**drawn, "say": drawn["say"] or "yes"}


def _provenance(drawn: Drawn) -> Drawn:
    lines = drawn["log_lines"]
    return {**drawn, "log_lines": lines and tuple(sorted(lines))}


def _step(drawn: Drawn) -> Drawn:
    observation = drawn["observation"]
    if observation is not None:
        results = tuple(
            result.model_copy(update={"source_call_id": None}) for result in observation.results
        )
        observation = observation.model_copy(update={"results": results})
    agents_own = ("tool_calls", "metrics", "model_name", "reasoning_content")
    blank = {} if drawn["source"] == "agent" else dict.fromkeys(agents_own)
    return {**drawn, "observation": observation, **blank}


def _trajectory(drawn: Drawn) -> Drawn:
    steps = enumerate(drawn["steps"], 1)
    numbered = tuple(step.model_copy(update={"step_id": number}) for number, step in steps)
    return {**drawn, "steps": numbered}


_RELATIONS: Mapping[type[Contract], Callable[[Drawn], Drawn]] = {
    ArmReceipt: _arm,
    Challenge: _challenge,
    Change: _change,
    Cohort: _cohort,
    Fixture: _fixture,
    NotebookPlan: _notebook_plan,
    PairReceipt: _pair,
    PlannedEndpoint: _endpoint,
    Provenance: _provenance,
    Rule: _rule,
    Step: _step,
    Trajectory: _trajectory,
}
