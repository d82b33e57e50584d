import pytest

from onward.streams.errors import LedgerError
from onward.streams.ledger import Ledger


def test_a_damaged_ledger_is_told(tmp_path):
    path = tmp_path / "journal-0.sqlite"
    path.write_bytes(b"not a ledger" * 1000)
    with pytest.raises(LedgerError, match=r"is damaged \(file is not a database\): start the worker again"):
        Ledger(path, "journal", 0)


def test_a_state_directory_that_is_a_file_is_told(tmp_path):
    (tmp_path / "state").touch()
    with pytest.raises(LedgerError, match=r"journal-0\.sqlite cannot be opened: File exists; check --state-dir"):
        Ledger(tmp_path / "state" / "journal-0.sqlite", "journal", 0)
