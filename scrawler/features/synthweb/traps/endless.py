"""Endless spaces of made-up pages, in the query, the path, the host and the fragment, each beside real pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, timedelta
from itertools import product
from urllib.parse import quote
from zlib import crc32

from scrawler.features.synthweb.site import mix
from scrawler.features.synthweb.traps.pages import Answer, TrapSite, chance, html, names, prose, words

_VOCABULARY = tuple(dict.fromkeys(words(31, count=1_500).split()))
_REAL = tuple(f"/page/{name}.html" for name in names(20, 32))
_ARTICLES = tuple(f"/article/{number}" for number in range(20))
_OOPS = "We are sorry, this page is not here. Perhaps you are looking for one of these."
_SENTENCE = "Welcome to our shop. Here is what you looked for."
_LISTED = 20  # pages of a list that has entries
_LANGUAGES = ("de", "fr", "it", "es")
_FACETS = ("red", "green", "small", "large", "cheap", "new", "sale", "wool", "silk", "left", "right", "used")
_HOSTS = 4_000  # names of a domain that has any name: of so many a page's links hit hardly one that another has named
_LAST_YEAR = 9999


def _beside(
    name: str,
    does: str,
    entrance: str | Iterable[str],
    trap: Answer,
    real: Iterable[str] = _REAL,
    seed: int = 0,
) -> TrapSite:
    """Return a site whose home page leads to the real pages, and into a trap that answers all else.

    What the trap answers at a real path is its own page; elsewhere these have words of their own.
    """
    real = tuple(real)
    entrances = (entrance,) if isinstance(entrance, str) else tuple(entrance)

    def answer(path: str) -> str | None:
        if path == "/":
            return html(name, prose(name), (*entrances, *real))
        made = trap(path)
        return html(path, prose(path, seed), ("/",)) if made is None and path in real else made

    return TrapSite(name, does, ("/", *real), answer)


def _babble(path: str, count: int = 300) -> str:
    return " ".join(chance(path).choices(_VOCABULARY, k=count))


def _fresh(path: str) -> str:
    """Return babble among which there are new words and numbers on each page."""
    draw = chance(path + "!")
    new = (f"{draw.choice(_VOCABULARY)}{draw.choice(_VOCABULARY)}" for _ in range(10))
    numbers = (str(draw.randrange(1_000_000)) for _ in range(10))
    return f"{_babble(path, 200)} {' '.join(new)} {' '.join(numbers)}"


def _named(path: str, count: int, words_each: int = 2, glue: str = "-") -> list[str]:
    """Return names that a page makes up for its links."""
    draw = chance(path + "?")
    return [glue.join(draw.choices(_VOCABULARY, k=words_each)) for _ in range(count)]


def _maze(
    folder: str, text: Callable[[str], str], links: int = 6, words_each: int = 2, glue: str = "/", title: str = "Shop"
) -> Answer:
    """Pages below a folder, each of which leads to others there that nobody has named before."""

    def answer(path: str) -> str | None:
        if not path.startswith(folder):
            return None
        found = (f"{folder}{name}" for name in _named(path, links, words_each, glue))
        return html(title, text(path), found)

    return answer


def _counted(head: str, text: Callable[[int], str], tail: str = "", both: bool = False) -> Answer:
    """Pages by number, each of which leads to the next, and with `both` to the one before."""

    def answer(path: str) -> str | None:
        if not (path.startswith(head) and path.endswith(tail)):
            return None
        number = path[len(head) : len(path) - len(tail)]
        if not number.lstrip("-").isdigit():
            return None
        near = (1, -1) if both else (1,)
        return html("Page", text(int(number)), ("/", *(f"{head}{int(number) + step}{tail}" for step in near)))

    return answer


def _pages_beyond(name: str, head: str, tail: str = "") -> TrapSite:
    """A list with a few pages, whose next page is there for ever."""

    def text(number: int) -> str:
        return words(number, 33, count=40) if number <= _LISTED else "Nothing found. Try other words."

    real = (f"{head}{number}{tail}" for number in range(1, _LISTED + 1))
    return _beside(name, "a next page after the last one", f"{head}1{tail}", _counted(head, text, tail), real)


def _calendar_path(path: str) -> str | None:
    parts = path.strip("/").split("/")
    if len(parts) != 3 or parts[0] != "calendar" or not (parts[1] + parts[2]).isdigit():
        return None
    month = int(parts[1]) * 12 + int(parts[2]) - 1
    near = (f"/calendar/{(month + step) // 12}/{(month + step) % 12 + 1}" for step in (1, -1))
    return html("Calendar", f"{parts[1]}-{parts[2]} {' '.join(map(str, range(1, 31)))} No events.", ("/", *near))


def _archive(path: str) -> str | None:
    """Each day up to the year 9999, with its month and its year."""
    parts = path.strip("/").split("/")
    if parts[0] != "archive" or len(parts) != 4 or not "".join(parts[1:]).isdigit():
        return None
    try:
        day = date(*map(int, parts[1:]))
    except ValueError:
        return None
    later = [day + timedelta(days=step) for step in (1, 31, 366) if day.year + 2 < _LAST_YEAR]
    return html("Archive", f"No posts on {day.isoformat()}.", ("/", *(f"/archive/{one:%Y/%m/%d}" for one in later)))


def _calendar_days(path: str) -> str | None:
    """Months for ever, and a page for each day of a month, which all say the same."""
    parts = path.strip("/").split("/")
    if parts[0] != "days" or not 3 <= len(parts) <= 4 or not "".join(parts[1:]).isdigit():
        return None
    if len(parts) == 4:
        return html("Day", "No events on this day.", ("/days/2024/1",))
    month = int(parts[1]) * 12 + int(parts[2]) - 1
    near = (f"/days/{(month + step) // 12}/{(month + step) % 12 + 1}" for step in (1, -1))
    return html("Month", path, (*near, *(f"{path}/{day}" for day in range(1, 31))))


def _in_turn(path: str) -> str | None:
    """Lists of a dozen pages of one kind, each of which lists a dozen of the other kind."""
    folder = path.rpartition("/")[0]
    if folder not in ("/left", "/right"):
        return None
    other = "/right" if folder == "/left" else "/left"
    return html("List", _prose_like(path), (f"{other}/{mix(*path.encode(), number) % 10**9}" for number in range(12)))


def _home_again(path: str) -> str | None:
    """Prose of known and new words, with links home and to a page that is there."""
    if not path.startswith("/tale/"):
        return None
    return html("Tale", _prose_like(path), ("/", _REAL[0], *(f"/tale/{name}" for name in _named(path, 5))))


def _moved(path: str) -> str | None:
    """Prose of known and new words under names that mostly redirect to other ones."""
    if not path.startswith("/way/"):
        return None
    name, *others = _named(path, 3)
    if path != "/way/start" and crc32(path.encode()) % 5 < 3:
        return f"/way/{name}"
    return html("Way", _prose_like(path), (f"/way/{other}" for other in others))


def _prose_like(path: str) -> str:
    """Return text of which some half is new on each page."""
    known = " ".join(chance(path).choices(_VOCABULARY[:60], k=60))
    return f"{known} {prose(path, 45, count=30)}"


def _session_path(path: str) -> str | None:
    """A few rooms; the session in the path is another one in each link."""
    room, _, session = path.partition(";jsessionid=")
    if not room.startswith("/room/") or not room[6:].isdigit() or not session:
        return None
    links = (f"/room/{to};jsessionid={prose(path + str(to), count=1)}{mix(to, len(path)):x}" for to in range(8))
    return html("Room", words(int(room[6:]), 34), ("/", *links)) if int(room[6:]) < 8 else None


def _session_folder(path: str) -> str | None:
    parts = path.split("/")
    if len(parts) != 5 or parts[1] != "s" or parts[3] != "room" or not parts[4].isdigit():
        return None
    links = (f"/s/{mix(int(parts[2], 16), to):016x}/room/{to}" for to in range(8))
    return html("Room", words(int(parts[4]), 35), ("/", *links)) if int(parts[4]) < 8 else None


def _facets(path: str) -> str | None:
    """Filters as folders, in whatever order they are chosen."""
    if not path.startswith("/goods/"):
        return None
    chosen = [part for part in path[7:].split("/") if part]
    if not set(chosen) <= set(_FACETS):
        return None
    goods = words(sum(_FACETS.index(one) for one in set(chosen)) % 30, 36, count=30)
    return html("Goods", goods, ("/", *(f"{path}{facet}/" for facet in _FACETS if facet not in chosen)))


def _search(path: str) -> str | None:
    """Results of a search, each of which leads to searches for its words."""
    folder, _, term = path.partition("?q=")
    if folder != "/search":
        return None
    found = [f"/search?q={name}" for name in _named(path, 8, glue="+")]
    return html("Search", f"Results for {term}: {_babble(path, 40)}", ("/", *found))


def _nested(path: str) -> str | None:
    """A page that passes on where it was asked for, in the address that it passes on."""
    if not path.startswith("/go?url="):
        return None
    links = (f"/go?url={quote(path + suffix, safe='')}" for suffix in ("", "&a", "&b"))
    return html("Leaving", "You are leaving our site.", ("/", *links))


def _languages(path: str) -> str | None:
    """A language before the path, however many stand there."""
    parts = path.strip("/").split("/")
    last = f"/{parts[-1]}"
    if parts[-1] not in (*_LANGUAGES, "about", "terms") or not set(parts[:-1]) <= set(_LANGUAGES):
        return None
    text = words(len(last), 37, count=50)
    return html("Page", text, ("/", "about", "terms", *(f"/{language}{path}" for language in _LANGUAGES)))


def _back(path: str) -> str | None:
    """Articles whose links say where the visitor came from."""
    article, _, _ = path.partition("?")
    if article not in _ARTICLES:
        return None
    number = _ARTICLES.index(article)
    near = (f"{_ARTICLES[(number + step) % 20]}?from={quote(path, safe='')}" for step in (1, 2, 3))
    return html(article, words(number, 38), ("/", *near))


def _variants(path: str) -> str | None:
    """Articles to be printed and shared, and what is shared to be printed."""
    article, mark, _ = path.partition("?")
    if article not in _ARTICLES:
        return None
    lead = f"{path}{'&' if mark else '?'}"
    more = (f"{lead}{what}" for what in ("print=1", "share=mail", "share=chat", "size=large", "view=plain"))
    return html(article, words(_ARTICLES.index(article), 39), ("/", *more))


def _fragments(path: str) -> str | None:
    """Places that a script makes pages of."""
    if path != "/app":
        return None
    marks = (f"/app#{kind}{number}" for kind, number in product(("!/page/", "/page/", "page="), range(200)))
    return html("App", "Loading", ("/", *marks))


def _random_images(path: str) -> str | None:
    """A picture that nobody has seen, and the way to the next ones."""
    if not path.startswith("/random/"):
        return None
    picture = f'<img src="/img/{mix(*path.encode()):x}.jpg">'
    return html("Random", picture, ("/", *(f"/random/{name}" for name in _named(path, 3))))


def _fresh_documents(path: str) -> str | None:
    """Each page leads to a document that stands nowhere else, and to more such pages."""
    name = path.rpartition("/")[2]
    if path.startswith("/file/"):
        return html("File", f"Document {name}. {_SENTENCE}", ("/",))
    if not path.startswith("/get/"):
        return None
    return html(
        "Get", _SENTENCE, (f"/file/{name}-{mix(*path.encode()):x}", *(f"/get/{one}" for one in _named(path, 3)))
    )


def _one_sentence(path: str) -> str:
    return _SENTENCE


def _visitors(path: str) -> str:
    return f"You are visitor no. {mix(*path.encode()) % 10_000_000}. {_SENTENCE}"


def _readings(number: int) -> str:
    return f"Reading no. {number}: {mix(number, 40) % 400 / 10} C, {mix(number, 41) % 100} %."


def _mixed(name: str, does: str, folders: tuple[str, ...]) -> TrapSite:
    """Fifty real pages and a maze below the same folders."""
    real = [f"{folders[number % len(folders)]}{page}.html" for number, page in enumerate(names(50, 42))]

    def trap(path: str) -> str | None:
        folder = next((one for one in folders if path.startswith(one)), None)
        if folder is None or path in real:
            return None
        draw = chance(path + "/")
        links = (f"{draw.choice(folders)}{one}" for one in _named(path, 6, glue="/"))
        return html("Docs", _babble(path), links)

    return _beside(name, does, [f"{folder}start/here" for folder in folders], trap, real)


def _anywhere(path: str) -> str | None:
    """A maze that has no folder of its own."""
    if path in _REAL or path.count("/") < 2:
        return None
    return html("Shop", _babble(path), (f"/{name}" for name in _named(path, 6, 3, "/")))


def _soft_404_fresh(path: str) -> str | None:
    """The same page for every path, with links that are other ones each time."""
    if path in _REAL:
        return None
    return html(
        "Oops", "We are sorry, this page is not here. Perhaps you are looking for one of these.", _named(path, 4)
    )


def _wildcard(domain: str, does: str, text: Callable[[str], str]) -> TrapSite:
    """A domain in which every name has a page, and each leads to more names."""
    hosts = tuple(f"{name}.{domain}" for name in names(_HOSTS, 43))

    def answer(asked: str) -> str | None:
        _, _, host, path = asked.split("/", 3)
        name, _, port = host.partition(":")
        links = [f"http://{other}:{port}/" for other in chance(name).sample(hosts, 3)]
        if name != domain:
            return html("Shop", text(name), links) if not path else None
        if not path:
            return html(domain, prose(domain), (*links, *_REAL))
        return html(path, prose(path), ("/",)) if f"/{path}" in _REAL else None

    return TrapSite(domain, does, ("/", *_REAL), answer, names=(domain, *hosts))


ENDLESS_SITES: tuple[TrapSite, ...] = (
    _beside("calendar-path", "months in the path", "/calendar/2024/1", _calendar_path),
    _beside("session-path", "a new session behind a semicolon in each link", "/room/0;jsessionid=1", _session_path),
    _beside("session-folder", "a new session as a folder in each link", "/s/1/room/0", _session_folder),
    _beside("facets-path", "filters as folders, in any order", "/goods/", _facets),
    _pages_beyond("beyond-query", "/list?page="),
    _pages_beyond("beyond-path", "/list/page/", "/"),
    _beside("same", "one sentence under names that are made up", "/maze/start", _maze("/maze/", _one_sentence)),
    _beside("soft-404-fresh", "one page for every path, and new links", "/gone/", _soft_404_fresh),
    _beside("markov", "babble under paths of words", "/maze/start", _maze("/maze/", _babble)),
    _beside("markov-fresh", "babble with new words and numbers", "/maze/start", _maze("/maze/", _fresh)),
    _beside("tarpit", "babble, and a hundred links a page", "/maze/start", _maze("/maze/", _babble, links=100)),
    _beside("archive", "days up to the year 9999", "/archive/2024/01/01", _archive),
    _beside("calendar-days", "months, and a page for each of their days", "/days/2024/1", _calendar_days),
    _beside("lists-in-turn", "lists of lists of two kinds, half of it new", "/left/1", _in_turn),
    _beside("home-again", "prose, and links home", "/tale/start", _home_again),
    _beside("moved", "names that redirect to other names", "/way/start", _moved),
    _beside("search", "results that lead to further searches", "/search?q=a", _search),
    _beside("counter", "a number in the path", "/visit/1", _counted("/visit/", lambda number: _SENTENCE)),
    _beside("counter-text", "a number in the text, names in the path", "/hall/start", _maze("/hall/", _visitors, 3)),
    _beside("readings", "numbers of a sensor for ever", "/reading/1", _counted("/reading/", _readings)),
    _beside("nested-url", "an address in an address", "/go?url=%2F", _nested),
    _beside("languages", "a language before a language", "/de/about", _languages),
    _beside("back", "links that say where the visitor came from", (), _back, _ARTICLES),
    _beside("variants", "prints of shares of prints", (), _variants, _ARTICLES),
    _beside("fragments", "pages behind the #", "/app", _fragments),
    _beside("random-images", "a new picture on each page", "/random/start", _random_images),
    _beside("fresh-documents", "a document of its own on each page", "/get/start", _fresh_documents),
    _mixed("mixed", "real pages and a maze below one folder", ("/docs/",)),
    _mixed("mixed-folders", "real pages and a maze below many folders", tuple(f"/{name}/" for name in names(12, 44))),
    _beside("anywhere", "babble below any folder", "/some/where/else", _anywhere),
    _wildcard("same.test", "any name in a domain, one page", _one_sentence),
    _wildcard("markov.test", "any name in a domain, babble", _babble),
)  # fmt: skip
