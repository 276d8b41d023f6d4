"""Errors: their parts, what a terminal may see of them, and what no message may carry."""

from __future__ import annotations

import copy
import json
import pickle
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchlib.errors import (
    SHOWN_CHARACTERS,
    BenchlibError,
    DriftError,
    InputError,
    InWords,
    OutsideError,
    RefusedError,
    VersionError,
    escaped,
    shown,
)

STATUS = {InputError: 2, VersionError: 2, DriftError: 2, RefusedError: 1, OutsideError: 3}
every_kind = pytest.mark.parametrize("kind", STATUS)


def one(kind: type[BenchlibError] = InputError, **parts: object) -> BenchlibError:
    given_parts = {"found": "4 GB", "allowed": "64 or more", "next_step": "write 4096"} | parts
    return kind("a.json", "environment.memory_mb", **given_parts)  # type: ignore[arg-type]


@every_kind
def test_the_exit_status_is_what_the_caller_does_next(kind: type[BenchlibError]) -> None:
    assert one(kind).exit_status == STATUS[kind]


def test_the_tree_is_the_one_of_the_docstring() -> None:
    assert set(BenchlibError.__subclasses__()) == {InputError, RefusedError, OutsideError}
    assert set(InputError.__subclasses__()) == {VersionError, DriftError}
    assert issubclass(InputError, ValueError)


@every_kind
def test_a_message_has_place_field_found_allowed_and_next_step(kind: type[BenchlibError]) -> None:
    assert str(one(kind)) == (
        "a.json: environment.memory_mb\n"
        "  found    '4 GB'\n"
        "  allowed  64 or more\n"
        "  next     write 4096"
    )


def test_a_message_without_a_field_begins_with_the_place() -> None:
    error = InputError("a.json", found=1, allowed="2", next_step="write 2")
    assert str(error).splitlines()[0] == "a.json"


def test_the_parts_are_plain_data_of_all_findings() -> None:
    inner = one(DriftError, found=3, also=(one(found=None),))
    parts = json.loads(json.dumps(one(also=(inner,)).parts()))
    assert [part["error"] for part in parts] == ["InputError", "DriftError", "InputError"]
    assert [part["found"] for part in parts] == ["'4 GB'", "3", "None"]
    assert set(parts[0]) == {"error", "place", "field", "found", "allowed", "next"}


def test_one_report_shows_all_findings() -> None:
    text = str(one(also=(one(found=3), one(found=InWords("nothing")))))
    assert text.count("a.json: environment.memory_mb") == 3
    assert "  found    nothing\n" in text


@every_kind
def test_an_error_crosses_to_another_process_whole(kind: type[BenchlibError]) -> None:
    error = one(kind, found="it's", also=(one(DriftError),))
    for again in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert type(again) is kind
        assert again.parts() == error.parts()
        assert str(again) == str(error)
        assert again.exit_status == error.exit_status


def test_what_one_error_found_another_may_take_over_unchanged() -> None:
    error = one(found="4 GB")
    assert one(found=error.found).found == error.found == "'4 GB'"


# -- what is shown -----------------------------------------------------------------------------


def test_text_keeps_its_quotes_and_words_have_none() -> None:
    assert (shown("4"), shown(4), shown(InWords("no file"))) == ("'4'", "4", "no file")


@given(st.one_of(st.text(), st.binary(), st.integers(), st.lists(st.text()), st.floats()))
@example("\x1b[2J\x1b]0;title\x07")
@example("\u202eevil\u202c\u2066x\u2069\u200b\ufeff")
@example("one\rtwo\x85three\u2028four\u2029five\x0bsix")
@example("\ud800")
@example(["\x1b[0m", "\u202e"])
def test_what_is_shown_is_one_line_without_anything_unseen(value: object) -> None:
    for text in (
        shown(value),
        shown(InWords(value if isinstance(value, str) else "")),
        escaped(str(value)),
    ):
        assert len(text.splitlines()) <= 1
        assert not [each for each in text if unicodedata.category(each) in UNSEEN]
        text.encode()  # would fail for a surrogate
    assert len(shown(value)) <= SHOWN_CHARACTERS


UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@given(st.text(st.characters(exclude_categories=["C", "Zl", "Zp"])))
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert escaped(text) == text


def test_all_parts_of_a_message_are_escaped() -> None:
    nasty = "a\x1b[31m\n\u202eb"
    error = InputError(nasty, nasty, found=nasty, allowed=nasty, next_step=nasty)
    assert len(str(error).splitlines()) == 4
    assert not set(str(error)) & {"\x1b", "\u202e"}
    assert error.place == "a\\x1b[31m\\n\\u202eb"


def test_a_long_value_is_cut_and_says_so() -> None:
    text = shown("x" * 500)
    assert len(text) == SHOWN_CHARACTERS
    assert text.endswith("…")
    assert shown("x" * (SHOWN_CHARACTERS - 2)) == repr("x" * (SHOWN_CHARACTERS - 2))


def test_a_huge_value_costs_no_more_than_a_long_one() -> None:
    assert len(shown("sk-" + "a" * 50_000_000)) <= SHOWN_CHARACTERS


# -- secrets -----------------------------------------------------------------------------------

# Put together here, so that no scanner takes this file for a leak.
TAIL = "a1B2c3D4e5F6g7H8i9J0"
SECRETS = {
    "model provider": "sk-" + TAIL,
    "model provider, long prefix": "sk-ant-api03-" + TAIL,
    "payment": "sk_" + "live_" + TAIL,
    "code host": "ghp_" + TAIL,
    "code host, server": "ghs_" + TAIL,
    "code host, fine-grained": "github" + "_pat_" + TAIL,
    "another code host": "glpat-" + TAIL,
    "chat": "xoxb-" + TAIL,
    "cloud": "AKIA" + TAIL.upper(),
    "cloud, temporary": "ASIA" + TAIL.upper(),
    "another cloud": "AIza" + TAIL,
    "model hub": "hf_" + TAIL,
    "package registry": "npm_" + TAIL,
    "web token": f"eyJ{TAIL}.{TAIL}.{TAIL}",
    "header": f"Bearer {TAIL}",
    "header in small letters": f"authorization: bearer {TAIL}",
    "URL": f"https://user:{TAIL}@example.invalid/x",
    "private key": f"-----BEGIN {'RSA PRIVATE'} KEY-----{TAIL}",
}


@pytest.mark.parametrize("secret", SECRETS.values(), ids=SECRETS)
@pytest.mark.parametrize("dress", ["{}", "key={}", '{{"token": "{}"}}', "a {} b {}", "({})"])
def test_a_credential_is_cut_from_every_part(secret: str, dress: str) -> None:
    text = dress.format(secret, secret)
    error = InputError(text, text, found=text, allowed=text, next_step=text)
    for told in (str(error), json.dumps(error.parts()), shown([text]), shown({"k": text})):
        assert TAIL not in told
        assert TAIL.upper() not in told
        assert "<secret>" in told


def test_a_credential_is_cut_before_the_value_is() -> None:
    for padding in range(SHOWN_CHARACTERS - 40, SHOWN_CHARACTERS + 5):
        assert "sk-a1B" not in shown(" " * padding + SECRETS["model provider"])


@pytest.mark.parametrize(
    "text",
    [
        "the task-runner asks for a bearer token",
        "Bearer authentication is required",
        "risk-adjusted-figures and disk-space-limits",
        "https://example.invalid:8080/path@version",
        "a1b2c3d4" * 8,
        "akiaa, eyJ and hf_ are prefixes",
    ],
)
def test_ordinary_words_are_no_credentials(text: str) -> None:
    assert "<secret>" not in shown(text)
