"""The table of reason codes: why an arm or a pair does not count, in words.

Trouble with the machine is not a zero: a void pair leaves the paired table with
both its arms, and is reported by its reason. Codes of the memory boundary come
from its protocol and stand here too, so that a report can say each in words.
"""

from __future__ import annotations

from collections.abc import Mapping

REASONS: Mapping[str, str] = {
    "sandbox-failed": "the sandbox could not be made, or failed under the arm",
    "image-missing": "the base image is not on this machine; the model was never called",
    "provider-failed": "the model's side failed; the agent did not get its answers",
    "verifier-no-verdict": "the verifier never judged, or its status and its verdict disagree",
    "trajectory-missing": "the agent left no readable log",
    "premise-difference": "the arms differed in more than the declared memory channel",
    "arm-void": "the other arm is void, so this pair has no outcome",
    "interrupted": "the runner ended while this was under way",
    "interrupted-by-operator": "the run was stopped by hand",
    "name-tells-arm": "the name that the memory system chose could tell an agent its condition",
    "memory-tools-failed": "the memory's tool server failed while the agent was using it",
    "memory-absent": "the memory arm ran without a memory",
    "spawn-failed": "the memory system could not be started",
    "timeout": "the memory system did not end in time",
    "killed-by-signal": "the memory system was killed",
    "nonzero-exit": "the memory system ended with an error",
    "output-too-large": "the memory system printed more than it may",
    "not-utf8": "the memory system's answer is no UTF-8",
    "not-json": "the memory system's answer is no JSON",
    "not-an-object": "the memory system's answer is no JSON object",
    "trailing-data": "the memory system printed more than one object",
    "duplicate-key": "the memory system's answer has a key twice",
    "non-finite-number": "the memory system's answer holds NaN or an infinity",
    "unknown-field": "the memory system's answer has a field that nobody asked for",
    "missing-field": "the memory system's answer lacks a field",
    "wrong-type": "a field of the memory system's answer has the wrong type",
    "artifact-escapes-root": "a fixture's file lies outside the fixture root",
    "artifact-missing": "a fixture's file is not there",
    "artifact-digest-mismatch": "a fixture's file is not the one that was pinned",
    "left-children": "the memory system left processes behind",
    "queue-not-drained": "the memory system was still indexing",
    "probe-missing": "the memory system did not answer a declared probe",
    "probe-unexpected": "the memory system answered a probe that nobody declared",
    "memory-not-retrievable": "a required probe did not find its item",
    "memory-empty": "the memory holds fewer items than the fixture says",
    "state-changed-by-reading": "reading the memory back changed it",
    "state-digest-mismatch": "two restores of one fixture gave different states",
    "destroyed-but-readable": "the memory could still be read after destroy",
}
"""Reason code to the sentence that a report prints."""


def in_words(reason: str | None) -> str:
    """Return the sentence of a reason code; an unknown code is shown as it is stored."""
    return REASONS.get(reason or "", reason or "")
