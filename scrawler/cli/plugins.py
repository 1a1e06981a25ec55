"""`scrawler plugins`: the features that are there, and the parts that settings can choose."""

from __future__ import annotations

import click

from scrawler.cli.tables import format_options, print_rows
from scrawler.feature import Feature, features_of_packages
from scrawler.plugins import Part, parts
from scrawler.settings import PART_KINDS

_COLUMNS = ("setting", "name", "package", "reference", "group", "interface")
_FOR_PEOPLE = ("setting", "name", "package", "reference")
_OF_FEATURES = ("name", "package", "about", "needs")


@click.command()
@click.option("--features", "wants_features", is_flag=True, help="List the features that are installed instead.")
@format_options
def plugins(written: str | None, wants_features: bool) -> None:
    """List the parts that settings can choose, and which package brings each.

    Other packages bring parts and features by entry points; the groups and interfaces of parts are told with --json.
    """
    if wants_features:
        print_rows([_feature_row(*one) for one in features_of_packages()], _OF_FEATURES, written)
        return
    rows = [_row(part) for kind in PART_KINDS.values() for part in parts(kind)]
    print_rows(rows, _COLUMNS if written else _FOR_PEOPLE, written)


def _feature_row(feature: Feature, package: str) -> dict[str, str]:
    needs = ", ".join(feature.needs)
    return {"name": feature.name, "package": package, "about": feature.about, "needs": needs}


def _row(part: Part) -> dict[str, str]:
    return {
        "setting": part.kind.setting,
        "name": part.name,
        "package": part.package,
        "reference": part.reference,
        "group": part.kind.group,
        "interface": part.kind.interface,
    }
