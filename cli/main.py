"""`sciret`: the group of commands, and the one place where errors become messages and exit codes."""

from __future__ import annotations

import sys
from importlib import import_module
from io import TextIOWrapper
from typing import Any, NoReturn, cast

import click

from sciret import __version__
from sciret.cli.exit_codes import INCOMPLETE, INTERRUPTED
from sciret.cli.terminal import harmless
from sciret.errors import SciretError

COMMANDS = {
    "ingest": "Read papers from files, encode them and write them into a store.",
    "attach": "Make an index that you have searchable by sciret, and leave it as it is.",
    "sync": "Bring a store up to date with the index that it was attached to.",
    "search": "Find papers by a text, by a paper or by some of its sentences.",
    "evaluate": "Compare TREC runs by relevance judgments.",
    "keyphrases": "Name the keyphrases of a text, of papers in a file, or of a paper in the store.",
    "show": "Show everything that the store keeps of a paper.",
    "delete": "Remove papers from the store.",
    "stats": "Say what is in the store.",
    "export": "Turn a checkpoint into a model bundle.",
    "models": "List the model bundles at hand, or describe one.",
    "vocab": "Choose a vocabulary of keyphrases from a corpus, and look at one.",
    "train": "Mine training data and train models on it.",
    "index": "Make, migrate, roll back and size the indices of a store on OpenSearch.",
    "security": "Print roles for the security plugin of OpenSearch.",
    "dashboards": "Put dashboards of the corpus, of ingests and of searches into OpenSearch Dashboards.",
    "opensearch": "Run a real OpenSearch on this machine, for trying out.",
}
"""Each command is the module of its name; its summary stands here so that `sciret --help` imports none of them."""


class Commands(click.Group):
    """Imports a command's module when the command is used, and catches what it raises."""

    # ARG002: the signatures are click's.
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        return cast(click.Command, import_module(f"sciret.cli.{cmd_name}").command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Everything a user can cause ends here in one line on stderr; only bugs go on as exceptions."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()  # so that a closed pipe is noticed while it can still be kept quiet
            return result
        except SciretError as error:
            _quit(ctx, str(error), error.exit_code)
        except KeyboardInterrupt:
            _quit(ctx, "interrupted", INTERRUPTED)
        except BrokenPipeError:
            raise  # click ends quietly: whoever read our output has had enough of it
        except OSError as error:
            if error.filename is None:
                raise
            _quit(ctx, f"{error.filename}: {error.strerror}", INCOMPLETE)


def _quit(ctx: click.Context, message: str, code: int) -> NoReturn:
    import logging

    logging.getLogger("sciret.cli").debug("the error in full", exc_info=True)
    click.echo(f"sciret: {harmless(message, keep_lines=True)}", err=True)
    ctx.exit(code)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="sciret", message="%(prog)s %(version)s", help="Show the version.")
@click.option("-v", "--verbose", is_flag=True, help="Log what happens to stderr, and show errors in full.")
def cli(verbose: bool) -> None:
    """Search scientific papers, with reasons.

    Results go to stdout, progress and diagnostics to stderr. Options win over environment variables (SCIRET_STORE,
    SCIRET_MODEL, ...), those over a sciret.toml in the working directory, those over the defaults.

    \b
    Exit codes: 0 done, 1 failed or incomplete, 2 wrong usage,
    3 some records were refused, 130 interrupted.
    """
    if verbose:
        import logging

        logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(name)s: %(message)s")
        logging.getLogger("sciret").setLevel(logging.DEBUG)


def main() -> None:
    """The console script."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a letter shows "?"
    try:
        cli(prog_name="sciret")
    except Exception:
        import traceback

        traceback.print_exc()
        click.echo("sciret: this is a bug in sciret; please report it with the lines above", err=True)
        sys.exit(INCOMPLETE)


if __name__ == "__main__":
    main()
