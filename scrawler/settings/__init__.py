"""All settings of SCrawler: one frozen object, checked once, each with its help text.

Values come from the defaults, scrawler.toml, SCRAWLER_* variables and flags, in rising precedence. `crawl` and
`parts` declare them, of the types in `kinds`; `loading` reads them; `words` says in words what they may hold.
"""

from scrawler.settings.loading import CONFIG_FILE, live_settings, load_settings, origin_of, parse_setting
from scrawler.settings.parts import PART_KINDS, Settings
from scrawler.settings.words import (
    allowed_values,
    flag_name,
    is_list,
    part_kind,
    setting_choices,
    setting_field,
    setting_kind,
    setting_range,
    setting_text,
)

__all__ = [
    "CONFIG_FILE",
    "PART_KINDS",
    "Settings",
    "allowed_values",
    "flag_name",
    "is_list",
    "live_settings",
    "load_settings",
    "origin_of",
    "parse_setting",
    "part_kind",
    "setting_choices",
    "setting_field",
    "setting_kind",
    "setting_range",
    "setting_text",
]
