"""Servers whose TLS is older than RFC 5746, of 2010, which OpenSSL 3 refuses and browsers reach.

They cannot tell that nobody has put words before a request while a connection was negotiated anew. OpenSSL has an
option for each context to ask them all the same (SSL_OP_LEGACY_SERVER_CONNECT). Python's contexts can have it; of
libcurl's nobody gets hold through pycurl, and its builds pass by OPENSSL_CONF. So the library that libcurl has loaded
is told of a default, which holds for all of its contexts in this process that are made later: it is done where
certificates of some host are not checked (`insecure`), before any thread asks for something.
"""

from __future__ import annotations

import ctypes
import tempfile
from functools import cache
from pathlib import Path

import pycurl  # noqa: F401  # it loads the library that is meant

LEGACY_SERVER_CONNECT = 0x4  # ssl.OP_LEGACY_SERVER_CONNECT, which Python before 3.12 does not name
_REFUSED = "unsafe legacy renegotiation disabled"  # what OpenSSL says of such a server
_DEFAULTS = """openssl_conf = all
[all]
ssl_conf = tls
[tls]
system_default = defaults
[defaults]
Options = UnsafeLegacyServerConnect
"""
_LOADED = Path("/proc/self/maps")


def explained(detail: str) -> str:
    """Return what OpenSSL says of a server, with what helps if it is such an old one."""
    if _REFUSED not in detail:
        return detail
    return f"{detail}: its TLS is older than RFC 5746; the setting `insecure`, for its host, lets it be asked"


@cache
def accept_old_servers() -> bool:
    """Let libcurl ask such old servers from now on, in all of this process; False where that cannot be done.

    It is known for Linux, and for libcurl with an OpenSSL of 1.1 and later.
    """
    libraries = [path for path in _loaded() if path.name.startswith("libcrypto")]
    places = {path.parent for path in _loaded() if path.name.startswith("libcurl")}
    told = [_told(path) for path in libraries if path.parent in places]
    return any(told)


def _loaded() -> set[Path]:
    """Return the libraries that this process has loaded."""
    if not _LOADED.exists():
        return set()
    lines = _LOADED.read_text().splitlines()
    return {Path(line[line.index("/") :]) for line in lines if "/lib" in line}


def _told(library: Path) -> bool:
    try:
        load = ctypes.CDLL(str(library)).CONF_modules_load_file
        load.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong]
        with tempfile.NamedTemporaryFile("w", suffix=".cnf") as file:
            file.write(_DEFAULTS)
            file.flush()
            return bool(load(file.name.encode(), None, 0) == 1)
    except (OSError, AttributeError):
        return False
