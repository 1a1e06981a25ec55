"""What `scrawler status` tells of listeners, of what they took in, and of webhooks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from scrawler.api.bare import BareCrawl
from scrawler.api.standing import Standing
from scrawler.cli.tables import printable
from scrawler.dates import iso_date
from scrawler.features.push.store.pushes import listeners, tallies, waiting
from scrawler.features.push.webhooks import Waiting, Webhooks
from scrawler.store.engines.engine import Database
from scrawler.units import counted


def standing(crawl: BareCrawl) -> Standing:
    """Return it, as values and in words."""
    database = crawl.database
    hooks = Webhooks(database).all()
    values = {
        "webhooks": [_hook_values(one) for one in hooks],
        "listeners": [asdict(one) for one in listeners(database)],
        "pushed": {one.source: one._asdict() for one in tallies(database)} | {"waiting": waiting(database)},
    }
    return Standing(values, listening_text(database) | _hooks_text(hooks))


def listening_text(database: Database) -> dict[str, str]:
    """Return whether a listener lives, and what came in by it; nothing where there never was one."""
    lines = {}
    for one in listeners(database):
        alive, gone = "alive", "stopped" if one.stopped else "gone: it did not stop in order"
        lines[f"listener {one.address}"] = f"{alive if one.alive else gone}, process {one.pid} on {one.host}"
    for tally in tallies(database) if lines else ():
        came = f"{tally.accepted:,} accepted, {tally.listed:,} listed, {tally.refused:,} refused"
        lines[f"sent by {tally.source}"] = came
    if lines and (number := waiting(database)):
        lines["sent and waiting"] = counted(number, "URL")
    return lines


def _hook_values(one: Waiting) -> dict[str, Any]:
    hook = one.hook
    return {
        "url": hook.url,
        "delivered": hook.delivered,
        "messages": hook.messages,
        "delivered_at": iso_date(hook.delivered_at) if hook.delivered_at else None,
        "waiting": one.waiting,
        "tries": hook.tries,
        "next_at": iso_date(hook.next_at) if hook.next_at else None,
        "error": hook.error,
        "error_at": iso_date(hook.error_at) if hook.error_at else None,
    }


def _hooks_text(hooks: Sequence[Waiting]) -> dict[str, str]:
    return {f"webhook {printable(one.hook.url)}": _hook_text(one) for one in hooks}


def _hook_text(one: Waiting) -> str:
    hook = one.hook
    text = f"{counted(hook.delivered, 'change')} delivered, {one.waiting:,} waiting"
    if not hook.error:
        return text
    return f"{text}; {counted(hook.tries, 'try', 'tries')} failed, the last at {iso_date(hook.error_at)}: {hook.error}"
