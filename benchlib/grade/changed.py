"""Fact three: what memory changed in one pair. It says nothing about why."""

from __future__ import annotations

from benchlib.contracts.pair import Change, Outcome
from benchlib.errors import InputError

_OUTCOMES: dict[tuple[int, int], Outcome] = {
    (0, 1): "gained",
    (1, 0): "lost",
    (1, 1): "both-passed",
    (0, 0): "both-failed",
}


def changed(control_reward: int, treatment_reward: int) -> Change:
    """Name the paired outcome.

    Args:
        control_reward: 0 or 1; a void arm has none, and its pair no outcome.
        treatment_reward: 0 or 1.

    Returns:
        The outcome with both rewards.

    Raises:
        InputError: A reward is neither 0 nor 1.

    Example:
        >>> changed(0, 1).outcome
        'gained'
    """
    rewards = (control_reward, treatment_reward)
    if rewards not in _OUTCOMES:
        raise InputError(
            "pair",
            "reward",
            found=rewards,
            allowed="0 or 1 for each arm",
            next_step="void the pair",
        )
    return Change(
        outcome=_OUTCOMES[rewards],
        control_reward=control_reward,
        treatment_reward=treatment_reward,
    )
