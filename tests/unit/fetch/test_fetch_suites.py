"""Cipher suites have the names of the IANA, as OpenSSL itself knows them."""

from __future__ import annotations

import shutil
import ssl
import subprocess

import pytest

from scrawler.fetch.suites import _IANA_NAMES, iana_name


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl, which knows both names")
def test_names_are_those_that_openssl_tells() -> None:
    listed = subprocess.run(
        ["openssl", "ciphers", "-stdname", "ALL:COMPLEMENTOFALL:@SECLEVEL=0"],
        capture_output=True,
        text=True,
        check=True,
    )
    told = {words[2]: words[0] for line in listed.stdout.splitlines() if (words := line.split())}
    both = _IANA_NAMES.keys() & told.keys()
    assert len(both) > 40
    assert {name: told[name] for name in both} == {name: _IANA_NAMES[name] for name in both}


def test_whatever_a_client_offers_by_itself_has_a_name() -> None:
    offered = [one["name"] for one in ssl.create_default_context().get_ciphers()]
    offered = [name for name in offered if not {"PSK", "SRP"} & set(name.split("-"))]  # they need a key, a password
    assert [name for name in offered if not iana_name(name).startswith("TLS_")] == []
    assert iana_name("TLS_AES_128_GCM_SHA256") == "TLS_AES_128_GCM_SHA256"
    assert iana_name("") == iana_name("of-tomorrow") == ""
