"""What a snapshot must show before an agent may start: the cross-checks of the protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from benchlib.contracts.fixture import GraphArm, Probe
from benchlib.contracts.provisioner import Hit, ProbeAnswer, SnapshotResponse


class Fault(NamedTuple):
    """A reason code, and what was found."""

    reason: str
    detail: str


def snapshot_fault(
    response: SnapshotResponse,
    probes: tuple[Probe, ...],
    arm: GraphArm,
    text_sha256s: Mapping[str, str],
) -> Fault | None:
    """Return the first check that a snapshot fails.

    1. The queue is empty. 2. Every declared probe is present as it was asked, and no other.
    3. There are as many items as the fixture says. 4. Every hit is a text of the fixture.
    5. Required probes find their item, or in a memory that is empty on purpose do not.

    Args:
        response: What was read back.
        probes: The fixture's probes.
        arm: The graph that was restored.
        text_sha256s: Digest of the text of each item that this memory may answer with.
    """
    return (
        _queue_fault(response)
        or _names_fault(response, probes)
        or _count_fault(response, arm)
        or _hits_fault(response, text_sha256s)
        or _required_fault(response, probes, arm)
    )


def rank_of(probe: Probe, answer: ProbeAnswer) -> int | None:
    """Return the rank at which a probe found its item, from 1; None when it did not."""
    ids = [hit.id for hit in answer.hits[: probe.within_rank]]
    return ids.index(probe.expected_id) + 1 if probe.expected_id in ids else None


def _queue_fault(response: SnapshotResponse) -> Fault | None:
    waiting = response.queue_after_count
    return Fault("queue-not-drained", f"{waiting} items still wait") if waiting else None


def _names_fault(response: SnapshotResponse, probes: tuple[Probe, ...]) -> Fault | None:
    for probe in probes:
        answer = response.probes.get(probe.name)
        if answer is None:
            return Fault("probe-missing", f"no answer to the probe {probe.name!r}")
        if (answer.kind, answer.query) != (probe.kind, probe.query):
            return Fault("probe-missing", f"the probe {probe.name!r} has another kind or query")
    strangers = sorted(response.probes.keys() - {probe.name for probe in probes})
    return Fault("probe-unexpected", f"the probe {strangers[0]!r}") if strangers else None


def _count_fault(response: SnapshotResponse, arm: GraphArm) -> Fault | None:
    counts = response.state.counts  # named by the memory: its nodes, else items, else the most
    said = counts.get("nodes", counts.get("items", max(counts.values(), default=0)))
    if said >= arm.least_items:
        return None
    return Fault("memory-empty", f"{said} items; the fixture says {arm.least_items} or more")


def _hits_fault(response: SnapshotResponse, text_sha256s: Mapping[str, str]) -> Fault | None:
    known = frozenset(text_sha256s.values())
    for name, answer in response.probes.items():
        for hit in answer.hits:
            if hit.sha256 not in known or not _is_text_of_its_id(hit, text_sha256s):
                return Fault(
                    "memory-not-retrievable",
                    f"the probe {name!r} answers {hit.id!r} with a text that the fixture has not",
                )
    return None


def _is_text_of_its_id(hit: Hit, text_sha256s: Mapping[str, str]) -> bool:
    return text_sha256s.get(hit.id, hit.sha256) == hit.sha256


def _required_fault(
    response: SnapshotResponse, probes: tuple[Probe, ...], arm: GraphArm
) -> Fault | None:
    for probe in (one for one in probes if one.is_required):
        answer = response.probes[probe.name]
        rank = rank_of(probe, answer) if answer.answered else None
        if arm.probes_answer and rank is None:
            why = "" if answer.answered else ": it says that it can't answer"
            return Fault(
                "memory-not-retrievable",
                f"the probe {probe.name!r} did not find {probe.expected_id!r}"
                f" within rank {probe.within_rank}{why}",
            )
        if not arm.probes_answer and rank is not None:
            return Fault(
                "probe-unexpected",
                f"the probe {probe.name!r} found {probe.expected_id!r}"
                " in a memory that is empty on purpose",
            )
    return None
