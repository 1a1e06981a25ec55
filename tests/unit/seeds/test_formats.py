from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrawler.errors import InputError, SettingsError
from scrawler.seeds.files import READ, Format, read_as, written_as
from scrawler.seeds.formats import LINE_LIMIT, Entry, read_entries


def entries(data: bytes, written: Format = Format.TXT) -> list[Entry]:
    return list(read_entries(io.BufferedReader(io.BytesIO(data)), written, "seeds"))  # type: ignore[arg-type]


def test_txt_skips_comments_and_blank_lines_and_counts_them() -> None:
    assert entries(b"# head\n\n  http://a.example/ \r\n\t\n#b\nb.example\nno-newline.example") == [
        Entry(3, "http://a.example/"),
        Entry(6, "b.example"),
        Entry(7, "no-newline.example"),
    ]


def test_txt_starts_with_a_byte_order_mark() -> None:
    assert entries(b"\xef\xbb\xbfhttp://a.example/\n") == [Entry(1, "http://a.example/")]


def test_a_fragment_is_kept_but_a_comment_behind_a_url_is_a_problem() -> None:
    good, bad = entries(b"http://a.example/#top\nhttp://a.example/ # mine\n")
    assert good == Entry(1, "http://a.example/#top")
    assert (bad.line, bad.text) == (2, "http://a.example/ # mine")
    assert "comment" in bad.problem


def test_broken_utf8_is_one_bad_line() -> None:
    bad, good = entries(b"http://\xff.example/\nhttp://a.example/\n")
    assert (bad.line, bad.problem) == (1, "not UTF-8 text")
    assert good == Entry(2, "http://a.example/")


@pytest.mark.parametrize("written", READ)
def test_a_ten_megabyte_line_is_one_bad_line_in_bounded_memory(written: Format) -> None:
    head = {Format.TXT: b"", Format.CSV: b"url\n", Format.JSONL: b""}[written]
    good = b'{"url": "a.example"}\n' if written is Format.JSONL else b"a.example\n"
    bad, after = entries(head + b"x" * 10_000_000 + b"\n" + good, written)
    assert "longer than" in bad.problem
    assert len(bad.text) <= 100
    assert bad.line == 1 + bool(head)
    assert after == Entry(bad.line + 1, "a.example")


@pytest.mark.parametrize("length", [LINE_LIMIT - 1, LINE_LIMIT, LINE_LIMIT + 1, 2 * LINE_LIMIT, 2 * LINE_LIMIT + 1])
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_lines_around_the_limit(length: int, end: bytes) -> None:
    first, *others = entries(b"x" * length + end + b"y\n" * bool(end))
    assert bool(first.problem) == (length > LINE_LIMIT)
    assert others == [Entry(2, "y")] * bool(end)


def test_csv_finds_its_column_in_any_case_and_quoted_cells_of_many_lines() -> None:
    data = b'Title,URL\n"one\ntwo",http://a.example/\n\n"x, y",http://b.example/\nshort\n'
    assert entries(data, Format.CSV)[:2] == [
        Entry(3, "http://a.example/", columns='{"Title": "one\\ntwo"}'),
        Entry(5, "http://b.example/", columns='{"Title": "x, y"}'),
    ]
    assert entries(data, Format.CSV)[2] == Entry(6, "short", "no column 'url'")


def test_csv_without_a_url_column() -> None:
    with pytest.raises(InputError, match=r"^seeds: no column 'url'.*only: link, title$"):
        entries(b"link,title\nhttp://a.example/,x\n", Format.CSV)
    with pytest.raises(InputError, match=r"only: url;title; a comma separates columns$"):
        entries(b"url;title\nhttp://a.example/;x\n", Format.CSV)


def test_csv_goes_on_after_a_broken_record() -> None:
    first, second = entries(b'url\n"a"b\nhttp://b.example/\n', Format.CSV)
    assert (first.line, first.text, "no CSV record: " in first.problem) == (2, '"a"b', True)
    assert second == Entry(3, "http://b.example/")


@pytest.mark.parametrize("rows", [3, 3000])
@pytest.mark.parametrize("before", ["", "x,"])
def test_a_stray_quote_costs_its_own_line_and_no_other(rows: int, before: str) -> None:
    lines = [f"http://h{number}.example/,{before}x" for number in range(rows)]
    lines[1] = f'{before}"{lines[1]}'
    found = entries("\n".join(["url,title", *lines, ""]).encode(), Format.CSV)
    assert [entry.line for entry in found] == list(range(2, rows + 2))
    assert [(entry.line, entry.text) for entry in found if entry.problem] == [(3, lines[1])]


def test_two_stray_quotes_that_seem_to_be_a_pair_cost_two_lines() -> None:
    found = entries(b'url\n"http://a.example/\nhttp://b.example/\nhttp://c.example/"\nd.example\n', Format.CSV)
    assert [(entry.line, bool(entry.problem)) for entry in found] == [(2, True), (3, False), (4, False), (5, False)]


def test_a_broken_line_within_a_record_is_told_once() -> None:
    found = entries(b'url,title\n"a.example","x\n\xff\ny"\n"b.example,z\n\xff\nc.example,z\n', Format.CSV)
    assert [(entry.line, entry.problem) for entry in found if not entry.problem.startswith("no CSV")] == [
        (3, "not UTF-8 text"),
        (4, ""),
        (6, "not UTF-8 text"),
        (7, ""),
    ]
    assert [entry.line for entry in found if entry.problem.startswith("no CSV")] == [5]


def test_jsonl() -> None:
    data = b'{"url": "http://a.example/", "n": 1}\n\n[1]\n{"url": 5}\n{"title": "x"}\nnot json\n"http://b.example/"\n'
    found = entries(data, Format.JSONL)
    assert found[0] == Entry(1, "http://a.example/", columns='{"n": 1}')
    assert [entry.line for entry in found[1:]] == [3, 4, 5, 6, 7]
    assert all("no JSON object" in entry.problem for entry in found[1:])


def test_further_columns_without_a_name_of_their_own_go_by_their_number() -> None:
    (entry,) = entries(b"n,url,,n,empty\n1,a.example,2,3,,beyond\n", Format.CSV)
    assert json.loads(entry.columns) == {"n": "1", "column 3": "2", "column 4": "3"}


@pytest.mark.parametrize(("value", "problem"), [("x" * 16_000, "have 16,009 characters, more than"), (0, "nested")])
def test_further_columns_that_are_too_much_are_a_bad_line(value: object, problem: str) -> None:
    for _ in range(60 if value == 0 else 0):
        value = [value]
    line = json.dumps({"url": "a.example", "x": value}).encode() + b'\n{"url": "b.example", "x": "\\ud800"}\n'
    bad, good = entries(line, Format.JSONL)
    assert problem in bad.problem
    assert json.loads(good.columns) == {"x": "\ud800"}


def test_of_an_export_only_the_columns_of_its_seeds_are_taken() -> None:
    exported = b'{"url": "a.example", "kind": "seed", "state": "done", "columns": {"n": 1}}\n'
    ours = b'{"url": "b.example", "kind": "page", "status": 200}\n{"url": "c.example", "kind": "seed", "mine": 2}\n'
    assert [entry.columns for entry in entries(exported + ours, Format.JSONL)] == [
        '{"n": 1}', "", '{"kind": "seed", "mine": 2}',
    ]  # fmt: skip
    table = b'url,kind,columns\na.example,seed,"{""n"": 1}"\nb.example,page,\n'
    assert [entry.columns for entry in entries(table, Format.CSV)] == ['{"n": 1}', ""]


def test_deeply_nested_json_is_a_bad_line() -> None:
    (bad,) = entries(b"[" * 500_000 + b"\n", Format.JSONL)
    assert bad.problem == "no JSON object"


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1)))
def test_what_csv_and_jsonl_write_is_read(texts: list[str]) -> None:
    texts = [text.strip() for text in texts if text.strip()]
    table = io.StringIO()
    csv.writer(table).writerows([("url", "n"), *((text, 1) for text in texts)])
    lines = "".join(json.dumps({"url": text}) + "\n" for text in texts)
    assert [entry.text for entry in entries(table.getvalue().encode(), Format.CSV)] == texts
    assert [entry.text for entry in entries(lines.encode(), Format.JSONL)] == texts


@given(st.binary(max_size=500), st.sampled_from(Format))
def test_no_line_is_lost_and_nothing_raises(data: bytes, written: Format) -> None:
    if written is Format.CSV:
        data = b"url\n" + data
    found = entries(data, written)
    if written is Format.TXT:
        lines = [line.strip() for line in data.split(b"\n")]
        undecodable = [number for number, line in enumerate(lines, 1) if not _decodes(line)]
        assert [entry.line for entry in found if entry.problem == "not UTF-8 text"] == undecodable


def _decodes(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("seeds", Format.TXT),
        ("a.csv", Format.CSV),
        ("a.CSV.gz", Format.CSV),
        ("a.jsonl.zst", Format.JSONL),
        ("a.ndjson", Format.JSONL),
        ("csv.gz", Format.TXT),
        ("-", Format.TXT),
    ],
)
def test_format_by_name(name: str, written: Format) -> None:
    assert read_as(name) is written
    assert written_as(name) is written


@pytest.mark.parametrize("name", ["a.parquet.gz", "a.json.gz", "a.tsv", "a.csv.bz2"])
def test_what_is_no_seed_file_by_its_name_is_neither_read_nor_written(name: str) -> None:
    with pytest.raises(InputError, match=r"seeds are read from \.txt, \.csv and \.jsonl"):
        read_as(name)
    with pytest.raises(SettingsError, match=r"only \.txt, \.csv and \.jsonl"):
        written_as(name)


@pytest.mark.parametrize("name", ["seeds.2024-05-01", "example.com", "a.list", "a.urls.gz"])
def test_a_name_that_says_nothing_is_read_as_text_and_not_written(name: str) -> None:
    assert read_as(name) is Format.TXT
    with pytest.raises(SettingsError, match=r"--format. writes to any name"):
        written_as(name)


def test_numbers_that_json_lacks_are_null() -> None:
    """Python writes NaN, and reads it; nobody else has to (RFC 8259, section 6)."""
    line = b'{"url": "a.example", "x": NaN, "y": {"z": [Infinity, -Infinity, 1e999, 1.5]}}\n'
    (entry,) = entries(line, Format.JSONL)
    assert entry.columns == '{"x": null, "y": {"z": [null, null, null, 1.5]}}'
