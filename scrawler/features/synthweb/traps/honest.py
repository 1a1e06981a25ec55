"""Honest sites that look like traps: all their pages are real, however little one differs from the next."""

from __future__ import annotations

from calendar import month_name
from collections.abc import Callable, Iterable, Sequence
from typing import Final
from urllib.parse import parse_qsl

from scrawler.features.synthweb.site import mix
from scrawler.features.synthweb.traps.pages import Answer, TrapSite, chance, html, names, prose, words

_MANY = 300  # pages of most sites
_TERMS = "Delivery within two days. Payment by card or invoice. Terms apply to all orders placed in this shop."
_ON_A_PAGE = 20  # entries of an index that has pages itself
_LANGUAGES = ("en", "de", "fr", "it", "es")
_COLOURS = ("red", "green", "blue", "black", "white")
_SIZES = ("small", "medium", "large")

Write = Callable[[int], str]


def _nothing(path: str) -> str | None:
    """Have no further page."""
    return None


def _listed(
    name: str,
    does: str,
    paths: Sequence[str],
    write: Write,
    more: Answer = _nothing,
    beside: Sequence[str] = (),
    sitemap: bool = False,
    home: Iterable[str] | None = None,
) -> TrapSite:
    """Return a site whose home page leads to all pages, or to `home`; `beside` are real paths that `more` answers."""
    numbers = {path: number for number, path in enumerate(paths)}
    linked = tuple(paths if home is None else home)

    def answer(path: str) -> str | None:
        if path == "/":
            return html(name, words(len(name), 3), linked)
        number = numbers.get(path)
        return more(path) if number is None else write(number)

    listed = tuple(paths) if sitemap else ()
    return TrapSite(name, does, ("/", *paths, *beside), answer, endless=False, sitemap=listed)


def _numbered(folder: str, ending: str = ".html", count: int = _MANY) -> tuple[str, ...]:
    return tuple(f"/{folder}/{number}{ending}" for number in range(1, count + 1))


def _neighbours(paths: Sequence[str], number: int) -> list[str]:
    """Return the page before and the page after, as far as they are there."""
    return [paths[near] for near in (number - 1, number + 1) if 0 <= near < len(paths)]


def _only_here(folder: str, key: int) -> Answer:
    """Documents that one page each leads to."""

    def answer(path: str) -> str | None:
        return html("Document", prose(path, key), ("/",)) if path.startswith(f"/{folder}/") else None

    return answer


# -- pages that differ in next to nothing -------------------------------------------------------------------


def _documentation() -> TrapSite:
    paths = _numbered("guide")

    def write(number: int) -> str:
        return html(f"Chapter {number}", words(number, 11, count=150), ("/", *_neighbours(paths, number)))

    return _listed("documentation", "numbered chapters", paths, write)


def _dictionary(named: bool) -> TrapSite:
    entries = names(_MANY, 12)
    paths = tuple(f"/word/{entry}" for entry in entries) if named else _numbered("word", "")

    def write(number: int) -> str:
        said = f"<b>{entries[number]}</b>, noun. {words(number, 12, count=6)}. See also the preface and the key."
        return html("Dictionary", said, ("/",))

    name = "dictionary-named" if named else "dictionary"
    return _listed(name, "one entry a page", paths, write)


def _stations() -> TrapSite:
    def write(number: int) -> str:
        values = [mix(number, kind) % 400 / 10 for kind in range(6)]
        said = "Temperature {} C, dew point {} C, wind {} km/h, rain {} mm, snow {} cm, sun {} h.".format(*values)
        return html("Station", f"{said} All values are means of the last hour.", ("/",))

    return _listed("stations", "a template, and numbers", _numbered("station", ""), write)


def _price(number: int) -> str:
    return html("Item", f"Costs {mix(number, 13) % 9_973} euro. {_TERMS}", ("/",))


def _prices(kind: str) -> TrapSite:
    """One number differs; `kind` says by what the pages are listed."""
    paths = _numbered("p")
    pages = tuple(f"/list?page={page}" for page in range(1, len(paths) // _ON_A_PAGE + 1))

    def index(path: str) -> str | None:
        if path not in pages:
            return None
        place = pages.index(path)
        shown = paths[place * _ON_A_PAGE : (place + 1) * _ON_A_PAGE]
        return html("List", "All items.", ("/", *_neighbours(pages, place), *shown))

    does = f"one number differs; listed by {kind}"
    name = f"prices-{kind.replace(' ', '-')}"
    if kind == "pages":
        return _listed(name, does, paths, _price, more=index, beside=pages, home=pages[:1])
    home = () if kind == "sitemap alone" else None
    return _listed(name, does, paths, _price, sitemap=kind != "index", home=home)


def _titles() -> TrapSite:
    items = names(_MANY, 14)

    def write(number: int) -> str:
        return html(items[number], _TERMS, ("/",))

    return _listed("titles", "the title differs", tuple(f"/item/{item}" for item in items), write)


def _embedded(name: str, does: str, element: str, folder: str, chain: bool = False) -> TrapSite:
    """Pages that differ in one element alone, whose URL takes the place of %s."""
    paths = _numbered(name, "")

    def write(number: int) -> str:
        links = ("/", *_neighbours(paths, number)) if chain else ("/",)
        return html("Page", element % f"/{folder}/{mix(number, 15) % (1 << 32):x}", links)

    return _listed(name, does, paths, write, home=paths[:1] if chain else None)


def _leading(name: str, does: str, element: str, folder: str) -> TrapSite:
    """The same, and what the element leads to is a page as well."""
    paths = _numbered(name, "")
    targets = [f"/{folder}/{mix(number, 16) % (1 << 32):x}.html" for number in range(len(paths))]

    def write(number: int) -> str:
        return html("Sheet", f"{_TERMS} {element % targets[number]}", ("/",))

    return _listed(name, does, paths, write, more=_only_here(folder, 16), beside=targets)


def _law() -> TrapSite:
    common = words(17, count=120)

    def write(number: int) -> str:
        return html("Act", f"({number}) {common} {words(number, 17, count=1)} {mix(number, 18) % 900}.", ("/",))

    return _listed("law", "paragraphs of which a word differs", _numbered("act"), write)


def _chain() -> TrapSite:
    paths = _numbered("part")

    def write(number: int) -> str:
        return html("Part", words(number, 19, count=25), ("/", *_neighbours(paths, number)))

    return _listed("chain", "each page leads to the next, no index", paths, write, home=paths[:1])


def _catalogue() -> TrapSite:
    """Two levels of words, texts of one small vocabulary."""
    kinds, parts = names(30, 20), names(30, 21)
    vocabulary = words(22, count=300).split()
    indexes = tuple(f"/{kind}/" for kind in kinds)
    paths = [f"/{kind}/{part}" for kind in kinds for part in parts]

    def write(number: int) -> str:
        return html("Part", " ".join(chance(paths[number]).choices(vocabulary, k=40)), ("/", indexes[number // 30]))

    def index(path: str) -> str | None:
        found = (f"{path}{part}" for part in parts)
        return html("Parts", f"All of {path}", ("/", *found)) if path in indexes else None

    return _listed("catalogue", "texts of few words", paths, write, more=index, beside=indexes, home=indexes)


def _days(name: str, does: str, count: int, text: Write) -> TrapSite:
    """Short pages, each of which leads to the day before and the day after."""
    paths = [f"/{name}?day={number}" for number in range(count)]

    def write(number: int) -> str:
        return html("Day", text(number), ("/", *_neighbours(paths, number)))

    return _listed(name, does, paths, write, home=paths[:1])


def _weather(number: int) -> str:
    sky = ("Sunny", "Cloudy", "Rain", "Snow", "Windy", "Fog")[mix(number, 50) % 6]
    return f"{sky}. Temperature {mix(number, 51) % 41 - 10} degrees, wind {mix(number, 52) % 91} km/h."


def _votes(number: int) -> str:
    return f"Yes {mix(number, 53) % 90}, no {mix(number, 54) % 90}, not there {mix(number, 55) % 40}."


_FEW_WORDS: Final = tuple(words(56, count=60).split())


def _two_words(number: int) -> str:
    return " ".join(_FEW_WORDS[mix(number, part) % len(_FEW_WORDS)] for part in (57, 58))


def _alike(name: str, does: str, each: int, text: Write) -> TrapSite:
    """Some 700 items that say next to nothing of their own, on pages of a list that say no more."""
    items = [f"/{name}/{number}" for number in range(720)]
    pages = [f"/list?page={page}" for page in range(1, len(items) // each + 1)]

    def write(number: int) -> str:
        return html(f"Item {number}", f"{text(number)} {_TERMS}", ("/",))

    def index(path: str) -> str | None:
        if path not in pages:
            return None
        place = pages.index(path)
        shown = range(place * each, place * each + each)
        said = "<br>".join(f"Item {number} {text(number)}" for number in shown)
        return html("List", said, (*_neighbours(pages, place), *(items[number] for number in shown)))

    return _listed(name, does, items, write, more=index, beside=pages, home=pages[:1])


# -- whole sites ---------------------------------------------------------------------------------------------


def _forum() -> TrapSite:
    lists = ("/forum", *(f"/forum?page={page}" for page in range(2, 51)))
    threads = [f"/thread/{number}" for number in range(1, 251)]
    pages = {f"/thread/{number}": range(2, 2 + number % 3) for number in range(1, 251)}
    posts = frozenset((*threads, *(f"{thread}?page={page}" for thread in threads for page in pages[thread])))

    def more(path: str) -> str | None:
        if path in lists:
            place = lists.index(path)
            return html("Forum", "Threads", (*_neighbours(lists, place), *threads[place * 5 : place * 5 + 5]))
        if path not in posts:
            return None
        thread = path.partition("?")[0]
        others = (f"{thread}?page={page}" for page in pages[thread])
        return html("Thread", prose(path, 23, count=40), (thread, *others, "/forum"))

    real = (*lists, *sorted(posts))
    return _listed("forum", "50 pages of threads", (), _price, more, real, home=lists[:1])


def _wiki() -> TrapSite:
    titles = names(100, 24)
    paths = [f"/wiki/{title}" for title in titles]
    actions = ("edit", "history", "info", "raw")

    def write(number: int) -> str:
        title = titles[number]
        beside = [f"/index.php?title={title}&action={action}" for action in actions]
        old = [f"/index.php?title={title}&oldid={number * 100 + step}" for step in range(5)]
        near = [paths[mix(number, step) % len(paths)] for step in range(8)]
        return html(title, words(number, 24), ("/", *near, *beside, *old))

    def tool(path: str) -> str | None:
        chosen = dict(parse_qsl(path.partition("?")[2]))
        if chosen.get("title") not in titles:
            return None
        title = chosen["title"]
        number = titles.index(title)
        old = [
            f"/index.php?title={title}&diff={number * 100 + step}&oldid={number * 100 + step + 1}" for step in range(4)
        ]
        return html(title, f"{chosen} {words(number, 24)}", (f"/wiki/{title}", *old))

    return _listed("wiki", "history, differences and editors beside each article", paths, write, more=tool)


def _shop(name: str, products: int) -> TrapSite:
    """Facets in the query, in whatever order they are chosen, and pages of each choice, which name what they show."""
    paths = [f"/product/{number}" for number in range(products)]
    facets = {"colour": _COLOURS, "size": _SIZES, "sort": ("price", "name", "newest")}

    def entry(number: int) -> str:
        kind = f"{_COLOURS[number % 5]}, {_SIZES[number % 3]}"
        return f"{words(number, 25, count=2)}: {kind}, {mix(number, 25) % 500} euro."

    def write(number: int) -> str:
        return html(f"Product {number}", f"{entry(number)} {_TERMS}", ("/", "/shop"))

    def page(path: str) -> str | None:
        folder, _, query = path.partition("?")
        if folder != "/shop":
            return None
        chosen = dict(parse_qsl(query))
        found = _found(products, chosen.get("colour"), chosen.get("size"))
        place = int(chosen.pop("page", "1"))
        shown = found[(place - 1) * _ON_A_PAGE : place * _ON_A_PAGE]
        choices = [chosen | {key: value} for key, values in facets.items() for value in values]
        if place * _ON_A_PAGE < len(found):
            choices.append(chosen | {"page": str(place + 1)})
        links = ["/shop?" + "&".join(f"{key}={value}" for key, value in choice.items()) for choice in choices]
        return html("Shop", "<br>".join(map(entry, shown)), (*links, *(paths[number] for number in shown)))

    does = f"{products:,} products behind filters"
    return _listed(name, does, paths, write, more=page, beside=["/shop"], home=["/shop"])


def _found(products: int, colour: str | None, size: str | None) -> list[int]:
    """Return the numbers of the products that a choice of filters shows."""
    every = range(products) if colour is None else range(_COLOURS.index(colour), products, len(_COLOURS))
    return [number for number in every if size is None or number % len(_SIZES) == _SIZES.index(size)]


def _events() -> TrapSite:
    """Months for ever, in both directions; some of two years have an event."""
    months = [month for month in range(24) if mix(month, 26) % 3 == 0]
    paths = [f"/event/{month}" for month in months]

    def write(number: int) -> str:
        return html("Event", words(number, 26, count=30), ("/", f"/calendar?month={months[number]}"))

    def month(path: str) -> str | None:
        folder, _, number = path.partition("=")
        if folder != "/calendar?month" or not number.lstrip("-").isdigit():
            return None
        place = int(number)
        near = [f"/calendar?month={place + step}" for step in (1, -1)]
        events = [f"/event/{place}"] if place in months else []
        return html("Calendar", f"{month_name[place % 12 + 1]} {2024 + place // 12}", ("/", *near, *events))

    return _listed(
        "events", "a few events in an endless calendar", paths, write, more=month, home=["/calendar?month=0"]
    )


def _blog() -> TrapSite:
    titles = names(240, 27)
    paths = [f"/{2010 + number // 24}/{number % 24 // 2 + 1:02}/{title}" for number, title in enumerate(titles)]
    months = tuple(dict.fromkeys(f"{path.rpartition('/')[0]}/" for path in paths))
    years = tuple(dict.fromkeys(f"/{month.split('/')[1]}/" for month in months))
    pages = tuple(f"/page/{number}/" for number in range(2, 25))

    def write(number: int) -> str:
        return html(titles[number], words(number, 27), ("/", *_neighbours(paths, number)))

    def archive(path: str) -> str | None:
        if path in months or path in years:
            return html(
                "Archive", "Posts", ("/", *(one for one in (*months, *paths) if one.startswith(path) and one != path))
            )
        if path not in pages:
            return None
        place = pages.index(path) + 1
        return html("Blog", "Posts", ("/", *_neighbours(("/", *pages), place), *paths[place * 10 : place * 10 + 10]))

    return _listed("blog", "archives by date beside the posts", paths, write, more=archive, home=(*years, pages[0]))


def _translations() -> TrapSite:
    """Articles in five languages; a third are copies that are not translated yet, with nothing of their own."""
    articles = names(60, 28)
    own = [
        f"/{language}/{article}"
        for place, language in enumerate(_LANGUAGES)
        for number, article in enumerate(articles)
        if not place or number % 3
    ]
    every = [f"/{language}/{article}" for language in _LANGUAGES for article in articles]

    def copy(path: str) -> str | None:
        _, _, article = path.rpartition("/")
        if path not in every:
            return None
        number = articles.index(article)
        place = _LANGUAGES.index(path.split("/")[1]) if path in own else 0
        return html(article, words(number, place, 28), [f"/{language}/{article}" for language in _LANGUAGES])

    home = [f"/en/{article}" for article in articles]
    return _listed("translations", "copies in other languages", (), _price, more=copy, beside=own, home=home)


_SCAN = '<img src="%s.jpg">'

HONEST_SITES: tuple[TrapSite, ...] = (
    _documentation(),
    _dictionary(named=False),
    _dictionary(named=True),
    _stations(),
    _prices("index"),
    _prices("index and sitemap"),
    _prices("sitemap alone"),
    _prices("pages"),
    _titles(),
    _embedded("gallery", "an image and no text, each page leads to the next", _SCAN, "img", chain=True),
    _embedded("album", "an image each", f"{_TERMS} {_SCAN}", "img"),
    _embedded("films", "a film each", f'{_TERMS} <video src="%s.mp4"></video>', "v"),
    _embedded("players", "a player each", f'{_TERMS} <iframe src="https://player.test%s"></iframe>', "v"),
    _leading("frames", "a frame each", '<iframe src="%s"></iframe>', "maps"),
    _leading("files", "a document each, which stands nowhere else", '<a href="%s">Get it</a>', "files"),
    _law(),
    _chain(),
    _catalogue(),
    _days("weather", "days since spring, in a few words and numbers", 280, _weather),
    _days("votes", "three numbers a page, all of which were there before", 200, _votes),
    _days("two-words", "two words a page, of sixty", 200, _two_words),
    _alike("alike", "items that differ in their URL, twelve on each page of a list", 12, lambda number: "9.99 euro"),
    _alike("named-alike", "items that differ in two words of sixty, eight on each page of a list", 8, _two_words),
    _forum(),
    _wiki(),
    _shop("facets", 1_000),
    _events(),
    _blog(),
    _translations(),
)  # fmt: skip
LARGE_SHOP = _shop("large-facets", 10_000)
