"""The only door to a model: it meters, records, and knows nothing of arms or pairs.

Decisions: one server per arm on a Unix socket in a folder of the arm's own, so that a
sandbox without network needs one mount and nothing else. The standard library's HTTP
server, for a door carries one agent. The record is written before the answer leaves,
so that what was paid for is known after a crash. Answers are sent whole; streaming
comes with the first harness that asks for it.
"""

from __future__ import annotations

from benchlib.gateway.meter import add, cost, require_priced, usage_differences
from benchlib.gateway.openai import BadRequestError, ChatAnswer, ChatRequest
from benchlib.gateway.record import (
    CHAT_PATH,
    MEMORY_PATH,
    Exchange,
    read_wire,
    usage_of,
)
from benchlib.gateway.scripted import answer as scripted_answer
from benchlib.gateway.scripted import read_policy
from benchlib.gateway.server import Answer, CallMemory, Gateway, serve, serve_loopback

__all__ = [
    "CHAT_PATH",
    "MEMORY_PATH",
    "Answer",
    "BadRequestError",
    "CallMemory",
    "ChatAnswer",
    "ChatRequest",
    "Exchange",
    "Gateway",
    "add",
    "cost",
    "read_policy",
    "read_wire",
    "require_priced",
    "scripted_answer",
    "serve",
    "serve_loopback",
    "usage_differences",
    "usage_of",
]
