"""explain CODE: the page of an error code."""

from __future__ import annotations

from pathlib import Path

import click

from forge.cli.command import command
from forge.cli.options import Common, common
from forge.errors import UsageError

PAGES = Path(__file__).parent.parent / "explain"


@click.command()
@click.argument("code", required=False, metavar="[CODE]")
@common("output")
def explain(flags: Common, *, code: str | None) -> None:
    """What an error code means and what to do; without CODE, all of them."""
    with command(flags) as (_, console):
        if code is None:
            titles = {page.stem: title(page) for page in sorted(PAGES.glob("FG*.md"))}
            console.result([f"{key}  {text}" for key, text in titles.items()], {"codes": titles})
            return
        page = PAGES / f"{code.upper()}.md"
        if not code.isalnum() or not page.is_file():
            raise UsageError(
                "FG0413", f"there is no code {code!r}", hint="`praxis-forge explain` lists all", changed=False
            )
        text = page.read_text(encoding="utf-8").rstrip()
        console.result([text], {"code": code.upper(), "text": text})


def title(page: Path) -> str:
    """The first line of a page without its mark and its code."""
    return page.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ").partition(": ")[2]
