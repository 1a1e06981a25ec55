from __future__ import annotations

import pytest

from scrawler.errors import SettingsError
from scrawler.features.metrics.server import metrics_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("9464", ("127.0.0.1", 9464)),
        ("0.0.0.0:80", ("0.0.0.0", 80)),
        ("metrics.example:0", ("metrics.example", 0)),
        ("[::1]:9464", ("::1", 9464)),
    ],
)
def test_figures_are_served_on_loopback_unless_a_host_is_named(text: str, address: tuple[str, int]) -> None:
    assert metrics_address(text) == address


@pytest.mark.parametrize("text", ["", "host", ":1", "1:", "host:-1", "host:65536", "host:1x"])
def test_what_is_no_place_for_figures_is_an_error(text: str) -> None:
    with pytest.raises(SettingsError, match=r"write \[HOST:\]PORT"):
        metrics_address(text)
