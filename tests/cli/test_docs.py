"""docs/commands.md: every command, option, setting and exit code stands in it, as the program has it."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from pathlib import Path

import click
import pytest

from sciret.cli import exit_codes
from sciret.cli.main import COMMANDS, cli
from sciret.settings import Settings

DOCUMENT = (Path(__file__).parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")


def section(name: str) -> str:
    """The text of a command's section, white space evened out."""
    return " ".join(DOCUMENT.partition(f"\n## {name}\n")[2].partition("\n## ")[0].split())


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_section_with_an_example(name: str) -> None:
    """Its summary, how it is called, and a call with what it printed."""
    text = section(name)
    assert COMMANDS[name].rstrip(".") in text
    assert f" sciret {name} " in text
    assert f"$ sciret {name}" in text


def verbs() -> dict[str, click.Command]:
    """Every command that does something: of a group such as `opensearch`, its parts."""
    found: dict[str, click.Command] = {}
    for name in COMMANDS:
        command = import_module(f"sciret.cli.{name}").command
        parts = command.commands if isinstance(command, click.Group) else None
        found |= {f"{name} {part}": parts[part] for part in parts} if parts else {name: command}
    return found


@pytest.mark.parametrize(("name", "command"), verbs().items())
def test_every_option_stands_in_its_section_with_its_help(name: str, command: click.Command) -> None:
    """Word by word, so that a change of one is a change of the other. The parts of a group share its section."""
    text = section(name.split(maxsplit=1)[0])
    assert f" sciret {name}" in text
    for option in command.params:
        if isinstance(option, click.Option):
            assert f"- `{', '.join(option.opts)}" in text
            assert " ".join((option.help or "").split()) in text
        else:
            assert option.make_metavar(click.Context(command)).strip("[]") in text


def test_options_of_the_group() -> None:
    for option in cli.params:
        assert all(f"{name}" in section("For all commands") for name in option.opts)


def test_every_setting() -> None:
    """With its name in the file, its variable and its default."""
    for field in fields(Settings):
        name = field.name.rstrip("_")
        assert f"| `{name.replace('_', '-')}` | `SCIRET_{name.upper()}` |" in section("For all commands")
        assert f"`{field.default}` |" in section("For all commands")


def test_every_exit_code() -> None:
    codes = [value for name, value in vars(exit_codes).items() if name.isupper()]
    for code in (0, 2, *codes):
        assert f"| {code} |" in section("For all commands")
