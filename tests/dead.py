"""Declares machines dead, as another machine does that sees their process gone or their lease over."""

from __future__ import annotations

from sqlalchemy import update

from scrawler.model.machines import MachineState
from scrawler.store.engines.engine import Database
from scrawler.store.schema.tables import machine

_LIVING = (MachineState.RUNNING.value, MachineState.PAUSED.value, MachineState.STOPPING.value)


def declare_dead(database: Database, machine_id: int) -> None:
    """Let others take over the sites of a machine at once, which may be none the wiser."""
    living = machine.c.id == machine_id, machine.c.state.in_(_LIVING)
    with database.begin() as connection:
        connection.execute(update(machine).where(*living).values(state=MachineState.DEAD.value))
