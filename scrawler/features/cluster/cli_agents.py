"""`scrawler agents status`: how the agents of a crawl are, as they say themselves."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import click

from scrawler.cli.database import crawl_database
from scrawler.cli.options import FILLED, Seconds, with_settings
from scrawler.cli.tables import format_options, print_rows
from scrawler.errors import SettingsError
from scrawler.features.cluster.agents.guest import ask_all, guest_name, reached_from
from scrawler.features.cluster.agents.members import MembersFile
from scrawler.features.cluster.agents.run import communicator_of
from scrawler.features.cluster.exchange.communicator import NoteBody
from scrawler.features.cluster.settings import ClusterSettings
from scrawler.features.cluster.store.agents import Mail, agent_of
from scrawler.settings import Settings

_COLUMNS = (
    *("agent", "state", "living", "agreed", "share", "pages", "sent", "received", "waiting", "sent_again"),
    *("messages", "refused"),
)
_SAID = ("agreed", "share", "pages", "sent", "received", "waiting", "sent_again", "messages", "refused")


@click.group()
def agents() -> None:
    """Show the agents of a crawl without a common database."""


@agents.command()
@click.argument("databases", metavar="[DB]...", nargs=-1, type=FILLED)
@click.option("--wait", type=Seconds(0.1, 3600), default=5.0, show_default=True, help="Seconds to wait for answers.")
@format_options
@with_settings("agents", "exchange_secret_file", "name", db=False)
def status(settings: Settings, databases: tuple[str, ...], wait: float, written: str | None) -> None:
    """Ask all agents in the file of --agents how they are.

    Of those that do not answer, what their databases say is shown, where these are given.
    """
    file = ClusterSettings.of(settings).agents
    if file is None:
        raise SettingsError("which agents? Say --agents FILE")
    members = MembersFile(file)
    name = guest_name()
    is_near = all(one.address.startswith("tcp://127.") for one in members.members.values())
    listen = "127.0.0.1:0" if is_near else "*:0"  # agents answer a guest by a connection of theirs
    with closing(communicator_of(listen, name, settings, members.address_of, lambda line: None)) as communicator:
        told = ask_all(communicator, members.members, wait, reached_from)
    silent = dict(_of_database(settings, url) for url in databases)
    rows = [_row(one, told.get(one), silent.get(one)) for one in members.members]
    print_rows(rows, _COLUMNS, written)


def _row(name: str, told: NoteBody | None, stored: dict[str, Any] | None) -> dict[str, Any]:
    empty: dict[str, Any] = dict.fromkeys(_COLUMNS)
    if told is None:
        return empty | {"agent": name, "state": "silent"} | (stored or {})
    said = {key: told.get(key) for key in _SAID}
    state = "over" if told.get("over") else "at work"
    return empty | said | {"agent": name, "state": state, "living": told.get("living"), "agreed": bool(told["agreed"])}


def _of_database(settings: Settings, url: str) -> tuple[str, dict[str, Any]]:
    """Return whose database it is, and what it says."""
    with crawl_database(settings.model_copy(update={"db": url})) as database:
        mail = Mail(database, 0, settings.scope)
        sums = mail.sums()
        told = {"pages": mail.pages(), "sent": sums.sent, "received": sums.received, "waiting": sums.waiting}
        return agent_of(database), told
