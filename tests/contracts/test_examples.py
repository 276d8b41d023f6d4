"""A published contract does not change: one committed file of each, and its digest as a literal.

If a digest differs, the contract was changed: files of earlier releases then have other digests
than the receipts say. Write a new version beside the old one instead.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchlib.contracts import CONTRACTS
from benchlib.contracts.reading import read, read_file

EXAMPLES = Path(__file__).parent / "examples"

PUBLISHED = dict(
    line.split()
    for line in """
arm-receipt 73cf5c9883031453566e8bda9c615f583e20b936c58408295611485b7ed1a630
certification 5d0cd6661ab42ae171dcaaa49f700e82961cb59b92904fbc34cd90874acb88a8
challenge a407566e627ac6345a37df1f81128845ab09d4b1f2a7e25ed288b2dceaf1c1ca
cohort bf0ad9dd202d13703f708b46d25216081a4ad81c8a4a8fba00b60930a84a7911
condition 1b5e76787c0a18683708f7639371c607d7c75679f726b5506a739523d43706f4
fixture b0d01c020d21f5ee99965f41822fcd1f54e78b944ce0587eff32e638cefcb1b1
journal-line 6fc9d93216359c24b59278421cfc2256d4b98882ba6fa4349efa4eca56b7d552
mutation-report 5ed75e03960cfc8781e254cd52bb0a3113f313155c55b4d23cb544a8480ffbef
pair-receipt e118fb252d37f1bd6e4804fc87f11bd133f760d2b144f399d1eec7fada3fdc3a
plan-lock 45e94e87bc2d261cd6290512ff6749ba2ef92e110a63b9e7c24b7ef54fd5c52f
prepared-tree fc6b6018b7f0b791e013f8902f8ed33507b6e486742c81f0df722ac05331625e
preparation e60b73508ed2313b7dbeeb025a512b8d4445a1f58022970aee5421e34a015056
price-table a6470267b10bfacbc72fe1991424c2dec687c71113ead9098e4d83ff96010f82
provisioner-destroy-response 4062edaf750fb8074e7e83e0c9028c94e32468a8b6f1614774328ef045150f93
provisioner-project-request 4ed06957b0e3eae56dcafbdf3cea4159a5f9f82592956989ee7d7c9567c0e6ca
provisioner-restore-request 95d24917bcf11ace72a643734e65c9ba71fd7792f998d212ef21772f4a854858
provisioner-restore-response 08bef02b10c4786e8092ae1d65218a8028904368273ec7859b24b2ac94c11391
provisioner-snapshot-response a7283c341a74f3fc4e851fa80c971e12a54dd9b0c8a9c787cd8bea9bab2d1b87
redaction-receipt 883716e01f3072d6c391d8a37c4d606fcd51fcba9502da336e934516cc689ea5
scripted-policy 0dae2f3836ff94b1433f3241efe5e14bc45901b5b1ddaf4b37c17d5ce70e4e5b
trajectory fa62fe7e83f9ddd72ab63e445d34949ee1dd69b349701b831fedbec0898a2237
verdict 540350c449b28eac53c1d815c0db546b8e2436f05036407b6b180e5eb3955e9a
""".strip().splitlines()
)


def test_every_contract_has_a_published_example_and_no_example_is_left_over() -> None:
    assert set(PUBLISHED) == set(CONTRACTS)
    assert {path.stem for path in EXAMPLES.iterdir()} == set(CONTRACTS)


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_example_has_its_published_digest(name: str) -> None:
    example = read_file(CONTRACTS[name], EXAMPLES / f"{name}.json")
    assert example.canonical_sha256() == PUBLISHED[name]


@pytest.mark.parametrize("name", PUBLISHED)
def test_canonical_bytes_are_what_another_writer_makes(name: str) -> None:
    # Without keys beyond the basic plane and with fractions that both write alike, RFC 8785 is
    # Python's own compact form with sorted keys.
    example = read_file(CONTRACTS[name], EXAMPLES / f"{name}.json")
    plain = example.model_dump(mode="json", by_alias=True)
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert example.canonical() == text.encode()


@pytest.mark.parametrize("name", PUBLISHED)
def test_an_example_that_was_written_is_the_example(name: str) -> None:
    example = read_file(CONTRACTS[name], EXAMPLES / f"{name}.json")
    assert read(CONTRACTS[name], example.canonical(), name) == example


def test_the_examples_between_them_fill_every_field() -> None:
    # A field that no example fills could change its meaning unnoticed.
    empty = [
        f"{name}.{field}"
        for name, model in CONTRACTS.items()
        for field in model.model_fields
        if getattr(read_file(model, EXAMPLES / f"{name}.json"), field) in (None, "")
    ]
    assert set(empty) <= {
        "arm-receipt.detail",  # empty for a completed arm
        "arm-receipt.reason",
        "certification.corpus_unchecked_by",  # only where a corpus was absent
        "journal-line.detail",
        "journal-line.reason",
        "pair-receipt.detail",
        "pair-receipt.reason",
        "prepared-tree.archive_sha256",  # this one comes from a commit
        "price-table.cache_write",  # an absent price is unknown
        "trajectory.trajectory_id",
    }
