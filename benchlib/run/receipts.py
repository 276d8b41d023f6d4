"""Where receipts lie, and how they are written: whole, once, never edited."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from benchlib.contracts.attempt import ArmName, ArmReceipt, KeptFile
from benchlib.contracts.base import Contract
from benchlib.contracts.files import write_atomically
from benchlib.contracts.pair import PairReceipt
from benchlib.contracts.reading import read_file


@dataclass(frozen=True)
class ReceiptFolder:
    """The receipts of one cohort version.

    Layout: ``journal.jsonl``, ``preparations/CHALLENGE--FIXTURE.json``,
    ``PAIR/ATTEMPT/pair.json`` and ``PAIR/ATTEMPT/ARM/receipt.json`` with the arm's files.
    """

    root: Path

    @property
    def journal(self) -> Path:
        """The journal's file."""
        return self.root / "journal.jsonl"

    def preparation(self, challenge: str, fixture: str) -> Path:
        """The file that tells how a workspace came to be."""
        return self.root / "preparations" / f"{challenge}--{fixture}.json"

    def attempt(self, pair: str, attempt: str) -> Path:
        """The folder of one attempt at a pair."""
        return self.root / pair / attempt

    def arm(self, pair: str, attempt: str, arm: ArmName) -> Path:
        """The folder of one arm of an attempt."""
        return self.attempt(pair, attempt) / arm

    def read_pair(self, pair: str, attempt: str) -> PairReceipt | None:
        """Return a pair's receipt; None when none was written."""
        return _read_if_there(PairReceipt, self.attempt(pair, attempt) / "pair.json")

    def read_arm(self, pair: str, attempt: str, arm: ArmName) -> ArmReceipt | None:
        """Return an arm's receipt; None when none was written."""
        return _read_if_there(ArmReceipt, self.arm(pair, attempt, arm) / "receipt.json")

    def write_pair(self, receipt: PairReceipt) -> str:
        """Write a pair's receipt and return its digest."""
        return write_contract(self.attempt(receipt.pair, receipt.attempt) / "pair.json", receipt)

    def write_arm(self, receipt: ArmReceipt) -> str:
        """Write an arm's receipt and return its digest."""
        folder = self.arm(receipt.pair, receipt.attempt, receipt.arm)
        return write_contract(folder / "receipt.json", receipt)


def write_contract(path: Path, contract: Contract) -> str:
    """Write a contract's canonical bytes and return their digest."""
    data = contract.canonical()
    write_atomically(path, data)
    return hashlib.sha256(data).hexdigest()


def kept_files(folder: Path) -> tuple[KeptFile, ...]:
    """List what lies beside an arm's receipt, by path, with digests."""
    return tuple(
        KeptFile(
            path=path.relative_to(folder).as_posix(),
            sha256=hashlib.sha256(data := path.read_bytes()).hexdigest(),
            bytes=len(data),
        )
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "receipt.json" and not path.name.startswith(".")
    )


_ContractT = TypeVar("_ContractT", bound=Contract)


def _read_if_there(model: type[_ContractT], path: Path) -> _ContractT | None:
    return read_file(model, path) if path.exists() else None
