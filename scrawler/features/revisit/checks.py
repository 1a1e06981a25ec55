"""Settings of visits again that cannot be; looked at before machines start."""

from __future__ import annotations

from scrawler.errors import SettingsError
from scrawler.feature import hooked
from scrawler.features.revisit.settings import WITH_BUDGET, RevisitSettings
from scrawler.settings import Settings
from scrawler.store.claims.seeds import Seeds
from scrawler.store.engines.engine import Database


def check_budget(settings: Settings) -> None:
    """Check that there is a budget where one is to be divided. Raises SettingsError."""
    own = RevisitSettings.of(settings)
    given = own.revisit_budget is not None or own.revisit_site_budget is not None
    if own.revisit in WITH_BUDGET and not given:
        raise SettingsError(
            f"revisit = {own.revisit} divides a budget: --revisit-budget says how many URLs a day are visited"
        )
    for host, one in settings.sites.items():
        if one.get("revisit") in WITH_BUDGET and not (given or one.get("revisit_site_budget")):
            raise SettingsError(f'[sites."{host}"] revisit = {one["revisit"]} divides a budget: revisit_site_budget')


def check_keep(settings: Settings, database: Database) -> None:
    """Look whether URLs of a crawl that is to be kept can ever be due. Raises SettingsError."""
    own = RevisitSettings.of(settings)
    if not own.keep:
        return
    of_sites = (one.get("revisit", "off") for one in settings.sites.values())
    never = own.revisit == "off" and all(word == "off" for word in of_sites)
    if never and not (Seeds(database).any_with_column("revisit") or any(sent(database) for sent in hooked("arrivals"))):
        raise SettingsError(
            "keep visits URLs when they are due, and none ever is: --revisit fixed or adaptive, or start"
            " `scrawler listen` first, for those that servers and owners send"
        )
