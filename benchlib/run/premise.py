"""The premise of a paired comparison: one thing differed, the declared one.

What an arm was started with is compared field by field, and the first request
that each arm's model saw. What differs must be explained by a declared memory
channel; a note that discloses a difference does not cure it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from benchlib.contracts.attempt import Launch
from benchlib.contracts.pair import PremiseDifference, PremiseReport
from benchlib.contracts.reading import Json
from benchlib.errors import escaped

_SHOWN = 400
MEMORY_TOOLS = ("memory_search", "memory_get", "memory_neighbours")


def check_premise(
    control: Launch,
    treatment: Launch,
    *,
    first_requests: tuple[Mapping[str, Json], Mapping[str, Json]] | None,
    memory_tools: tuple[str, ...] = MEMORY_TOOLS,
) -> PremiseReport:
    """Compare two arms.

    Args:
        control: What the control arm was started with.
        treatment: What the treatment arm was started with.
        first_requests: The first model request of control and treatment, decoded; None
            for an agent without a model.
        memory_tools: Tools that the channel `tool-pull` may add.

    Returns:
        Every difference, each with the channel that explains it or None.
    """
    differences = [*_launch_differences(control, treatment)]
    compared = [f"launch.{name}" for name in Launch.model_fields]
    if first_requests:
        differences += _request_differences(*first_requests, treatment, control, memory_tools)
        compared.append("first-request")
    return PremiseReport(compared=tuple(compared), differences=tuple(differences))


def _launch_differences(control: Launch, treatment: Launch) -> Iterator[PremiseDifference]:
    declared = _declared(control, treatment)
    explained = {"channels": declared, "agent_files_sha256": declared}
    for name in Launch.model_fields:
        left, right = getattr(control, name), getattr(treatment, name)
        if left != right:
            yield _difference(f"launch.{name}", left, right, explained.get(name))


def _declared(control: Launch, treatment: Launch) -> str | None:
    channels = sorted(set(control.channels) ^ set(treatment.channels))
    return ", ".join(channels) or None


def _request_differences(
    control_request: Mapping[str, Json],
    treatment_request: Mapping[str, Json],
    treatment: Launch,
    control: Launch,
    memory_tools: tuple[str, ...],
) -> Iterator[PremiseDifference]:
    channels = set(treatment.channels) ^ set(control.channels)
    for name in sorted({*control_request, *treatment_request}):
        left, right = control_request.get(name), treatment_request.get(name)
        if left == right:
            continue
        if name == "tools":
            explained = "tool-pull" if "tool-pull" in channels else None
            same_rest = _other_tools(left, memory_tools) == _other_tools(right, memory_tools)
            yield _difference("first-request.tools", left, right, explained if same_rest else None)
        elif name == "messages":
            explained = "prompt-retrieval" if "prompt-retrieval" in channels else None
            same_rest = _other_messages(left) == _other_messages(right)
            yield _difference(
                "first-request.messages", left, right, explained if same_rest else None
            )
        else:
            yield _difference(f"first-request.{name}", left, right, None)


def _other_tools(tools: Json, memory_tools: tuple[str, ...]) -> list[Json]:
    return [tool for tool in _items(tools) if _tool_name(tool) not in memory_tools]


def _tool_name(tool: Json) -> str:
    function = tool.get("function") if isinstance(tool, dict) else None
    return str(function.get("name")) if isinstance(function, dict) else ""


def _other_messages(messages: Json) -> list[Json]:
    """Leave out what carries the mark of a memory: the rest must be equal."""
    return [
        message
        for message in _items(messages)
        if not (
            isinstance(message, dict)
            and message.get("role") == "system"
            and str(message.get("content")).startswith("<!-- memory ")
        )
    ]


def _items(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _difference(
    field: str, control: object, treatment: object, explained_by: str | None
) -> PremiseDifference:
    return PremiseDifference(
        field=field,
        control=escaped(str(control))[:_SHOWN],
        treatment=escaped(str(treatment))[:_SHOWN],
        explained_by=explained_by,
    )
