"""A command with commands below it, of which features may bring some."""

from __future__ import annotations

from typing import cast

import click

from scrawler.feature import commands_below
from scrawler.references import load_for_good


class Group(click.Group):
    """Finds what features declare as "NAME COMMAND" beside its own; such a command is imported when it is wanted."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all, in order."""
        return sorted({*super().list_commands(ctx), *commands_below(self.name or "")})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return one by its name."""
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        found = commands_below(self.name or "").get(cmd_name)
        return None if found is None else cast(click.Command, load_for_good(found.reference))
