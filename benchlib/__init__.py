"""Paired agent-memory benchmarks whose answer a stranger can check."""

__version__ = "0.1.0"
