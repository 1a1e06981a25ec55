"""Regular expressions: none that an interpreter within reach gets wrong, and none that a text can keep busy."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from time import thread_time

import pytest

import scrawler
from scrawler.extract.charset import declared_in_header, declared_in_meta
from scrawler.extract.hazards import is_hazardous
from scrawler.extract.link_header import canonical_targets
from scrawler.extract.links import LinkPolicy
from scrawler.extract.rules import refresh_target, srcset_urls
from scrawler.extract.scanned import scanned
from scrawler.extract.sitemaps import is_sitemap, read_sitemap
from scrawler.extract.sniff import sniffed_type
from scrawler.fetch.robots_text import read_robots
from scrawler.settings.found import check_depth
from scrawler.urls.normalise import normalise, resolve_plain
from scrawler.urls.patterns import patterns_of
from scrawler.urls.steps import session_ids
from scrawler.urls.wanted import UrlPatterns

ROOT = Path(scrawler.__file__).parent
# Prints where in the package a pattern is made with an operation that CPython before 3.11.5 matches wrongly (gh-100061,
# gh-106052): Debian 12 has 3.11.2. It looks on while all modules are imported.
WATCH = """
import pkgutil, re, sys
from importlib import import_module
import scrawler

FORBIDDEN = {"POSSESSIVE_REPEAT", "POSSESSIVE_REPEAT_ONE", "ATOMIC_GROUP"}
parse = re._parser.parse

def operations(value):
    if isinstance(value, re._parser.SubPattern):
        value = value.data
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from operations(part)
    yield str(value)

def watched(pattern, *arguments):
    parsed = parse(pattern, *arguments)
    frame = sys._getframe()
    while frame.f_globals.get("__name__", "").partition(".")[0] in ("re", "__main__"):
        frame = frame.f_back
    if frame.f_globals["__name__"].startswith("scrawler"):
        seen.add(frame.f_globals["__name__"])
        if FORBIDDEN & set(operations(parsed)):
            print(frame.f_globals["__name__"], frame.f_lineno, pattern)
    return parsed

seen = set()
re._parser.parse = watched
for module in pkgutil.walk_packages(scrawler.__path__, "scrawler."):
    if not module.name.endswith("__main__"):
        import_module(module.name)
sys.modules["scrawler.features.revisit.policies.change"]._patterns()
print(len(seen), "modules")
"""


def test_no_pattern_is_possessive_or_atomic() -> None:
    watched = subprocess.run([sys.executable, "-c", WATCH], capture_output=True, text=True, check=True)
    *found, modules = watched.stdout.splitlines()
    assert found == []
    assert int(modules.split()[0]) > 20


def made_in_functions(module: ast.Module) -> Iterator[str]:
    """Yield the texts of patterns that a module makes after its import."""
    for function in ast.walk(module):
        if isinstance(function, ast.FunctionDef | ast.Lambda):
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and call.args and is_of_re(call.func):
                    texts = [part.value for part in ast.walk(call.args[0]) if isinstance(part, ast.Constant)]
                    yield "".join(text for text in texts if isinstance(text, str))


def is_of_re(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "re"


def test_nor_one_that_is_made_later() -> None:
    modules = (path.read_text() for path in ROOT.rglob("*.py"))
    makes = re.compile(r"^ *import re\b", re.MULTILINE)  # as all of ours do that make any
    found = [text for module in modules if makes.search(module) for text in made_in_functions(ast.parse(module))]
    assert found, "the search finds nothing at all"
    assert [text for text in found if any(sign in text for sign in ("++", "*+", "?+", "}+", "(?>"))] == []


def reads_page(text: str) -> None:
    page = text.encode("utf-8", "replace")
    scanned(page, "http://h/", LinkPolicy(nofollow=frozenset({"ugc"}), assets=True), "utf-8", "")
    is_hazardous(page)


def reads_start_of_page(text: str) -> None:
    page = text.encode("utf-8", "replace")
    declared_in_meta(page)
    sniffed_type(page)


def reads_values(text: str) -> None:
    for page in (f"<a {text}>", f"<a x='{text}'>", f'<a x="{text}">', f"<a x={text} y>"):
        scanned(page.encode("utf-8", "replace"), "http://h/", LinkPolicy(), "utf-8", "")
    refresh_target(text)
    srcset_urls(text)


def reads_headers(text: str) -> None:
    canonical_targets("<a>; rel=canonical" + text)
    canonical_targets(text + "canonical")
    declared_in_header(text)
    declared_in_header("text/html;charset=" + text)


def reads_files(text: str) -> None:
    body = text.encode()
    is_sitemap(body, "", "")
    read_sitemap(body, "", "")
    read_sitemap(b"<?xml " + body, "", "")
    read_robots(body, "scrawler")
    read_robots(b"User-agent: *\nDisallow: " + body, "scrawler")


MANY_STARS = UrlPatterns((), ("*".join("/a./a1-a"), "*a" * 8))


def reads_urls(text: str) -> None:
    for url in (text, "http://h/" + text, "http://h.com/" + text, "http://h/?" + text):
        normalise(url, "http://h/a/", 1 << 30)
        resolve_plain(url, "http://h/a/", "http://h/")
    patterns_of("http://h/" + text)
    patterns_of("http://h/?" + text)
    MANY_STARS.refusal("http://h/" + text)
    session_ids("http://h/" + text + "?" + text)


def reads_settings(text: str) -> None:
    with suppress(RecursionError):
        check_depth(text)


READERS = (reads_page, reads_start_of_page, reads_values, reads_headers, reads_files, reads_urls, reads_settings)
HOSTILE = [
    *"aA0 \t\n<>=\"'&;,/.-_~\\([#?%*\0",
    *(
        "<a ",
        "<a b=",
        "<a b='\"",
        "<a b=\"'",
        "=\"'",
        "a=",
        "<title ",
        "<title a=",
        "<title>",
        "<title></title",
        "<!--",
    ),
    "<!-->",
    *("<!--a>", "-->", "<!", "<?", "</", "<!a[", "<!a[]", "<!a[] ", "<meta ", "<meta charset=", "<xml ", "]>"),
    *("charset=", "charset =", " charset", "encoding", " encoding", "url=", "0;", "0;url ", "0 ", ".0", ";a=", ";a "),
    "a(",
    *("()", "a ,", "a 2x,", "a (),", "<a>", "<a>;", '\\"', '"\\', ';a="', '<a>;rel="', "&a", "&#0", "&#x", "&#x0"),
    "http://a ",
    *("http://a\n", "http://a\r", " http://a x\n", "<urlset", "<urlset ", "<?xml ", "<a:", "a:", "../", "./"),
    "a/",
    *("a.", "a/../", "//", "http://", "xn--", "%4", "%41", "1-", "a1", ";jsessionid=", "/(S(", "a=1&", "a;b=", "*$"),
    *('"""', "'''", '"""\\', '"""\\"', '"\\', "'\n", '"""\\"" '),
]
SHORT = 500  # characters


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_time_grows_as_the_text_does(reader: Callable[[str], None]) -> None:
    slow = [unit for unit in HOSTILE for end in ("", "!", ">") if not grows_linearly(reader, unit, end)]
    assert slow == []


def grows_linearly(reader: Callable[[str], None], unit: str, end: str) -> bool:
    """Tell whether 16 times the text takes less than 64 times the CPU; what is quadratic takes 256 times."""
    short = unit * (SHORT // len(unit)) + end
    long = unit * (16 * SHORT // len(unit)) + end
    # The machine may be busy with other things in one measurement: the best of three counts.
    return any(cpu(reader, long) < 64 * max(cpu(reader, short), 0.0001) for _ in range(3))


def cpu(reader: Callable[[str], None], text: str) -> float:
    begin = thread_time()
    reader(text)
    return thread_time() - begin
