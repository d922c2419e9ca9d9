"""The group: what it imports, how it answers mistakes, what its exit codes say."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib import import_module

import click
import pytest
from click.testing import CliRunner, Result

from sciret import __version__
from sciret.cli.main import COMMANDS, cli
from sciret.errors import BundleError, QueryError, SciretError

HEAVY = ("numpy", "rich", "onnxruntime", "tokenizers", "sqlite3", "ot", "torch")


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["search", "--help"], ["ingest", "--help"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    """What makes `sciret --help` slow is what it imports, so that is what is watched."""
    code = (
        "import sys\nfrom sciret.cli.main import cli\n"
        f"cli({arguments!r}, standalone_mode=False)\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_group_help_imports_no_command() -> None:
    """A command's module is imported only when the command is used."""
    code = (
        "import sys\nfrom sciret.cli.main import cli, COMMANDS\ncli(['--help'], standalone_mode=False)\n"
        "print([name for name in COMMANDS if f'sciret.cli.{name}' in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("name", COMMANDS)
def test_summary_is_the_first_line_of_the_commands_own_help(name: str) -> None:
    """The table that spares the import must not drift from what it stands for."""
    command = import_module(f"sciret.cli.{name}").command
    assert command.help.split("\n\n")[0].replace("\n", " ") == COMMANDS[name]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_help(name: str) -> None:
    """Nobody should have to read the source to know what an option does."""
    command = import_module(f"sciret.cli.{name}").command
    options = [option for option in command.params if isinstance(option, click.Option)]
    assert [option.opts for option in options if not option.help] == []


def test_version() -> None:
    assert CliRunner().invoke(cli, ["--version"]).output == f"sciret {__version__}\n"


def test_unknown_command_is_a_usage_error() -> None:
    result = CliRunner().invoke(cli, ["serach"])
    assert result.exit_code == 2
    assert "serach" in result.stderr


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], Result]:
    """Run a command that raises what it is given."""

    def run(error: BaseException) -> Result:
        @click.command()
        def command() -> None:
            raise error

        monkeypatch.setattr("sciret.cli.stats.command", command)
        return CliRunner().invoke(cli, ["stats"])

    return run


@pytest.mark.parametrize(("error", "code"), [(BundleError("no model; do this"), 1), (QueryError("no field"), 2)])
def test_own_errors_are_one_line_and_an_exit_code(
    failing: Callable[[BaseException], Result], error: SciretError, code: int
) -> None:
    """The message says what to do; a traceback would only hide it."""
    result = failing(error)
    assert (result.exit_code, result.stderr, result.stdout) == (code, f"sciret: {error}\n", "")


def test_interruption_exits_with_130(failing: Callable[[BaseException], Result]) -> None:
    result = failing(KeyboardInterrupt())
    assert (result.exit_code, result.stderr) == (130, "sciret: interrupted\n")


def test_file_errors_name_the_file(failing: Callable[[BaseException], Result]) -> None:
    """A folder that cannot be written to is the user's to mend, not a bug of ours."""
    result = failing(PermissionError(13, "Permission denied", "out/run.trec"))
    assert (result.exit_code, result.stderr) == (1, "sciret: out/run.trec: Permission denied\n")


def test_messages_cannot_drive_the_terminal(failing: Callable[[BaseException], Result]) -> None:
    """An id of a hostile record stands in messages; its escape sequence arrives as a picture."""
    assert "\x1b" not in failing(QueryError("no paper '\x1b[2J'")).stderr


def test_bugs_show_their_traceback_and_ask_for_a_report() -> None:
    """An error that nobody foresaw must not be swallowed."""
    code = (
        "import sys, sciret.cli.stats as s, click\nfrom sciret.cli.main import main\n"
        "s.command = click.Command('stats', callback=lambda: 1 // 0)\nsys.argv = ['sciret', 'stats']\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr
    assert "report it" in done.stderr


def test_closed_pipe_is_quiet() -> None:
    """`sciret ... | head` must not end in a complaint."""
    code = (
        "import sys, sciret.cli.stats as s, click\nfrom sciret.cli.main import main\n"
        "s.command = click.Command('stats', callback=lambda: print('x\\n' * 10**6))\nsys.argv = ['sciret', 'stats']\n"
        "main()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""


def test_verbose_shows_errors_in_full() -> None:
    """With -v the reason behind a message can be followed."""
    done = subprocess.run(
        [sys.executable, "-m", "sciret.cli.main", "-v", "models", "nowhere"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert "sciret: no model bundle 'nowhere'" in done.stderr
