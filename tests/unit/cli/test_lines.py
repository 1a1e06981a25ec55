from __future__ import annotations

from scrawler.cli.lines import one_line
from tests.tables import each


@each(
    ("text", "line"),
    [
        ("seeds.txt: no such file", "seeds.txt: no such file"),
        ("db = ['mysql://u:p/s@s@h/db'] is not allowed", "db = ['mysql://u:***@h/db'] is not allowed"),
        ("db = {'url': 'mysql+pymysql://u:s@h/db'}", "db = {'url': 'mysql+pymysql://u:***@h/db'}"),
        ("http://u:s@a.example/@me", "http://u:***@a.example/@me"),
        ("http://a.example:80/@me", "http://a.example:80/@me"),
        ("postgresql+psycopg://u:p/s@s@h/db", "postgresql+psycopg://u:***@h/db"),
        ("postgres://u:p/s@s@h/db", "postgres://u:***@h/db"),
        ("mysql://u@h/x?password=s&ssl_ca=y", "mysql://u@h/x?password=***&ssl_ca=y"),
        ("use mysql://user:password@host/name", "use mysql://user:password@host/name"),
        ("a\nb\t\u202ec\x1b[31m gr\xfc\xdfe", r"a\nb\t\u202ec\x1b[31m gr\xfc\xdfe".replace(r"\xfc\xdf", "\xfc\xdf")),
    ],
)
def test_what_a_line_shows(text: str, line: str) -> None:
    assert one_line(text) == line


def test_a_long_argument_keeps_both_ends() -> None:
    line = one_line(f"{'x' * 5000}.txt: no such file")
    assert len(line) < 500
    assert line.startswith("xxx")
    assert "xxx.txt: no such file" in line
    assert len(one_line("word " * 5000)) <= 4000
