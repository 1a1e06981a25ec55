"""What the URL of a database may say of its connection: a short list for each engine, and nothing else.

A driver takes far more from a URL, also what lets a server read files of this host (`local_infile`), or what reads
settings from files, or writes secrets into one (`read_default_file`, `service`, `sslkeylogfile`). A URL may come from a
file that somebody else has written, so what is not listed here is refused before a driver sees it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import URL

from scrawler.errors import DatabaseUrlError

_IN_URL = ("user", "password")  # they go where each message hides them
_MYSQL = (
    *("unix_socket", "bind_address", "program_name", "charset"),
    *("connect_timeout", "read_timeout", "write_timeout"),
    *("ssl_ca", "ssl_capath", "ssl_cert", "ssl_key", "ssl_cipher", "ssl_check_hostname", "ssl_disabled"),
    *("ssl_verify_cert", "ssl_verify_identity"),
)
_POSTGRESQL = (
    *("host", "port", "options", "application_name", "target_session_attrs"),
    *("connect_timeout", "tcp_user_timeout"),
    *("keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count"),
    *("sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl", "sslnegotiation", "channel_binding", "gssencmode"),
    *("require_auth", "ssl_min_protocol_version"),
)
_SQLITE = ("mode", "uri", "immutable")  # of a name that begins with "file:"
_MODES = ("ro", "rw", "rwc")  # a database in memory has no file
KNOWN: Mapping[str, tuple[str, ...]] = {
    "mysql": _MYSQL,
    "mariadb": _MYSQL,  # its name where an owner's database is published
    "postgresql": _POSTGRESQL,
    "sqlite": _SQLITE,
}
_REPEATED = ("host", "port", "options")  # PostgreSQL's, which may have several


def checked_parameters(target: URL) -> URL:
    """Return the URL, user and password at their places in it. Raises DatabaseUrlError for unknown parameters."""
    engine = target.get_backend_name()
    known = KNOWN[engine]
    on_server = engine != "sqlite"
    unknown = [name for name in target.query if name not in known and not (on_server and name in _IN_URL)]
    if unknown:
        listed = ", ".join((*known, *_IN_URL) if on_server else known)
        raise DatabaseUrlError(
            f"the database URL has parameters ({', '.join(unknown)}) that cannot be used; known are {listed}"
        )
    for name, value in target.query.items():
        if not isinstance(value, str) and name not in _REPEATED:
            raise DatabaseUrlError(f"the database URL has the parameter {name} twice")
    if not on_server and target.query.get("mode", "ro") not in _MODES:
        raise DatabaseUrlError(f"the mode of an SQLite database is one of {', '.join(_MODES)}")
    return _with_user(target)


def _with_user(target: URL) -> URL:
    """Move user and password to where SQLAlchemy knows them as such: a password is shown in no message then."""
    given: dict[str, Any] = {name: target.query[name] for name in _IN_URL if name in target.query}
    if not given:
        return target
    target = target.difference_update_query(list(given))
    user = given.get("user", target.username)
    return target.set(username=user, password=given.get("password", target.password))
