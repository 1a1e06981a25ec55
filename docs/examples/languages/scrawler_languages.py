"""The declaration and the setting: loaded at the start of every command, they import nothing of the room."""

from pydantic import Field

from scrawler.feature import Command, Feature
from scrawler.settings.kinds import FeatureSettings


class LanguageSettings(FeatureSettings):
    languages: bool = Field(False, description="Note the language of each page.")


ROOM = "scrawler_languages_room"
FEATURE = Feature(
    name="languages",
    about="Counts the languages that pages say they are in.",
    is_on=lambda settings: settings.languages,
    settings="scrawler_languages:LanguageSettings",
    groups={"languages": ("languages",)},
    commands={"languages": Command(f"{ROOM}:languages", lists=True)},
    hooks={"build": f"{ROOM}:build", "upgrade": f"{ROOM}:upgrade", "why": f"{ROOM}:facts"},
    version=1,
)
