"""Agents: a plan becomes an argv, a log becomes a trajectory; nothing is started here.

Decisions: one file per agent and a dictionary for a registry. The kit's own agent is
one file of the standard library that runs inside the arm like anybody's, so that the
sandbox is the same for all; its loop is a function that takes other tools. A program
that fails on the model's side exits with 75; the runner takes that as a void arm, never
as a zero. A memory that was promised and is not there ends the same way: it would be a
silent control. A step that was killed goes on, and a call whose result was lost is not
made again. The journal holds no times, so that equal sessions are equal bytes. What the
toolchain writes beside the agent's work is left as it is: that is the audit's business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from benchlib.agents.claude_code import count_usage
from benchlib.agents.command import CommandAdapter
from benchlib.agents.react import PROVIDER_FAILED, run_loop
from benchlib.agents.react_adapter import ReactAdapter
from benchlib.contracts.boundaries import Adapter
from benchlib.contracts.cohort import CommandAgent, ReactAgent

ADAPTERS: Mapping[str, Callable[[ReactAgent | CommandAgent], Adapter]] = {
    "react": lambda _: ReactAdapter(),
    "command": lambda agent: CommandAdapter(agent.argv if agent.adapter == "command" else ()),
}
"""Adapter name to what makes one from a cohort's agent."""


def adapter_for(agent: ReactAgent | CommandAgent) -> Adapter:
    """Return the adapter of a cohort's agent."""
    return ADAPTERS[agent.adapter](agent)


__all__ = [
    "ADAPTERS",
    "PROVIDER_FAILED",
    "CommandAdapter",
    "ReactAdapter",
    "adapter_for",
    "count_usage",
    "run_loop",
]
