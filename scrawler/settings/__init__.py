"""All settings of SCrawler: one frozen object, checked once, each with its help text.

Values come from the defaults, scrawler.toml, SCRAWLER_* variables and flags, in rising precedence. `crawl` and
`parts` declare them, of the types in `kinds`; `loading` reads them; `words` says in words what they may hold.
"""

from scrawler.settings.groups import GROUPS, group_of, in_groups
from scrawler.settings.kinds import checked_folder, read_header
from scrawler.settings.loading import (
    CONFIG_FILE,
    check_by_host,
    live_settings,
    load_settings,
    make_settings,
    origin_of,
    parse_host,
    parse_setting,
)
from scrawler.settings.parts import (
    ANY_WAY,
    HOST_ONLY,
    PART_KINDS,
    SETTING_NAMES,
    SITES,
    Settings,
    Way,
    is_by_host,
    of_tables,
    with_live,
    withheld,
)
from scrawler.settings.secrets import is_secret, private_values, public_values, with_secrets
from scrawler.settings.sites import Tables, read_pattern, tables_for
from scrawler.settings.stored import (
    copies_unnamed,
    earlier_unnamed,
    from_database,
    is_local,
    largest_record,
    with_doors,
)
from scrawler.settings.words import (
    allowed_values,
    crawl_title,
    flag_name,
    has_lines,
    is_list,
    live_text,
    part_kind,
    setting_choices,
    setting_field,
    setting_kind,
    setting_range,
    setting_text,
)

__all__ = [
    "ANY_WAY",
    "CONFIG_FILE",
    "GROUPS",
    "HOST_ONLY",
    "PART_KINDS",
    "SETTING_NAMES",
    "SITES",
    "Settings",
    "Tables",
    "Way",
    "allowed_values",
    "check_by_host",
    "checked_folder",
    "copies_unnamed",
    "crawl_title",
    "earlier_unnamed",
    "flag_name",
    "from_database",
    "group_of",
    "has_lines",
    "in_groups",
    "is_by_host",
    "is_list",
    "is_local",
    "is_secret",
    "largest_record",
    "live_settings",
    "live_text",
    "load_settings",
    "make_settings",
    "of_tables",
    "origin_of",
    "parse_host",
    "parse_setting",
    "part_kind",
    "private_values",
    "public_values",
    "read_header",
    "read_pattern",
    "setting_choices",
    "setting_field",
    "setting_kind",
    "setting_range",
    "setting_text",
    "tables_for",
    "with_doors",
    "with_live",
    "with_secrets",
    "withheld",
]
