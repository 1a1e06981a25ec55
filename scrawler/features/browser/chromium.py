"""Which Chromium is started, and how: it must not reach anybody by itself, and ends with the process that started it.

Playwright talks to it through a pipe, by way of a process of its own. When that pipe is closed, as by the end of this
process in whatever way, both of them end.
"""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from scrawler.errors import SettingsError

if TYPE_CHECKING:
    from playwright.async_api import Browser, Playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")  # as distributions call it
_OPTIONS = (
    "--host-resolver-rules=MAP * ~NOTFOUND",  # no name has an address, nor has an address one
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-background-networking",
    "--dns-prefetch-disable",
    "--no-pings",
    "--disable-quic",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-gpu",
    "--js-flags=--max-old-space-size=512",  # MiB that the scripts of a page may fill
)
_NOWHERE = "socks5://nowhere.invalid:9"  # the proxy of all that is not answered by us: its name is not known either
_START = 60.0  # seconds in which Chromium has to be there


def find_chromium(named: Path | None) -> str | None:
    """Return the file of the Chromium to start; None for that which Playwright has downloaded.

    Raises SettingsError where there is none, or Playwright is not installed; the text says what to install.
    """
    if find_spec("playwright") is None:
        raise SettingsError("browser needs Playwright: pip install 'seed-scrawler[browser]'")
    if named is not None:
        found = shutil.which(named)
        if found is None:
            raise SettingsError(f"chromium: {named} is no program")
        return found
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    if found is None and not _has_downloaded():
        raise SettingsError(
            "browser needs Chromium: apt-get install chromium, or playwright install chromium,"
            " or name one (--chromium FILE)"
        )
    return found


def _has_downloaded() -> bool:
    """Tell whether Playwright has a Chromium of its own."""
    named = os.environ.get("PLAYWRIGHT_BROWSERS_PATH")
    folder = Path(named) if named and named != "0" else Path.home() / ".cache" / "ms-playwright"
    return any(folder.glob("chromium*"))


async def start_chromium(playwright: Playwright, file: str | None) -> Browser:
    """Start Chromium. Raises playwright.async_api.Error.

    It is shut off in its sandbox, but where this process is root's: there Chromium has none.
    """
    return await playwright.chromium.launch(
        executable_path=file,
        args=list(_OPTIONS),
        ignore_default_args=["--disable-popup-blocking"],
        proxy={"server": _NOWHERE},
        chromium_sandbox=os.getuid() != 0,
        handle_sigint=False,
        handle_sigterm=False,
        handle_sighup=False,
        timeout=_START * 1000,
    )
