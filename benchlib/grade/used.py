"""Fact two: the agent acted on memory. Delivery alone does not make it so.

A challenge declares texts that stand in an agent's own words or calls only if it
acted on the memory. Such a text counts when it comes after the first delivery and did
not come before: what the agent knew already, memory did not tell it.
"""

from __future__ import annotations

from collections.abc import Iterable

from benchlib.contracts.attempt import Delivery, Use
from benchlib.contracts.trajectory import Trajectory
from benchlib.grade._sources import agents_words


def used(trajectory: Trajectory, use_evidence: Iterable[str], delivery: Delivery) -> Use:
    """Look for the declared evidence in what the agent wrote after the first delivery.

    Args:
        trajectory: The arm's session.
        use_evidence: The challenge's declared texts.
        delivery: What was delivered; unattributed text starts nothing.

    Returns:
        The texts that were found, and the steps in which they stand; both empty when
        nothing was delivered.
    """
    delivered_at = [item.step_id for item in delivery.items if item.channel != "unattributed"]
    if not delivered_at:
        return Use(used=False, evidence=(), step_ids=())
    first = min(delivered_at)
    # The calls of the delivering step were made before their results came.
    before = [words for words in agents_words(trajectory) if words.step_id <= first]
    after = [words for words in agents_words(trajectory) if words.step_id > first]
    found = {
        evidence: [words.step_id for words in after if evidence in words.text]
        for evidence in dict.fromkeys(use_evidence)
        if not any(evidence in words.text for words in before)
    }
    evidence = tuple(text for text, steps in found.items() if steps)
    steps = sorted({step for steps in found.values() for step in steps})
    return Use(used=bool(evidence), evidence=evidence, step_ids=tuple(steps))
