"""What is taken of settings that a database holds, which somebody else may have written."""

from __future__ import annotations

from pathlib import Path

from scrawler.settings import SETTING_NAMES, Settings, from_database, is_local, public_values, with_live

MIB = 1 << 20
HOSTILE = {
    "db": "mysql://u@elsewhere/x",
    "dedup_from": "mysql://u@elsewhere/x",
    "archive_to": "http://169.254.169.254/",
    "proxy": "http://elsewhere/",
    "feed": "/home/u/.bashrc",
    "netrc": "/home/u/.netrc",
    "cookie_file": "/home/u/cookies",
    "ca_file": "/tmp/theirs.pem",
    "chromium": "/tmp/evil",
    "webhook": ["http://elsewhere/"],
    "communicator": "redis://elsewhere/0",
    "agents": "/tmp/agents",
    "page_processors": ["theirs"],
    "url_filters": ["theirs"],
    "extractor": "theirs",
    "allow_private": True,
    "allow_addresses": ["127.0.0.1"],
    "insecure": True,
    "resolve": ["bank.example=127.0.0.1"],
    "header": ["X-Key: theirs"],
    "page_time": 86_400,
}


def test_what_reaches_further_is_the_user_s_own() -> None:
    given = Settings(ca_file="/etc/own.pem", max_depth=3)
    table = {"password": "x", "proxy": "http://elsewhere/", "insecure": True, "netrc": "/home/u/.netrc", "delay": 7}
    found = from_database({**HOSTILE, "delay": 5, "max_depth": 9, "sites": {"a.example": table}}, given)
    assert {key: getattr(found, key) for key in HOSTILE} == {key: getattr(given, key) for key in HOSTILE}
    assert (found.delay, found.max_depth, found.ca_file) == (5, 9, Path("/etc/own.pem"))
    assert found.sites == {"a.example": {"delay": 7}}


def test_sizes_are_bounded_unless_the_user_says_more() -> None:
    stored = {"max_body": 2048 * MIB, "max_decoded": 4096 * MIB, "sites": {"a.example": {"max_body": 2048 * MIB}}}
    found = from_database(stored, Settings())
    assert (found.max_body, found.max_decoded) == (128 * MIB, 256 * MIB)
    assert found.sites == {"a.example": {"max_body": 128 * MIB}}
    assert from_database(stored, Settings(max_body=512 * MIB)).max_body == 512 * MIB
    assert from_database({"max_body": MIB}, Settings()).max_body == MIB


def test_all_else_is_as_it_was_stored() -> None:
    stored = Settings(delay=5, exclude=["/x/*"], scope="domain", robots=False)
    found = from_database(public_values(stored), Settings())
    assert (found.delay, found.exclude, found.scope, found.robots) == (5, ("/x/*",), "domain", False)
    assert set(public_values(found)) <= {*SETTING_NAMES, "sites"}


def test_orders_are_live_settings_alone() -> None:
    sites = {"a.example": {**HOSTILE, "delay": 3}}
    orders = {**HOSTILE, "delay": 4, "threads": "many", "max_depth": -1, "sites": sites}
    found = with_live(Settings(), orders)
    assert found == Settings(delay=4, sites={"a.example": {"delay": 3}})
    assert with_live(Settings(), {"sites": "x", "delay": None}) == Settings()


def test_only_a_folder_of_this_host_is_local() -> None:
    assert is_local("file:///mnt/copies")
    for other in ("http://x/", "s3://x/y", "file://host/x", "reference://x", "file:///a::http://x/", "x", ""):
        assert not is_local(other), other
