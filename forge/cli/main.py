"""`praxis-forge`: the command tree. Each command parses its flags, makes one call, prints."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

import click

from forge import __version__
from forge.cli.lazy import LazyGroup
from forge.cli.options import EVERYWHERE, Common, common

_ENVIRONMENT: Final = "forge.cli.environment"
COMMANDS: Final = {
    "plan": (_ENVIRONMENT, "plan", "Show what `up` would change, and why. Touches nothing."),
    "up": (_ENVIRONMENT, "up", "Make the machine what the file says. Safe to interrupt and repeat."),
    "status": (_ENVIRONMENT, "status", "What is asked for, recorded and there, side by side."),
    "down": (_ENVIRONMENT, "down", "Remove everything that `up` made, and only that."),
    "service": ("forge.cli.service", "group", "List, start, stop, restart services; logs; exec."),
    "cluster": ("forge.cli.cluster", "group", "Clusters: list, kubeconfig, load-image, kubectl."),
    "stack": ("forge.cli.stack", "group", "Stacks: list, plan, apply, status."),
    "apply": ("forge.cli.stack", "apply_alias", "The same as `up`; with CLUSTER [STACK], `stack apply`."),
    "graph": ("forge.cli.graph", "graph", "What waits for what, as text, Mermaid or Graphviz."),
    "config": ("forge.cli.config", "group", "Check the file, show it, its JSON schema, start one."),
    "doctor": (_ENVIRONMENT, "doctor", "Check that this machine has what the file needs."),
    "ls": ("forge.cli.host", "list_environments", "The environments of this host."),
    "gc": ("forge.cli.host", "collect_garbage", "Take away what environments left whose folder is gone."),
    "fault": ("forge.cli.fault", "group", "Hold things down on purpose, and bring them back."),
    "evidence": ("forge.cli.evidence", "group", "Prove that nothing was restarted, or find what was."),
    "explain": ("forge.cli.explain", "explain", "What an error code means and what to do."),
}

SETTINGS: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
EXIT_CODES: Final = (
    "Exit codes: 0 done, 1 failed (what was done is recorded), 2 usage or configuration, "
    "3 there are changes (plan --detailed-exitcode, evidence diff), 4 doctor found errors, 5 lock held, "
    "6 timed out or unhealthy, 7 engine or tool missing, 8 not owned by this environment, "
    "129/130/143 stopped by a signal after the state was saved."
)


@click.command(cls=LazyGroup, commands_at=COMMANDS, context_settings=SETTINGS, epilog=EXIT_CODES)
@click.version_option(__version__, prog_name="praxis-forge", message="%(prog)s %(version)s")
@common(*EVERYWHERE)
def root(flags: Common) -> None:
    """Bring up a lab from one file, and take it down again, whatever happened in between."""
    click.get_current_context().obj = flags


def run(arguments: Sequence[str]) -> int:
    """The command line as a function: prints, and gives the exit code."""
    try:
        result = root.main(args=list(arguments), prog_name="praxis-forge", standalone_mode=False)
    except click.ClickException as error:
        error.show(sys.stderr)
        return error.exit_code
    except click.Abort:
        return 130
    except BrokenPipeError:
        return _broken_pipe()
    return result if isinstance(result, int) else 0


def _broken_pipe() -> int:
    """Whoever read our output has closed it (`| head`): nothing more to say, and no traceback."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
