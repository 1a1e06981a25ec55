"""The setting of out-links."""

from pydantic import Field

from scrawler.settings.kinds import FeatureSettings


class OutlinkSettings(FeatureSettings):
    """Whether links are kept."""

    outlinks: bool = Field(False, description="Keep the links of each page in a WARC record beside its answer.")
