import errno
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from onward import __version__
from onward.schemas.specfile import SpecError
from onward.streams import cli
from onward.streams.errors import BrokerError, LedgerError, ModelError, UsageError

ONWARD = Path(sys.executable).with_name("onward")


def failing(error: BaseException) -> type:
    class Module:
        @staticmethod
        def run(args: Sequence[str]) -> int:
            raise error

    return Module


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> object:
    """Makes `onward status` end with an error."""

    def install(error: BaseException) -> None:
        monkeypatch.setattr(cli.importlib, "import_module", lambda *_: failing(error))

    return install


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (UsageError("wrong flag"), 2, "onward: wrong flag\n"),
        (BrokerError("no Kafka"), 3, "onward: no Kafka\n"),
        (LedgerError("no ledger"), 4, "onward: no ledger\n"),
        (ModelError("bad hash"), 5, "onward: bad hash\n"),
        (SpecError([], Path("a.yaml")), 2, ""),
        (RuntimeError("two\n  lines"), 1, "onward: unexpected RuntimeError: two lines (ONWARD_DEBUG=1 shows where)\n"),
        (KeyboardInterrupt(), 130, "onward: interrupted\n"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_an_error_is_one_line_and_an_exit_code(
    command: object, capsys: pytest.CaptureFixture[str], error: BaseException, code: int, line: str
) -> None:
    command(error)
    assert cli.main(["status"]) == code
    assert capsys.readouterr() == ("", line)


def test_onward_debug_prints_the_traceback(
    command: object, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONWARD_DEBUG", "1")
    command(RuntimeError("why"))
    assert cli.main(["status"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"onward {__version__}\n"
    assert cli.main([]) == 0
    text = capsys.readouterr().out
    assert all(name in text and summary in text for name, summary in cli.COMMANDS.items())


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = cli.main([name, "--help"])
    except SystemExit as done:
        code = int(done.code or 0)
    assert code == 0
    assert capsys.readouterr().out.startswith(f"usage: onward {name}")


def test_a_misspelt_command_is_answered_with_the_closest_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["topcis"]) == 2
    assert capsys.readouterr().err == "onward: there is no command 'topcis': did you mean `onward topics`?\n"
    assert cli.main(["topics", "make"]) == 2
    assert "use create or check" in capsys.readouterr().err


def test_help_imports_no_command() -> None:
    code = "import sys; from onward.streams.cli import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    imported = set(done.stderr.split())
    assert "onward.streams.cli" in imported
    assert not imported & {"numpy", "faust", "pydantic", "onward.streams.cli.demo"}


def test_all_missing_and_wrong_flags_are_named_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["worker", "--chunk-records", "0"]) == UsageError.exit_code
    assert capsys.readouterr().err == (
        "onward: --brokers, --spec and --state-dir are missing: give them, or set ONWARD_BROKERS, ONWARD_SPEC and "
        "ONWARD_STATE_DIR; --chunk-records or ONWARD_CHUNK_RECORDS: input should be greater than or equal to 1 "
        "(it is '0')\n"
    )


def test_an_impossible_state_folder_is_refused_before_connecting_to_kafka(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    folder = tmp_path / "file"
    flags = ["--brokers", "127.0.0.1:1", "--spec", "absent.yaml", "--state-dir", str(folder)]
    assert cli.main(["worker", *flags]) == LedgerError.exit_code
    assert capsys.readouterr().err.startswith(f"onward: --state-dir {folder}: cannot be written: {folder} is not a ")


@pytest.mark.attack
def test_too_many_open_files_are_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(args: list[str]) -> int:
        try:
            raise OSError(errno.EMFILE, "Too many open files", "x")
        except OSError as error:
            raise BrokerError("Kafka cannot be reached") from error

    monkeypatch.setattr(cli, "_dispatch", fail)
    assert cli.main([]) == 1
    assert capsys.readouterr().err == f"onward: {cli.NO_DESCRIPTORS}\n"


@pytest.mark.parametrize(
    ("args", "flag"),
    [
        (["train", "loans.csv", "--sepc", "loans.yaml"], "--sepc: did you mean --spec?"),
        (["suggest", "loans.csv", "--sepc=loans.yaml"], "--sepc: did you mean --spec?"),
        (["worker", "--brokers", "localhost:9092", "--statedir", "x"], "--statedir: did you mean --state-dir?"),
    ],
)
def test_a_misspelled_flag_is_told_before_what_is_missing_because_of_it(args, flag, capsys):
    assert cli.main(args) == UsageError.exit_code
    [line] = capsys.readouterr().err.splitlines()
    assert line == f"onward: there is no flag {flag} (see `onward {args[0]} --help`)"


def test_a_misspelled_flag_of_an_action_is_told_and_the_right_one_is_taken(tmp_path, capsys):
    assert cli.main(["spec", "draft", str(tmp_path / "absent.csv"), "--lable", "y"]) == UsageError.exit_code
    assert "there is no flag --lable: did you mean --label? (see `onward spec draft" in capsys.readouterr().err
    assert cli.main(["spec", "draft", str(tmp_path / "absent.csv"), "--label", "y"]) == UsageError.exit_code
    assert "absent.csv: cannot be read" in capsys.readouterr().err


BROKEN_TLS = [
    ["topics", "check"],
    ["topics", "create"],
    ["status"],
    ["show", "ada"],
    ["dead-letters", "list"],
    ["demo"],
    ["simulate"],
]


@pytest.mark.parametrize("args", BROKEN_TLS, ids=lambda args: args[0])
def test_broken_tls_files_end_every_command_alike(args, tmp_path, capsys):
    broken = tmp_path / "ca.pem"
    broken.write_text("-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----\n")
    secured = ["--brokers", "localhost:1", "--security-protocol", "SSL", "--ssl-cafile", str(broken)]
    assert cli.main([*args, *secured]) == UsageError.exit_code
    assert f"TLS files {broken} cannot be used: " in capsys.readouterr().err


def test_commands_that_work_on_files_read_no_variables_and_take_lists_as_they_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SPEC", "STATE_DIR", "LIMIT", "SEED", "PEOPLE"):
        monkeypatch.setenv(f"ONWARD_{name}", "a.yaml,b.yaml")
    assert cli.main(["models", "check", "manifest.json"]) == 2
    assert capsys.readouterr().err == (
        "onward: --spec and --state-dir are missing: give them (--spec: the program's spec; repeat the flag for those "
        "of other programs; --state-dir: folder of a worker's ledgers; repeat the flag for every worker that serves "
        "the program)\n"
    )
    assert cli.main(["spec", "draft", "loans.csv"]) == 2
    assert capsys.readouterr().err == "onward: --label is missing: give it (column that says what happened)\n"
    folder = tmp_path / "a,b"
    assert cli.main(["spec", "check", str(folder / "c,d.yaml"), "e,f.yaml"]) == 2
    assert [line.split(":")[0] for line in capsys.readouterr().err.splitlines()] == [
        str(folder / "c,d.yaml"),
        "e,f.yaml",
    ]


def test_retrains_are_named_where_the_flag_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    line = ["models", "import", "m.onnx", "--data", "d.csv", "--spec", "s.yaml", "--output", "o", "--retrain"]
    assert cli.main(line) == 2
    assert "--retrain: expected at least one argument" in capsys.readouterr().err


def test_commands_that_serve_pages_say_which_extra_they_need(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onward.streams.cli.console.find_spec", lambda _: None)
    for command in (["console", "link", "x"], ["demo", "--pages"]):
        assert cli.main(command) == 2
        assert "needs more packages: pip install 'onward[console]'" in capsys.readouterr().err
