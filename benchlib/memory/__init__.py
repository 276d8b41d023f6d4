"""The three-verb boundary to a memory system, and the one that is embedded behind it.

`restore`, `read_back`, `destroy` are the client; `MemoryTools` starts the server that an
agent's tool calls reach; `run_conformance` tells what somebody's executable does wrong;
`fixture_texts` reads what a fixture's memories hold.

Decisions: a memory system is a process, also ours, so that nothing of the kit has to be
imported, and nothing of a memory system leaks into the runner. Questions reach it as a
file beside its artifacts, not in the request, whose fields are fixed. The names below are
loaded when they are first used: the embedded system lies under this package, starts
hundreds of times in a cohort, and needs none of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchlib.memory._calls import Answer, ProvisionerError
    from benchlib.memory.conformance import ConformanceReport, run_conformance
    from benchlib.memory.evidence import Graph, Item, fixture_texts, read_graph, read_items
    from benchlib.memory.provisioner import (
        Restored,
        destroy,
        destroy_after_crash,
        read_after,
        read_back,
        restore,
        snapshot,
    )
    from benchlib.memory.tools import MemoryTools

_HOMES = {
    "Answer": "_calls",
    "ConformanceReport": "conformance",
    "Graph": "evidence",
    "Item": "evidence",
    "MemoryTools": "tools",
    "ProvisionerError": "_calls",
    "Restored": "provisioner",
    "destroy": "provisioner",
    "destroy_after_crash": "provisioner",
    "fixture_texts": "evidence",
    "read_after": "provisioner",
    "read_back": "provisioner",
    "read_graph": "evidence",
    "read_items": "evidence",
    "restore": "provisioner",
    "run_conformance": "conformance",
    "snapshot": "provisioner",
}

__all__ = [
    "Answer",
    "ConformanceReport",
    "Graph",
    "Item",
    "MemoryTools",
    "ProvisionerError",
    "Restored",
    "destroy",
    "destroy_after_crash",
    "fixture_texts",
    "read_after",
    "read_back",
    "read_graph",
    "read_items",
    "restore",
    "run_conformance",
    "snapshot",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
