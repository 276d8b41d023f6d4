"""Why a call of a provisioner fails: each reason code, the rule it broke, what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Rule(NamedTuple):
    """The rule behind a reason code."""

    wrong: str  # what the verb did, as the end of a sentence that begins with it
    allowed: str
    next_step: str


_STDOUT = "print one object on stdout and send everything else to stderr"

RULES: Mapping[str, Rule] = {
    "spawn-failed": Rule(
        "can't be started", "an executable that can be started", "check the path and its mode"
    ),
    "timeout": Rule(
        "does not end in time",
        "an exit, and the end of both outputs, within the time limit",
        "exit after the object was printed, or raise the limit in the plan",
    ),
    "killed-by-signal": Rule(
        "is killed by a signal", "an exit of its own accord", "look at its stderr"
    ),
    "nonzero-exit": Rule("ends with an error", "exit status 0", "look at its stderr"),
    "output-too-large": Rule("prints more than it may", "output within the limit", _STDOUT),
    "not-utf8": Rule(
        "prints what is not UTF-8", "UTF-8 without byte order mark or lone surrogates", _STDOUT
    ),
    "not-json": Rule(
        "prints something that is not one JSON object",
        "exactly one strict JSON object, at most 32 levels deep",
        _STDOUT,
    ),
    "not-an-object": Rule("prints JSON that is not an object", "exactly one JSON object", _STDOUT),
    "trailing-data": Rule(
        "prints more after its object", "exactly one JSON object and nothing after it", _STDOUT
    ),
    "duplicate-key": Rule(
        "prints a key twice", "each key of an object once", "print each key once"
    ),
    "non-finite-number": Rule(
        "prints a number that is not finite", "finite numbers", "print no NaN and no infinity"
    ),
    "unknown-field": Rule(
        "prints a field that the protocol does not have",
        "the fields of the protocol and no other",
        "leave the field out",
    ),
    "missing-field": Rule("leaves out a field", "all fields of the protocol", "add the field"),
    "wrong-type": Rule(
        "prints a value that the protocol does not allow",
        "values of the protocol's types and bounds",
        "correct the value",
    ),
    "artifact-escapes-root": Rule(
        "is asked to read a file outside the fixture root",
        "files below the fixture root, with links followed",
        "put the file below the root",
    ),
    "artifact-missing": Rule(
        "is asked to read a file that is not there",
        "a regular file that can be read",
        "put the file there",
    ),
    "artifact-digest-mismatch": Rule(
        "was given, or has changed, a file that is not the pinned one",
        "the bytes that the fixture pins, before and after",
        "pin the file that is meant; a provisioner must not write to its artifacts",
    ),
    "left-children": Rule(
        "leaves processes behind",
        "no process left when a verb has ended",
        "end what the verb starts; keep a server in a container that `destroy` ends",
    ),
    "queue-not-drained": Rule(
        "ends while items still wait to be indexed",
        "an empty queue before the agent starts",
        "let `restore` wait for its queue, or let the plan wait with queue_wait_seconds",
    ),
    "probe-missing": Rule(
        "does not answer a declared probe",
        "every declared probe, with its kind and query",
        "answer what `artifacts/probes.json` asks; `answered: false` for a kind it can't",
    ),
    "probe-unexpected": Rule(
        "answers what it should know nothing of",
        "declared probes alone, and no item found in a memory that is empty on purpose",
        "answer what `artifacts/probes.json` asks, from this project alone",
    ),
    "memory-not-retrievable": Rule(
        "does not find what was restored",
        "required probes that find their item within their rank, by texts of the fixture",
        "load all items, index them, and answer from the store",
    ),
    "memory-empty": Rule(
        "shows fewer items than were restored",
        "at least as many items as the fixture says",
        "load all items and count all of them",
    ),
    "state-changed-by-reading": Rule(
        "shows another state when it is asked again",
        "equal states in two snapshots",
        "finish loading before `restore` ends; leave access times out of the digest",
    ),
    "state-digest-mismatch": Rule(
        "shows another digest for the same content",
        "equal digests of one content in two fresh projects",
        "leave clocks, random ids and paths out of the digest",
    ),
    "destroyed-but-readable": Rule(
        "still answers after destroy",
        "no snapshot of a destroyed project",
        "let `destroy` remove the data",
    ),
    "projects-not-apart": Rule(
        "mixes two projects that live at the same time",
        "projects that know nothing of each other",
        "keep everything below the working folder, or under the project's name",
    ),
    "restored-twice": Rule(
        "takes a second restore into a live project",
        "a failure, and the project as it was: memories are never merged",
        "refuse a run identity whose project lives",
    ),
    "name-tells-arm": Rule(
        "names its project by what is compared",
        "a project's name that tells nothing of what is compared",
        "name the project by its run identity",
    ),
}
"""Reason code to its rule; the last three are ours, the rest are the protocol's."""
