"""`scrawler machines`: who crawls; `machines drain` and `machines remove`: one of them ends."""

from __future__ import annotations

from typing import Any

import click

from scrawler.cli.control import SOON, crawl_control, starting_text
from scrawler.cli.database import crawl_database
from scrawler.cli.options import FILLED, is_called_itself, with_settings
from scrawler.cli.tables import format_options, print_rows
from scrawler.errors import escaped
from scrawler.model.machines import LEASE, Command, MachineState
from scrawler.settings import Settings
from scrawler.store.claims.machines import Machines
from scrawler.store.claims.overview import MachineView
from scrawler.store.claims.starts import Starts
from scrawler.units import format_seconds, human_bytes

_FOR_PEOPLE = ("name", "host", "pid", "state", "heartbeat", "sites", "seeds", "pages/s", "memory")
_ALL = (
    *("id", "name", "host", "pid", "state", "wanted", "started_at", "heartbeat_at", "heartbeat_age_ms"),
    *("sites", "seeds", "held", "pages", "bytes", "errors", "refused", "uncommitted", "pages_per_second", "memory"),
    *("agent", "weight"),
)
_RECENT = 3_600_000  # for so many milliseconds a dead machine is shown, though nothing waits for it any more


@click.group(invoke_without_command=True)
@click.option("--all", "with_gone", is_flag=True, help="Those too that stopped, or died more than an hour ago.")
@format_options
@with_settings()
@click.pass_context
def machines(context: click.Context, settings: Settings, with_gone: bool, written: str | None) -> None:
    """List the machines: who they are, how they are, what they hold.

    States: running; paused: starts no request, keeps its sites; stopping: finishes what is in hand; dead: its process
    is gone or it sent no heartbeat for 15 s, the others take its sites over; stopped: ended by itself (--all).
    Pages/s are those of the last minute. Machines that are being started have no line yet: their number is told.
    """
    if not is_called_itself(context):
        return
    with crawl_database(settings) as database:
        start = Starts(database).newest()
        there = Machines(database).machines()
    shown = [one for one in there if with_gone or _is_of_interest(one)]
    if written:
        print_rows(map(_row, shown), _ALL, written)
        return
    if shown:
        print_rows(map(_line, shown), _FOR_PEOPLE, None)
    if starting := starting_text(start, there):
        click.echo(escaped(starting))
    elif not shown:
        click.echo(f"no machine runs; {len(there):,} ended, see --all" if there else "no machine runs")


@machines.command()
@click.argument("name", type=FILLED)
@with_settings()
def drain(settings: Settings, name: str) -> None:
    """Let machine NAME give its sites back, and end.

    It takes no more sites up; the other machines go on with those that it had.
    """
    with crawl_control(settings) as control:
        control.drain(name)
    click.echo(f"{name} begins {SOON}: it gives its sites back to the others and ends")


@machines.command()
@click.argument("name", type=FILLED)
@with_settings()
def remove(settings: Settings, name: str) -> None:
    """Let machine NAME end at once; what it has not saved is fetched again.

    It has no lease any more: even if it hangs, the other machines take its sites over.
    """
    with crawl_control(settings) as control:
        dead = control.remove(name)
    lease = format_seconds(LEASE / 1000)
    if dead:
        click.echo(f"{name} was silent for more than {lease} and is dead now: the others take its sites over")
    else:
        click.echo(f"{name} ends {SOON}; if it does not, the others take its sites over {lease} after its last one")


def _is_of_interest(one: MachineView) -> bool:
    if one.state is MachineState.DEAD:
        return one.sites > 0 or one.heartbeat_age_ms < _RECENT
    return one.state is not MachineState.STOPPED


def _row(one: MachineView) -> dict[str, Any]:
    return {name: getattr(one, name) for name in _ALL} | {"pages_per_second": round(one.pages_per_second, 2)}


def _line(one: MachineView) -> dict[str, Any]:
    return {
        "name": one.name,
        "host": one.host,
        "pid": one.pid,
        "state": _state_text(one),
        "heartbeat": f"{format_seconds(round(one.heartbeat_age_ms / 1000, 1))} ago",
        "sites": one.sites,
        "seeds": one.seeds,
        "pages/s": f"{one.pages_per_second:,.1f}",
        "memory": human_bytes(one.memory),
    }


def _state_text(one: MachineView) -> str:
    waits = one.state is MachineState.RUNNING and one.wanted is not Command.RUN
    return f"{one.state.value}, to {one.wanted.value}" if waits else one.state.value
