from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlib.contracts.policy import Rule, ScriptedCall, ScriptedPolicy, When
from benchlib.errors import InputError
from benchlib.gateway import BadRequestError, ChatRequest, read_policy, scripted_answer
from benchlib.gateway.openai import Call, Message, response_body


def _rule(
    name: str, say: str = "yes", calls: tuple[ScriptedCall, ...] = (), **when: object
) -> Rule:
    return Rule(id=name, when=When.model_validate(when, strict=False), say=say, calls=calls)


def _request(
    *messages: Message, tools: tuple[str, ...] = (), seed: int | None = None
) -> ChatRequest:
    return ChatRequest(model="m", messages=messages, tools=tools, seed=seed)


def _said(policy: ScriptedPolicy, request: ChatRequest) -> str:
    return scripted_answer(policy, request).content


PROMPT = Message("user", "How wide is a label?")
HEARD = Message("tool", "The carrier cuts labels at 58 mm.", call_id="c1")

CONDITIONS = [
    ({"prompt": "wide"}, _request(PROMPT), _request(Message("user", "How long?"))),
    ({"heard": ["58"]}, _request(PROMPT, HEARD), _request(PROMPT)),
    ({"not_heard": ["58"]}, _request(PROMPT), _request(PROMPT, HEARD)),
    ({"offers": ["recall"]}, _request(PROMPT, tools=("recall",)), _request(PROMPT)),
    ({"lacks": ["recall"]}, _request(PROMPT), _request(PROMPT, tools=("recall",))),
    ({"seed_below": (1, 5)}, _request(PROMPT, seed=10), _request(PROMPT, seed=11)),
    ({"seed_below": (4, 5)}, _request(PROMPT, seed=0), _request(PROMPT)),
    (
        {"called": ["^read .*app"]},
        _request(PROMPT, Message("assistant", "", (Call("c", "read", '{"path": "app.py"}'),))),
        _request(PROMPT),
    ),
    (
        {"not_called": ["^read"]},
        _request(Message("assistant", "", (Call("c", "read", "{}"),)), PROMPT),
        _request(PROMPT, Message("assistant", "", (Call("c", "read", "{}"),))),
    ),
]


@pytest.mark.parametrize(
    ("when", "holds", "fails"), CONDITIONS, ids=[next(iter(c[0])) for c in CONDITIONS]
)
def test_each_condition_decides_alone(
    when: dict[str, object], holds: ChatRequest, fails: ChatRequest
) -> None:
    policy = ScriptedPolicy(name="p", rules=(_rule("one", **when), _rule("rest", "no")))
    assert _said(policy, holds) == "yes"
    assert _said(policy, fails) == "no"


def test_what_the_model_said_itself_is_not_heard() -> None:
    policy = ScriptedPolicy(name="p", rules=(_rule("one", heard=["58"]), _rule("rest", "no")))
    assert _said(policy, _request(PROMPT, Message("assistant", "It is 58."))) == "no"


def test_what_was_heard_last_fills_the_answer() -> None:
    call = ScriptedCall(name="write", arguments={"path": "a", "content": "{mm} mm"})
    policy = ScriptedPolicy(
        name="p", rules=(_rule("one", "it is {mm}", (call,), heard=[r"at (?P<mm>\d+) mm"]),)
    )
    later = Message("tool", "Corrected: at 62 mm.", call_id="c2")
    answer = scripted_answer(policy, _request(PROMPT, HEARD, later))
    assert answer.content == "it is 62"
    assert json.loads(answer.calls[0].arguments) == {"path": "a", "content": "62 mm"}


def test_a_request_that_no_rule_matches_is_refused_by_the_policys_name() -> None:
    policy = ScriptedPolicy(name="narrow", rules=(_rule("one", heard=["never"]),))
    with pytest.raises(BadRequestError, match="narrow"):
        scripted_answer(policy, _request(PROMPT))


def test_equal_requests_give_equal_bytes_whatever_was_asked_before() -> None:
    policy = ScriptedPolicy(name="p", rules=(_rule("one", "a"),))
    alone = response_body(scripted_answer(policy, _request(PROMPT, seed=1)), "1")
    scripted_answer(policy, _request(HEARD, seed=9))
    assert response_body(scripted_answer(policy, _request(PROMPT, seed=1)), "1") == alone
    assert alone["model"] == "p"
    assert alone["system_fingerprint"] == "scripted"


def test_a_policy_gives_the_same_bytes_under_two_hash_seeds(repository: Path) -> None:
    program = (
        "from benchlib.gateway import *\nfrom benchlib.gateway.openai import *\n"
        "from benchlib.contracts.policy import *\nimport json\n"
        "c = ScriptedCall(name='w', arguments={'b': '{x}', 'a': 1, 'c': True})\n"
        "r = Rule(id='r', when=When(heard=('(?P<x>o)',)), calls=(c,))\n"
        "p = ScriptedPolicy(name='p', rules=(r,))\n"
        "m = (Message('user', 'one'), Message('tool', 'two', call_id='c'))\n"
        "a = scripted_answer(p, ChatRequest('m', m, ('a', 'b'), 3))\n"
        "print(json.dumps(response_body(a, '1')))\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            cwd=repository,
        ).stdout
        for seed in ("0", "7")
    }
    assert len(outputs) == 1


@pytest.mark.parametrize(
    ("rule", "field", "allowed"),
    [
        ({"when": {"prompt": "("}, "say": "x"}, "when.prompt", "missing )"),
        ({"when": {"heard": ["a", r"(a)\1"]}, "say": "x"}, "when.heard[1]", "RE2"),
        ({"when": {"not_called": ["(?=a)"]}, "say": "x"}, "when.not_called[0]", "RE2"),
        ({"when": {"prompt": "(?P<mm>a)"}, "say": "{cm}"}, "say", "mm"),
        ({"when": {"prompt": "(?P<mm>a)"}, "say": "{Mm}"}, "say", "mm"),
        (
            {"when": {}, "calls": [{"name": "w", "arguments": {"a": "{cm}"}}]},
            "calls[0].arguments.a",
            "there is none",
        ),
        ({"when": {"not_heard": ["(?P<mm>a)"]}, "say": "{mm}"}, "say", "there is none"),
    ],
)
def test_a_policy_that_can_not_work_is_refused_when_it_is_read(
    tmp_path: Path, rule: dict[str, object], field: str, allowed: str
) -> None:
    path = tmp_path / "policy.json"
    document = {"schema_version": 1, "name": "p", "rules": [{"id": "bad", **rule}]}
    path.write_text(json.dumps(document))
    with pytest.raises(InputError) as caught:
        read_policy(path)
    assert caught.value.field == f"rules[0].{field}"
    assert allowed in caught.value.allowed


def test_all_findings_of_a_policy_stand_in_one_report(tmp_path: Path) -> None:
    path = tmp_path / "policy.json"
    rules = [
        {"id": "one", "when": {"prompt": "("}, "say": "{a} and {b}"},
        {"id": "one", "when": {}, "say": "x"},
    ]
    path.write_text(json.dumps({"schema_version": 1, "name": "p", "rules": rules}))
    with pytest.raises(InputError) as caught:
        read_policy(path)
    fields = [part["field"] for part in caught.value.parts()]
    assert fields == ["rules[0].when.prompt", "rules[0].say", "rules[0].say", "rules[1].id"]


def test_doubled_braces_are_braces_so_that_code_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / "policy.json"
    call = {"name": "write", "arguments": {"content": "f'{{width}} {mm}' {} {1}"}}
    rule = {"id": "one", "when": {"heard": ["(?P<mm>58)"]}, "calls": [call]}
    path.write_text(json.dumps({"schema_version": 1, "name": "p", "rules": [rule]}))
    answer = scripted_answer(read_policy(path), _request(PROMPT, HEARD))
    assert json.loads(answer.calls[0].arguments) == {"content": "f'{width} 58' {} {1}"}


def test_a_group_that_took_no_part_in_the_match_is_empty() -> None:
    policy = ScriptedPolicy(
        name="p", rules=(_rule("one", "<{unit}>", heard=[r"at 58( (?P<unit>cm))?"]),)
    )
    assert _said(policy, _request(PROMPT, HEARD)) == "<>"


def test_captured_braces_are_not_filled_again() -> None:
    policy = ScriptedPolicy(name="p", rules=(_rule("one", "{a}", heard=["(?P<a>{b})(?P<b>x)"]),))
    assert _said(policy, _request(PROMPT, Message("tool", "{b}x"))) == "{b}"


_TEXTS = st.text(max_size=40)
_MESSAGES = st.lists(
    st.builds(Message, st.sampled_from(["system", "user", "assistant", "tool"]), _TEXTS),
    min_size=1,
    max_size=6,
)


@given(
    asked=_MESSAGES,
    before=st.lists(_MESSAGES, max_size=3),
    seed=st.none() | st.integers(-(2**53), 2**53),
)
def test_only_the_request_decides(
    asked: list[Message], before: list[list[Message]], seed: int | None
) -> None:
    policy = ScriptedPolicy(
        name="p",
        rules=(
            _rule("odd", "{w}", seed_below=(1, 2), heard=[r"(?P<w>\w+)"]),
            _rule("rest", "no"),
        ),
    )
    alone = scripted_answer(policy, _request(*asked, seed=seed))
    for messages in before:
        scripted_answer(policy, _request(*messages, seed=seed))
    assert scripted_answer(policy, _request(*asked, seed=seed)) == alone


def test_tokens_are_one_for_every_four_bytes_of_each_message_rounded_up() -> None:
    policy = ScriptedPolicy(name="p", rules=(_rule("one", "12345"),))
    usage = scripted_answer(policy, _request(Message("user", "1234"), Message("tool", "é€"))).usage
    assert (usage.input_tokens, usage.output_tokens, usage.requests) == (1 + 2, 2, 1)
