"""The setting that chooses classic parts together."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from scrawler.settings.kinds import FeatureSettings, Own

_CLASSIC = {"downloader": "requests", "extractor": "html5lib", "seen": "pybloom"}


class ClassicSettings(FeatureSettings):
    """Which set of parts a crawl has."""

    profile: Annotated[Literal["default", "classic"], Own()] = Field(
        "default", description="Set of parts: the fast ones, or requests, html5lib and pybloom."
    )

    @model_validator(mode="before")
    @classmethod
    def _apply_profile(cls, values: Any) -> Any:
        if isinstance(values, dict) and values.get("profile") == "classic":
            return _CLASSIC | values
        return values
