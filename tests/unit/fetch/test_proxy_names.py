"""Whether the names of proxies are known, before anything is begun."""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest

from scrawler.assembly import proxies
from scrawler.errors import SettingsError
from scrawler.settings import make_settings
from tests.limits import HANGS

UNKNOWN = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
NOT_NOW = socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")


def _check(error: Exception | None, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], **set_: Any) -> str:
    def look_up(host: str) -> list[str]:
        if error is not None and "known" not in host:
            raise error
        return ["192.0.2.1"]

    monkeypatch.setattr(proxies, "system_addresses", look_up)
    said: list[str] = []
    proxies.check_proxies(make_settings(set_), environment, threading.Event(), said.append)
    return "\n".join(said)


@pytest.mark.parametrize(
    "setting",
    [
        {"proxy": "http://me:s3cret@prxy"},
        {"proxy": "http://known", "sites": {"a.example": {"proxy": "socks5h://prxy"}}},
    ],
)
@pytest.mark.parametrize("error", [UNKNOWN, UnicodeError("label too long")])
def test_a_name_that_nobody_knows_is_refused(error: Exception, setting: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match=r"^proxy \S*prxy\S* .*: the name prxy is not found") as told:
        _check(error, monkeypatch, {}, **setting)
    assert told.value.exit_code == 2
    assert "s3cret" not in str(told.value)


def test_what_may_come_up_later_is_told_and_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _check(None, monkeypatch, {}, proxy="http://prxy") == ""
    assert "Temporary failure" in _check(NOT_NOW, monkeypatch, {}, proxy="http://prxy")
    assert "by http_proxy of the environment" in _check(UNKNOWN, monkeypatch, {"http_proxy": "prxy"})
    assert _check(UNKNOWN, monkeypatch, {"http_proxy": "prxy"}, proxy="direct") == ""


def test_a_stop_does_not_wait_for_the_dns(monkeypatch: pytest.MonkeyPatch) -> None:
    stop, answered = threading.Event(), threading.Event()

    def look_up(host: str) -> list[str]:
        stop.set()
        assert answered.wait(HANGS)
        raise UNKNOWN

    monkeypatch.setattr(proxies, "system_addresses", look_up)
    said: list[str] = []
    proxies.check_proxies(make_settings({"proxy": "http://prxy"}), {}, stop, said.append)
    answered.set()
    assert said == []
