"""The traps, each on a site of its own whose home page leads to the real pages and into the trap."""

from __future__ import annotations

from calendar import month_name
from urllib.parse import parse_qsl

from scrawler.features.synthweb.site import mix
from scrawler.features.synthweb.traps.pages import Answer, TrapSite, html, real_page, words

_FACETS = {
    "sort": ("price", "name", "newest", "rating"),
    "colour": ("red", "green", "blue", "black", "white"),
    "size": ("small", "medium", "large"),
    "stock": ("all", "now"),
}
_PRODUCTS, _SHOWN = 40, 12
_ROOMS = 12


def _site(name: str, does: str, real: tuple[str, ...], entrance: str, trap: Answer, seed: int) -> TrapSite:
    """Return a site with the real pages, and a trap behind the entrance for all else."""
    numbers = {path: seed * 1_000 + number for number, path in enumerate(real)}

    def answer(path: str) -> str | None:
        if path == "/":
            return html(name, words(seed), (entrance, *real))
        return real_page(numbers[path], path) if path in numbers else trap(path)

    return TrapSite(name, does, ("/", *real), answer)


def _calendar(path: str) -> str | None:
    """A month for ever, in both directions; those of 2024 have events."""
    folder, _, month = path.partition("=")
    if folder != "/calendar?month" or not month.lstrip("-").isdigit():
        return None
    number = int(month)
    year, name = 2024 + number // 12, month_name[number % 12 + 1]
    events = words(number, 77, count=30) if 0 <= number < 6 else "No events."
    text = f"{name} {year} " + " ".join(map(str, range(1, 31))) + f" {events}"
    return html(f"{name} {year}", text, (f"/calendar?month={number + 1}", f"/calendar?month={number - 1}", "/"))


def _shop(path: str) -> str | None:
    """The same products by every row of filters, in whatever order these were chosen, and chosen again."""
    folder, _, query = path.partition("?")
    if folder != "/shop":
        return None
    chosen = dict(parse_qsl(query))
    key = mix(*(len(chosen.get(name, "")) for name in ("colour", "size", "stock")))
    first = key % (_PRODUCTS - _SHOWN)
    shown = sorted(range(first, first + _SHOWN), key=lambda product: mix(product, len(chosen.get("sort", ""))))
    lead = f"{path}{'&' if query else '?'}"
    links = [f"{lead}{name}={value}" for name, values in _FACETS.items() for value in values]
    text = "<br>".join(words(product, 5, count=8) for product in shown)
    return html("Shop", text, [*links, *(f"/product/{product}" for product in shown)])


def _maze(parameter: str) -> Answer:
    """A few rooms; every link gives the visitor a new number."""

    def answer(path: str) -> str | None:
        room, _, query = path.partition("?")
        name, _, visit = query.partition("=")
        if name != parameter or not room.startswith("/room/") or not room[6:].isdigit():
            return None
        number = int(room[6:])
        links = [f"/room/{to}?{parameter}={mix(number, to, int(visit, 16)):x}" for to in range(_ROOMS)]
        return html(f"Room {number}", words(number, 9), [*links, "/"]) if number < _ROOMS else None

    return answer


def _soft_404(echo: bool) -> Answer:
    """The same answer to every path, and links from there."""

    def answer(path: str) -> str | None:
        said = (
            f"We are sorry, but {path if echo else 'this page'} is not here. Perhaps you are looking for one of these."
        )
        return html("Oops", said, ("see/also", "more", "archive/older", "/"))

    return answer


def _mirror(name: str, depth_words: tuple[str, ...]) -> TrapSite:
    """The whole site again below /mirror/, and so for ever; all links are relative."""
    paths = tuple(f"/guide/{word}.html" for word in depth_words)

    def answer(path: str) -> str | None:
        while path.startswith("/mirror/"):
            path = path[len("/mirror") :]
        if path == "/":
            return html(name, words(6), ("mirror/", *(page[1:] for page in paths)))
        if path not in paths:
            return None
        position = paths.index(path)
        near = (paths[(position + step) % len(paths)].rpartition("/")[2] for step in (1, 2))
        return real_page(6_000 + position, path, (*near, "../", "../mirror/"))

    return TrapSite(name, "the whole site again below /mirror/, for ever", ("/", *paths), answer)


def _relative(path: str) -> str | None:
    """Links that forget to begin with a slash."""
    if not path.startswith("/shelf/"):
        return None
    return html("Shelf", words(8, count=20), ("left/right/", "left/left/", "/"))


_NAMES = tuple(words(3, count=40).split())
_EVENTS = tuple(f"/event/{number}" for number in range(30))
_GOODS = tuple(f"/product/{number}" for number in range(_PRODUCTS))
_PAGES = tuple(f"/page/{name}.html" for name in dict.fromkeys(_NAMES[:20]))

TRAP_SITES: tuple[TrapSite, ...] = (
    _site("calendar", "a next month for ever", _EVENTS, "/calendar?month=0", _calendar, 1),
    _site("shop", "few products by every choice of filters", _GOODS, "/shop", _shop, 2),
    _site("session", "a new session in every link", _PAGES, "/room/0?sid=1", _maze("sid"), 3),
    _site("maze", "a new number in every link, under a name that tells nothing", _PAGES, "/room/0?visit=1",
          _maze("visit"), 4),
    _site("soft-404", "the same page for every path", _PAGES, "/page/gone", _soft_404(echo=False), 5),
    _site("soft-404-echo", "nearly the same page for every path", _PAGES, "/page/gone", _soft_404(echo=True), 6),
    _mirror("mirror", tuple(dict.fromkeys(_NAMES[20:26]))),
    _site("relative", "paths that grow for ever", _PAGES, "/shelf/", _relative, 8),
)  # fmt: skip
