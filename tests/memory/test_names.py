from __future__ import annotations

import pytest

from benchlib import memory
from benchlib.memory._names import telling_word


@pytest.mark.parametrize("name", memory.__all__)
def test_every_public_name_is_there_and_has_a_home(name: str) -> None:
    assert getattr(memory, name).__doc__
    assert set(memory._HOMES) == set(memory.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = memory.nothing


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("r-0123456789ab", None),
        ("alarm:farm.charm_controller", None),
        ("x-control-1", "control"),
        ("controlArm", "control"),
        ("ARM2", "arm"),
        ("my.Fixture", "fixture"),
        ("memTreatment", "treatment"),
        ("p_populated_7", "populated"),
        ("p_populatedly", None),
    ],
)
def test_a_name_tells_by_whole_words(name: str, word: str | None) -> None:
    assert telling_word(name, ["populated"]) == word
