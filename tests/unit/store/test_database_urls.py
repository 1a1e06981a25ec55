"""What the URL of a database may say of its connection, for all engines."""

from __future__ import annotations

import pytest

from scrawler.errors import DatabaseUrlError
from scrawler.store.engines.engines import parsed_url
from tests.tables import each


@each(
    "url",
    [
        "mysql://u:secret@h/x?local_infile=1",
        "mariadb+pymysql://u:secret@h/x?ssl_ca=/x&local_infile=true",
        "mysql://u:secret@h/x?Local_Infile=1",
        "mysql://u:secret@h/x?local%5Finfile=1",
        "mysql://u:secret@h/x?read_default_file=/etc/my.cnf",
        "mysql://u:secret@h/x?init_command=DROP%20TABLE%20x",
        "mysql://u:secret@h/x?client_flag=128",
        "mysql://u:secret@h/x?conv=1",
        "mysql://u:secret@h/x?ssl_ca=/a&ssl_ca=/b",
        "postgresql://u:secret@h/x?service=other",
        "postgresql://u:secret@h/x?passfile=/home/u/.pgpass",
        "postgresql://u:secret@h/x?sslkeylogfile=/home/u/.bashrc",
        "postgresql://u:secret@h/x?dbname=host%3Delsewhere",
        "sqlite:///file:x.db?vfs=other",
        "sqlite:///file:x.db?mode=memory",
        "sqlite:///x.db?check_same_thread=0",
    ],
)
def test_what_is_not_known_is_refused_before_a_driver_sees_it(url: str) -> None:
    with pytest.raises(DatabaseUrlError) as told:
        parsed_url(url)
    assert "secret" not in str(told.value)


@pytest.mark.parametrize(
    "url",
    [
        "mysql://u@h/x?charset=utf8mb4&ssl_ca=/ca.pem&connect_timeout=5",
        "mysql://u@/x?unix_socket=/run/mysqld/mysqld.sock",
        "postgresql:///crawl?host=/run/postgresql",
        "postgresql://u@h/x?sslmode=verify-full&sslrootcert=/ca.pem&options=-c%20work_mem%3D64MB",
        "sqlite:///file:x.db?mode=ro&uri=true",
        "sqlite:///x.db",
    ],
)
def test_what_connections_need_is_known(url: str) -> None:
    assert parsed_url(url)


@pytest.mark.parametrize("kind", ["mysql", "postgresql"])
def test_a_password_among_the_parameters_is_hidden_as_any_other(kind: str) -> None:
    url = parsed_url(f"{kind}://h/x?user=u&password=secret")
    assert (url.username, url.password, dict(url.query)) == ("u", "secret", {})
    assert "secret" not in repr(url)
