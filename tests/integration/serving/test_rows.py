"""Rows of a database as pages: what is named is published, nothing else is, and nothing is written."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from scrawler.features.serving.rows import RowError, Rows
from scrawler.features.serving.tables import TablesError, read_tables
from scrawler.features.serving.templates import PageError, Templates
from tests.integration.serving.publishing import Published, publishing
from tests.integration.serving.test_site import ask, listed

TABLES = """
url = "sqlite:///{path}"
[[table]]
name = "product"
columns = ["id", "title", "text"]
lastmod = "updated_at"
prefix = "products"
search = ["title", "text"]
[[table]]
name = "note"
columns = ["text"]
key = ["lang", "name"]
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop.db"
    run(
        path,
        "CREATE TABLE product (id INTEGER PRIMARY KEY, title TEXT, text TEXT, updated_at TEXT, margin TEXT)",
        "CREATE TABLE note (lang TEXT, name TEXT, text TEXT)",
        "CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT)",
        "INSERT INTO customer VALUES (1, 'SECRET')",
        "INSERT INTO note VALUES ('en', 'a b/c', 'a note'), ('de', '..', 'no path'), ('', 'x', 'no path')",
        *(f"INSERT INTO product VALUES ({n}, 'Teapot {n}', 'text {n}', '2024-01-01T00:00:00Z', 'SECRET')"
          for n in range(1, 1_203)),
        "UPDATE product SET title = '<script>alert(1)</script>', text = '100 % {{ 7 * 7 }}' WHERE id = 7",
    )  # fmt: skip
    (tmp_path / "shop.toml").write_text(TABLES.format(path=path))
    return path


def run(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


@contextmanager
def opened(path: Path) -> Iterator[Rows]:
    rows = Rows(read_tables(path.with_suffix(".toml")))
    try:
        yield rows
    finally:
        rows.close()


@pytest.fixture
def site(tmp_path: Path, shop: Path) -> Iterator[Published]:
    with opened(shop) as rows, publishing(tmp_path / "site", tmp_path / "state.db", rows=rows) as made:
        made.scan()
        yield made


def test_rows_are_pages_with_dates(site: Published, shop: Path) -> None:
    resources = listed(site, "resourcesync/resourcelist.xml").listed
    assert len(resources) == 1_203
    assert {one.lastmod for one in resources if "/products/" in one.url} == {1_704_067_200_000}
    status, headers, body = ask(site, "/products/8")
    assert status == 200
    assert b"<h1>Teapot 8</h1>" in body
    assert b"SECRET" not in body
    assert headers["last-modified"] == "Mon, 01 Jan 2024 00:00:00 GMT"
    assert ask(site, "/products/8", If_None_Match=headers["etag"])[0] == 304
    assert b"a note" in ask(site, "/note/en/a%20b%2Fc")[2]
    run(shop, "UPDATE product SET title = 'Kettle', updated_at = '2024-01-02' WHERE id = 8")
    assert b"Teapot 8" in ask(site, "/products/8")[2], "from the cache, until a scan"
    run(shop, "DELETE FROM product WHERE id = 9", "INSERT INTO note VALUES ('fr', 'x', 'new')")
    assert site.scan() == 2
    assert b"Kettle" in ask(site, "/products/8")[2]
    changes = {
        one.url.removeprefix(site.base): one.change for one in listed(site, "resourcesync/changelist.xml").listed
    }
    assert changes == {"products/8": "updated", "products/9": "deleted", "note/fr/x": "created"}
    assert ask(site, "/products/9")[0] == 404


@pytest.mark.parametrize(
    "target",
    [
        "/products/1%20OR%201=1", "/products/1'--", "/products/", "/products/1/2", "/products/01", "/products/+1",
        "/products/1.0", "/products/99999999999999999999999", "/products/%00", "/customer/1", "/note/de/..",
        "/note/en", "/products/1;DROP%20TABLE%20product", "/product/1", "/products/%ff",
    ],
)  # fmt: skip
def test_no_text_of_a_request_becomes_sql(site: Published, target: str) -> None:
    assert ask(site, target)[0] == 404


def test_values_are_escaped(site: Published) -> None:
    body = ask(site, "/products/7")[2]
    assert b"<script>" not in body
    assert b"&lt;script&gt;" in body
    assert b"{{ 7 * 7 }}" in body
    assert b"<script>" not in ask(site, "/search?q=%3Cscript%3E")[2]


def test_a_search(site: Published, shop: Path) -> None:
    found = ask(site, "/search?q=TEAPOT%20120")[2]
    assert [b"/products/%d" % number in found for number in (120, 1200, 1201, 121)] == [True, True, True, False]
    assert ask(site, "/search?q=%25")[2].count(b"<li>") == 1, "a per cent sign is one"
    assert ask(site, "/search?q=teapot")[2].count(b"<li>") == 100
    assert b"SECRET" not in ask(site, "/search?q=SECRET")[2].replace(b'value="secret"', b"")
    for target in ("/search", "/search?q=", "/search?q=" + "x" * 101, "/search?q=%00"):
        assert ask(site, target)[0] == 400
    before = site.site.terms.hits
    ask(site, "/search?q=teapot")
    assert site.site.terms.hits == before + 1


def test_caches_are_bounded(site: Published) -> None:
    pages, terms = site.site.pages, site.site.terms
    assert (pages._most, terms._most) == (1 << 20, (1 << 20) // 8)
    pages._most = terms._most = 20_000  # a hundred are more than that
    for number in range(1, 101):
        ask_quietly(site, f"/products/{number}")
        site.site.answer("/search", "", {}, f"teapot {number} " + "x" * 80)
    assert 10_000 < pages.total <= 20_000
    assert 10_000 < terms.total <= 20_000


def ask_quietly(site: Published, target: str) -> None:
    """Ask without HTTP, which would take long for a thousand pages."""
    assert site.site.answer(target, "", {}, "").status == 200


def test_nothing_is_written(shop: Path) -> None:
    with opened(shop) as rows, pytest.raises(RowError, match="readonly"):
        rows._run(rows_text("DELETE FROM product"))


def rows_text(text: str) -> Any:
    from sqlalchemy import text as sql_text

    return sql_text(text)


def test_a_database_that_is_away(site: Published, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_args: object) -> None:
        raise RowError("it is away")

    monkeypatch.setattr(Rows, "_run", away)
    status, headers, _ = ask(site, "/products/9")
    assert (status, headers["retry-after"]) == (503, "30")
    assert ask(site, "/search?q=x")[0] == 503


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "say where the database is"),
        ('url = "sqlite:///x"', "name the tables"),
        ('url = "sqlite:///x"\ntables = 1', "unknown: tables"),
        ('url_env = "NO_SUCH_VARIABLE"\n[[table]]\nname = "a"', "NO_SUCH_VARIABLE"),
        ('url = "sqlite:///x"\n[[table]]\nname = "a"', "name the columns"),
        ('url = "sqlite:///x"\n[[table]]\nname = "a"\ncolumns = ["b"]\nprefix = "../x"', "is no path"),
        ('url = "sqlite:///x"\n[[table]]\nname = "a"\ncolumns = ["b"]\nsearch = ["c"]', "search names c"),
        ('url = "sqlite:///x"\n[[table]]\nname = "a"\ncolumns = ["b"]\nwhere = "1"', "unknown: where"),
        ("url = [", "cannot read"),
    ],
)
def test_files_that_are_wrong(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "x.toml"
    file.write_text(text)
    with pytest.raises(TablesError, match=said):
        read_tables(file)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('name = "none"\ncolumns = ["a"]', "cannot read the database"),
        ('name = "product"\ncolumns = ["none"]', "has no column none"),
        ('name = "note"\ncolumns = ["text"]', "has no primary key"),
    ],
)
def test_what_the_database_has_not(shop: Path, table: str, said: str) -> None:
    file = shop.with_suffix(".toml")
    file.write_text(f'url = "sqlite:///{shop}"\n[[table]]\n{table}\n')
    with pytest.raises(TablesError, match=said):
        Rows(read_tables(file))


@pytest.mark.parametrize(
    "text",
    ["{{ row.__class__.__mro__ }}", "{{ ''.__class__ }}", "{{ nothing }}", "{{ row.update(x=1) }}", "{% for x in"],
)
def test_a_template_does_not_reach_out(shop: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "t.html").write_text(text)
    templates = Templates(tmp_path)
    with opened(shop) as rows:
        row = rows.find("products/1")
    assert row is not None
    row = row._replace(table=row.table._replace(template="t.html"))
    with pytest.raises(PageError):
        templates.page(row)
