"""The one strict reader: what it refuses, where it says the fault stands, and how fast."""

from __future__ import annotations

import json
import os
import resource
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchlib.contracts import (
    CONTRACTS,
    Challenge,
    Cohort,
    Condition,
    Fixture,
    RestoreResponse,
    ScriptedPolicy,
    SnapshotResponse,
    Trajectory,
)
from benchlib.contracts.reading import (
    DEEPEST,
    LARGEST_FILE_BYTES,
    StrictJsonError,
    field_path,
    parse,
    read,
    read_bytes,
    read_file,
)
from benchlib.errors import InputError, VersionError

EXAMPLES = Path(__file__).parent / "examples"
GOOD = b'{"project":"p-1","queue_before_count":0,"restore_seconds":1.5}'

KEEPS = "whole numbers up to 9007199254740991, fractions that a double keeps"
ONCE = "each key of an object once"
UTF8 = "UTF-8 without a byte order mark or lone surrogates"
FINITE = "finite numbers that a double can carry"
OBJECT = "one JSON object, at most 32 levels deep"
NOTHING_AFTER = "exactly one JSON object and nothing after it"

# id, what stands in the good document, what stands there instead, the field, the rule
HOSTILE: list[tuple[str, bytes, bytes, str, str]] = [
    ("nothing", GOOD, b"", "", OBJECT),
    ("blanks alone", GOOD, b" \n\t", "", OBJECT),
    ("half of it", GOOD, GOOD[:30], "line 1, column 18", OBJECT),
    ("BOM", b'{"project', b'\xef\xbb\xbf{"project', "", UTF8),
    ("UTF-16", GOOD, GOOD.decode().encode("utf-16"), "", UTF8),
    ("UTF-16 without a mark", GOOD, GOOD.decode().encode("utf-16-le"), "line 1, column 2", OBJECT),
    ("UTF-32", GOOD, GOOD.decode().encode("utf-32"), "", UTF8),
    ("Latin-1", b"p-1", b"p-\xe9", "byte 14", UTF8),
    ("UTF-8 of a surrogate", b"p-1", b"p-\xed\xa0\x80", "byte 14", UTF8),
    ("overlong UTF-8", b"p-1", b"p-\xc0\xaf", "byte 14", UTF8),
    ("a lone surrogate", b"p-1", rb"\ud800", "project", UTF8),
    ("the wrong half first", b"p-1", rb"\udc00\ud800", "project", UTF8),
    ("a lone surrogate in a key", b'"project"', rb'"\udfff"', '["\\udfff"]', UTF8),
    ("a lone surrogate in a list", b"1.5", rb'[1,["a","\ud800"]]', "restore_seconds[1][1]", UTF8),
    (
        "a lone surrogate at depth",
        b"1.5",
        rb'{"a":[{"b":"\ud800"}]}',
        "restore_seconds.a[0].b",
        UTF8,
    ),
    ("a key twice", b'{"project', b'{"project":"x","project', "project", ONCE),
    ("a key twice, once escaped", b'{"project', rb'{"\u0070roject":"x","project', "project", ONCE),
    (
        "a key twice at depth",
        b"1.5",
        b'{"a":[{"b":1,"c":2,"b":1}]}',
        "restore_seconds.a[0].b",
        ONCE,
    ),
    (
        "a key twice in a list of lists",
        b"1.5",
        b'[[0,{"b":1,"b":1}]]',
        "restore_seconds[0][1].b",
        ONCE,
    ),
    ("NaN", b"1.5", b"NaN", "restore_seconds", FINITE),
    ("Infinity", b"1.5", b"Infinity", "restore_seconds", FINITE),
    ("-Infinity", b"1.5", b"-Infinity", "restore_seconds", FINITE),
    ("1e999", b"1.5", b"1e999", "restore_seconds", FINITE),
    ("-1e400", b"1.5", b"-1e400", "restore_seconds", FINITE),
    ("NaN at depth", b"1.5", b'[{"x":[NaN]}]', "restore_seconds[0].x[0]", FINITE),
    ("2^53 as a count", b":0,", b":9007199254740992,", "queue_before_count", KEEPS),
    ("-2^53", b":0,", b":-9007199254740992,", "queue_before_count", KEEPS),
    ("5000 digits", b":0,", b":" + b"1" * 5000 + b",", "queue_before_count", KEEPS),
    ("2^53 + 1 as seconds", b"1.5", b"9007199254740993", "restore_seconds", KEEPS),
    ("2^53 + 1 as a fraction", b"1.5", b"9007199254740993.0", "restore_seconds", KEEPS),
    ("an even larger whole fraction", b"1.5", b"1e17", "restore_seconds", KEEPS),
    ("digits beyond a double", b"1.5", b"0.12345678901234567890", "restore_seconds", KEEPS),
    ("smaller than a double", b"1.5", b"1e-400", "restore_seconds", KEEPS),
    ("an exponent beyond all bounds", b"1.5", b"1e-99999999999999999999", "restore_seconds", KEEPS),
    ("an exponent of a billion", b"1.5", b"1e-999999999", "restore_seconds", KEEPS),
    ("a fraction of 1000 digits", b"1.5", b"0." + b"1" * 1000, "restore_seconds", KEEPS),
    ("a second object", GOOD, GOOD + b"\n" + GOOD, "line 2, column 1", NOTHING_AFTER),
    ("a word behind", GOOD, GOOD + b"\ndone\n", "line 2, column 1", NOTHING_AFTER),
    ("a comment behind", GOOD, GOOD + b" // ok", "line 1, column 64", NOTHING_AFTER),
    ("a NUL behind", GOOD, GOOD + b"\0", "line 1, column 63", NOTHING_AFTER),
    ("a form feed behind", GOOD, GOOD + b"\x0c", "line 1, column 63", NOTHING_AFTER),
    ("a no-break space behind", GOOD, GOOD + b"\xc2\xa0", "line 1, column 63", NOTHING_AFTER),
    ("a log line in front", GOOD, b"ready\n" + GOOD, "line 1, column 1", OBJECT),
    ("a comma at the end", b"1.5}", b"1.5,}", "line 1, column 63", OBJECT),
    ("single quotes", b'"p-1"', b"'p-1'", "line 1, column 12", OBJECT),
    ("a comment inside", b'{"project', b'{/* */"project', "line 1, column 2", OBJECT),
    ("a raw control character", b"p-1", b"p\x01", "line 1, column 14", OBJECT),
    ("a leading zero", b":0,", b":00,", "line 1, column 40", OBJECT),
    ("a plus sign", b":0,", b":+0,", "line 1, column 39", OBJECT),
    ("hexadecimal", b":0,", b":0x10,", "line 1, column 40", OBJECT),
    ("an array", GOOD, b"[" + GOOD + b"]", "", "one JSON object"),
    ("a string", GOOD, b'"text"', "", "one JSON object"),
    ("null", GOOD, b"null", "", "one JSON object"),
    ("33 levels", b"1.5", b"[" * 32 + b"]" * 32, "line 1, column 90", OBJECT),
]


@pytest.mark.parametrize(
    ("original", "changed", "field", "allowed"),
    [row[1:] for row in HOSTILE],
    ids=[r[0] for r in HOSTILE],
)
def test_bytes_that_break_strict_json_are_refused(
    original: bytes, changed: bytes, field: str, allowed: str
) -> None:
    assert GOOD.count(original) == 1
    with pytest.raises(InputError) as caught:
        read(RestoreResponse, GOOD.replace(original, changed), "answer.json")
    assert (caught.value.place, caught.value.field) == ("answer.json", field)
    assert caught.value.allowed == allowed
    assert caught.value.next_step == "write the file as strict JSON"
    assert not caught.value.also


# id, document, field, found, allowed
INTEGER = "a whole number, written without quotes, fraction or exponent"
WRONG: list[tuple[str, bytes, str, str, str]] = [
    ("1.0 is no integer", b":1.0,", "queue_before_count", "1.0", INTEGER),
    ("1e0 is no integer", b":1e0,", "queue_before_count", "1.0", INTEGER),
    ("true is no integer", b":true,", "queue_before_count", "true", INTEGER),
    ("text is no integer", b':"0",', "queue_before_count", "'0'", INTEGER),
    ("null is no integer", b":null,", "queue_before_count", "null", INTEGER),
    ("a count is not negative", b":-1,", "queue_before_count", "-1", "0 or more"),
    ("an object is no integer", b':{"a":null},', "queue_before_count", '{"a": null}', INTEGER),
]


@pytest.mark.parametrize(
    ("changed", "field", "found", "allowed"), [row[1:] for row in WRONG], ids=[r[0] for r in WRONG]
)
def test_a_value_of_the_wrong_type_is_shown_as_the_file_has_it(
    changed: bytes, field: str, found: str, allowed: str
) -> None:
    with pytest.raises(InputError) as caught:
        read(RestoreResponse, GOOD.replace(b":0,", changed), "answer.json")
    error = caught.value
    assert (error.field, error.found, error.allowed) == (field, found, allowed)


@pytest.mark.parametrize(
    "number",
    [
        "0.1",
        "1e0",
        "1E-7",
        "0.10000000000000001",
        "0e-99999999999999999999",
        "1.5e+1",
        "-0.0",
        "5e-324",
        "5.960464477539063e-8",
        "1.50000",
    ],
)
def test_a_fraction_that_a_double_keeps_is_read(number: str) -> None:
    document = parse(GOOD.replace(b"1.5", number.encode()))
    assert document["restore_seconds"] == float(number)


@given(
    st.floats(
        allow_nan=False, allow_infinity=False, min_value=-(2.0**53) + 1, max_value=2.0**53 - 1
    )
)
@example(5.9604644775390625e-08)  # 2^-24: half way between two numbers of as many digits
@example(5e-324)
def test_what_any_json_writer_prints_of_a_double_is_read(value: float) -> None:
    for text in (json.dumps(value), f"{value:.17g}", f"{value:.30e}"):
        assert parse(b'{"x":%s}' % text.encode())["x"] == value


def test_32_levels_are_read_and_33_are_not() -> None:
    inner = DEEPEST - 1
    assert parse(b'{"a":' + b"[" * inner + b"]" * inner + b"}")
    with pytest.raises(StrictJsonError) as caught:
        parse(b'{"a":' + b"[" * DEEPEST + b"]" * DEEPEST + b"}")
    assert caught.value.reason == "not-json"


def test_brackets_inside_strings_are_no_levels() -> None:
    text = "[{" * 500 + '\\"' + "]}" * 20
    assert parse(json.dumps({"a": text}).encode()) == {"a": text}


# Half a million bytes each; a reader that is quadratic, or recurses, does not come back in time.
MANY = 500_000
LARGE = {
    "arrays": b"[" * MANY + b"]" * MANY,
    "objects": b'{"a":' * MANY + b"1" + b"}" * MANY,
    "a string without an end": b'{"a":"' + b"x" * MANY,
    "escaped quotes without an end": b'{"a":"' + rb"\"" * MANY,
    "a backslash at the end": b'{"a":"' + b"x" * MANY + b"\\",
    "quotes": b'"' * (MANY + 1),
    "digits": b'{"a":' + b"1" * MANY + b"}",
    "digits of a fraction": b'{"a":0.' + b"1" * MANY + b"}",
    "zeros of an exponent": b'{"a":1e-' + b"9" * MANY + b"}",
    "blanks": b" " * MANY,
    "commas": b'{"a":[' + b"," * MANY + b"]}",
    "unknown fields": b"{" + b",".join(b'"k%d":1' % n for n in range(MANY // 10)) + b"}",
}


@pytest.mark.parametrize("data", LARGE.values(), ids=LARGE)
def test_hostile_bulk_is_refused_in_linear_time(data: bytes) -> None:
    begin = time.process_time()
    with pytest.raises(InputError) as caught:
        read(RestoreResponse, data, "answer.json")
    assert time.process_time() - begin < 10  # quadratic: hours
    assert len(str(caught.value)) < 50_000


def test_a_report_ends_after_a_hundred_findings_and_says_how_many_are_left() -> None:
    unknown = b",".join(b'"k%d":1' % number for number in range(250))
    with pytest.raises(InputError) as caught:
        read(RestoreResponse, b"{" + unknown + b"," + GOOD[1:], "answer.json")
    assert len(caught.value.parts()) == 101
    assert caught.value.also[-1].found == "150 findings more"


# -- fields and versions -----------------------------------------------------------------------


def test_a_misspelt_field_is_told_with_the_nearest_name() -> None:
    with pytest.raises(InputError) as caught:
        read(RestoreResponse, GOOD.replace(b"restore_seconds", b"restore_second"), "answer.json")
    missing, unknown = caught.value, caught.value.also[0]
    assert (missing.field, missing.found) == ("restore_seconds", "nothing")
    assert missing.next_step == "add the field"
    assert (unknown.field, unknown.found) == ("restore_second", "1.5")
    assert unknown.allowed == "only the fields project, queue_before_count, restore_seconds"
    assert unknown.next_step == "write 'restore_seconds', or remove the field"


def test_an_unknown_field_deep_inside_is_told_with_the_fields_of_that_place() -> None:
    cohort = json.loads((EXAMPLES / "cohort.json").read_text())
    cohort["provisioner"]["limits"]["restore"]["minutes"] = 5
    with pytest.raises(InputError) as caught:
        read(Cohort, json.dumps(cohort).encode(), "cohort.json")
    assert caught.value.field == "provisioner.limits.restore.minutes"
    assert caught.value.allowed == "only the fields seconds, stdout_bytes"


@pytest.mark.parametrize("version", [0, -1, 2, 3, 2**40])
def test_an_unknown_version_is_told_alone_with_the_release_that_reads_it(version: int) -> None:
    document = {"schema_version": version, "fields": "of another time"}
    with pytest.raises(VersionError) as caught:
        read(Challenge, json.dumps(document).encode(), "challenge.json")
    error = caught.value
    assert (error.field, error.found, error.allowed) == ("schema_version", str(version), "1")
    assert error.next_step == f"read it with the release of benchlib that wrote version {version}"
    assert not error.also
    assert error.exit_status == 2


@pytest.mark.parametrize("version", [True, 1.0, "1", None, [1]])
def test_a_version_that_is_no_integer_is_an_ordinary_fault(version: object) -> None:
    document = json.loads((EXAMPLES / "challenge.json").read_text()) | {"schema_version": version}
    with pytest.raises(InputError) as caught:
        read(Challenge, json.dumps(document).encode(), "challenge.json")
    assert type(caught.value) is InputError
    assert caught.value.field == "schema_version"


def test_a_version_of_another_format_is_told_in_its_own_words() -> None:
    document = json.loads((EXAMPLES / "trajectory.json").read_text())
    with pytest.raises(VersionError) as caught:
        read(Trajectory, json.dumps(document | {"schema_version": "ATIF-v1.9"}).encode(), "t.json")
    assert caught.value.allowed == "ATIF-v1.0 to ATIF-v1.8"
    with pytest.raises(InputError) as plain:
        read(Trajectory, json.dumps(document | {"schema_version": 2}).encode(), "t.json")
    assert type(plain.value) is InputError


def test_a_newline_behind_an_identifier_is_no_identifier() -> None:
    with pytest.raises(InputError) as caught:
        read(Condition, b'{"id":"abc\\n","memory":null}', "condition.json")
    assert caught.value.found == repr("abc\n")


def test_digits_of_other_scripts_are_no_digits_of_a_time() -> None:
    line = json.loads((EXAMPLES / "price-table.json").read_text()) | {"dated": "\u0662026-01-31"}
    with pytest.raises(InputError) as caught:
        read_document("price-table", line)
    assert (caught.value.field, caught.value.allowed) == ("dated", "a date such as 2026-01-31")


@pytest.mark.parametrize(
    "when", ["2026-02-30T00:00:00Z", "2026-01-01T24:30:00Z", "0000-01-01T00:00:00Z"]
)
def test_a_time_that_never_was_is_refused(when: str) -> None:
    line = json.loads((EXAMPLES / "journal-line.json").read_text()) | {"at": when}
    with pytest.raises(InputError) as caught:
        read_document("journal-line", line)
    assert caught.value.field == "at"


def read_document(name: str, document: dict[str, object]) -> object:
    return read(CONTRACTS[name], json.dumps(document).encode(), f"{name}.json")


# -- places: those of the file, not those of the parser -----------------------------------------


def test_the_branch_of_a_union_is_no_part_of_a_place() -> None:
    fixture = json.loads((EXAMPLES / "fixture.json").read_text())
    fixture["corpus"]["commit"] = "HEAD"
    with pytest.raises(InputError) as caught:
        read(Fixture, json.dumps(fixture).encode(), "fixture.json")
    assert caught.value.field == "corpus.commit"
    assert caught.value.allowed.startswith("a full Git commit")


@pytest.mark.parametrize(
    ("corpus", "field", "found"),
    [
        ({"kind": "svn"}, "corpus.kind", "'svn'"),
        ({"location": "x"}, "corpus.kind", "nothing"),
        ([], "corpus", "[]"),
    ],
)
def test_a_kind_that_does_not_exist_is_told_at_the_kind(
    corpus: object, field: str, found: str
) -> None:
    fixture = json.loads((EXAMPLES / "fixture.json").read_text()) | {"corpus": corpus}
    with pytest.raises(InputError) as caught:
        read(Fixture, json.dumps(fixture).encode(), "fixture.json")
    assert (caught.value.field, caught.value.found) == (field, found)


def test_the_branches_of_a_union_are_one_finding() -> None:
    policy = json.loads((EXAMPLES / "scripted-policy.json").read_text())
    policy["rules"][0]["calls"][0]["arguments"]["limit"] = None
    with pytest.raises(InputError) as caught:
        read(ScriptedPolicy, json.dumps(policy).encode(), "policy.json")
    assert caught.value.field == "rules[0].calls[0].arguments.limit"
    assert caught.value.allowed == f"a string, or {INTEGER}, or true or false"
    assert not caught.value.also  # and `rules` is not called too short beside it


def test_a_key_that_is_wrong_is_told_as_a_key() -> None:
    snapshot = json.loads((EXAMPLES / "provisioner-snapshot-response.json").read_text())
    snapshot["state"]["counts"] = {"two words": 1}
    with pytest.raises(InputError) as caught:
        read(SnapshotResponse, json.dumps(snapshot).encode(), "answer.json")
    assert caught.value.field == 'state.counts["two words"]'
    assert caught.value.found == "'two words'"


def test_a_place_is_written_as_people_write_it() -> None:
    assert field_path(("a", 0, "b-c", "d.e", "f\n")) == 'a[0].b-c["d.e"]["f\\n"]'


def test_all_findings_of_a_file_come_in_one_report() -> None:
    fixture = json.loads((EXAMPLES / "fixture.json").read_text())
    fixture["id"], fixture["probes"][0]["within_rank"] = "No!", 0
    fixture["corpus"]["commit"] = "HEAD"
    with pytest.raises(InputError) as caught:
        read(Fixture, json.dumps(fixture).encode(), "fixture.json")
    fields = [part["field"] for part in caught.value.parts()]
    assert fields == ["id", "corpus.commit", "probes[0].within_rank"]


# -- files -------------------------------------------------------------------------------------


def test_a_good_file_is_read_under_the_name_it_is_given(tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    path.write_bytes(b" \n" + GOOD + b"\r\n\t")
    assert read_file(RestoreResponse, path).project == "p-1"
    path.write_bytes(b"{}")
    with pytest.raises(InputError) as caught:
        read_file(RestoreResponse, path, "the answer")
    assert caught.value.place == "the answer"


@pytest.mark.parametrize(
    "kind", ["absent", "folder", "fifo", "loop", "dangling", "below a file", "NUL", "long"]
)
def test_what_is_no_readable_file_is_an_input_error_that_names_it(
    kind: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(GOOD)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "dangling").symlink_to("nowhere")
    names = {"below a file": "file/x", "NUL": "a\0b", "long": "x" * 5000}
    path = tmp_path / names.get(kind, kind)
    with pytest.raises(InputError) as caught:
        read_file(RestoreResponse, path)
    assert caught.value.place == str(path).replace("\0", "\\x00")
    assert caught.value.found[0] != "'"  # words, not a value
    assert caught.value.allowed.startswith(("a regular file", "a file that can be read"))
    assert caught.value.exit_status == 2


def test_a_file_that_fails_while_it_is_read_is_an_input_error() -> None:
    # A regular file of the kernel's whose first byte can't be read, by nobody.
    with pytest.raises(InputError) as caught:
        read_bytes(Path("/proc/self/mem"))
    assert caught.value.found == "Input/output error"


def test_a_file_over_the_bound_is_refused_without_reading_it_all(tmp_path: Path) -> None:
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(LARGEST_FILE_BYTES * 1000)  # sparse: 64 GB that take no room
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError) as caught:
        read_bytes(path)
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert caught.value.found == f"more than {LARGEST_FILE_BYTES} bytes"
    assert grown_kib * 1024 < 4 * LARGEST_FILE_BYTES


def test_a_file_of_the_largest_size_is_read(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    path.write_bytes(GOOD + b" " * (LARGEST_FILE_BYTES - len(GOOD)))
    assert read_bytes(path)[: len(GOOD)] == GOOD
    with path.open("ab") as file:
        file.write(b" ")
    with pytest.raises(InputError):
        read_bytes(path)
