"""Labelled pages: texts and layouts written for this, so that it is known which words of a page are its main text.

Each text stands in several layouts, as the web has them; what surrounds it is made of other words of the same language.
All of it is under the licence of this package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    """What a page is about: paragraphs, of which those that begin with "# " are headings and with "- " list items."""

    language: str
    title: str
    paragraphs: tuple[str, ...]
    around: tuple[str, ...]  # words of its site: menus, teasers, legal notes


@dataclass(frozen=True, slots=True)
class Labelled:
    """A page, and the main text that a reader would copy out of it."""

    name: str
    html: str
    main: str


_EN_AROUND = (
    *("Home", "News", "Sport", "About us", "Contact", "Privacy policy", "Terms of use", "Subscribe to our newsletter"),
    *("Sign in", "Register", "Most read this week", "Follow us on social media", "All rights reserved 2026"),
    *("Advertise with us", "Accept all cookies", "Manage your choices", "Share this page", "Print"),
)
_DE_AROUND = (
    *("Startseite", "Aktuelles", "Veranstaltungen", "Über uns", "Kontakt", "Impressum", "Datenschutz", "Anmelden"),
    *("Newsletter bestellen", "Meistgelesen", "Alle Rechte vorbehalten", "Werbung", "Alle Cookies annehmen", "Drucken"),
)
_FR_AROUND = (
    *("Accueil", "Actualités", "Agenda", "Qui sommes-nous", "Contact", "Mentions légales", "Connexion", "Imprimer"),
    *("Abonnez-vous", "Les plus lus", "Tous droits réservés", "Publicité", "Accepter tous les cookies", "Partager"),
)
_JA_AROUND = (
    *("ホーム", "ニュース", "お問い合わせ", "会社概要", "プライバシーポリシー", "利用規約", "ログイン", "会員登録"),
    *("人気の記事", "著作権所有", "広告掲載", "すべてのクッキーを許可", "共有する", "印刷"),
)
_RU_AROUND = (
    *("Главная", "Новости", "О проекте", "Контакты", "Войти", "Регистрация", "Политика конфиденциальности"),
    *("Подписаться на рассылку", "Самое читаемое", "Все права защищены", "Реклама", "Принять все", "Печать"),
)

TEXTS = {
    "bridge": Text(
        "en",
        "The old bridge is open again",
        (
            "After fourteen months of work the old stone bridge at the edge of the town carries walkers and bicycles "
            "once more. The mayor cut a ribbon on Saturday morning, and some four hundred people crossed in the first "
            "hour, many of them with umbrellas.",
            "Engineers had found cracks in two of the five arches during a routine inspection. Divers examined the "
            "foundations, which turned out to stand on oak piles that were driven into the river bed in 1782 and are "
            "still sound.",
            "# What comes next",
            "Cars stay banned until a second stage is paid for. The council will decide about that in spring; an "
            "estimate says it would cost as much again, mostly for a new drain and for railings that meet the rules of "
            "today.",
            '"We waited so long that my daughter learned to swim in the meantime," said a baker from the other bank, '
            "who had used the ferry every day.",
        ),
        _EN_AROUND,
    ),
    "cache": Text(
        "en",
        "How the page cache expires entries",
        (
            "Every entry of the cache carries the moment at which it was last read. A background task wakes once a "
            "minute, walks over one sixteenth of the table, and drops entries that nobody has read for longer than "
            "max_idle seconds.",
            "# Settings",
            "- max_idle is the number of seconds after which an unread entry goes; the default is 900.",
            "- max_bytes bounds the memory of all entries together; the least recently read ones go first.",
            "- stripes says into how many parts the table is divided, and has to be a power of two.",
            "# Reading without touching",
            "Call peek instead of get where a report only counts what is there. Otherwise the report itself would keep "
            "every entry alive, and the cache would never shrink.",
            "Both functions return None for what is absent. They never raise, so callers need no handler around them.",
        ),
        _EN_AROUND,
    ),
    "soup": Text(
        "en",
        "Grandmother's lentil soup",
        (
            "This soup feeds six hungry people, keeps for three days in a cold place, and tastes better on the second.",
            "# Ingredients",
            "- 400 grams of brown lentils, soaked overnight",
            "- two carrots, one leek and half a celeriac, diced small",
            "- a spoon of mustard seeds, and vinegar to taste",
            "# Method",
            "Fry the vegetables slowly in oil until they smell sweet, which takes a quarter of an hour. Add the seeds "
            "and stir until they crackle.",
            "Pour in the lentils with two litres of water and let everything simmer without a lid. Salt comes last, "
            "for it keeps lentils hard. A dash of vinegar at the table wakes the flavour.",
        ),
        _EN_AROUND,
    ),
    "lamp": Text(
        "en",
        "Desk lamp Aster 3, brass",
        (
            "A small lamp with a heavy foot that stays where you put it. The arm turns all the way round and the shade "
            "tilts, so that light falls on the page and not into your eyes.",
            "It takes an ordinary bulb of up to forty watts, which is included, and has a dimmer in its cord. Brass "
            "is not lacquered: it darkens over the years, or shines again after a minute with a cloth.",
            "Height 41 centimetres, weight 2.3 kilograms, cord 1.8 metres. Five years of guarantee on everything but "
            "the bulb.",
        ),
        _EN_AROUND,
    ),
    "garten": Text(
        "de",
        "Der Gemeinschaftsgarten sucht Hände",
        (
            "Hinter dem alten Wasserwerk wächst seit drei Jahren ein Garten, der niemandem allein gehört. Vierzig "
            "Familien teilen sich die Beete, das Gewächshaus und einen Brunnen, den der Großvater eines Mitglieds "
            "gegraben hat.",
            "Jetzt fehlen Leute, die auch an Werktagen gießen können. Wer mitmacht, bekommt einen Schlüssel, ein Fach "
            "im Schuppen, jeden Herbst einen Korb Äpfel.",
            "# So geht es weiter",
            "Am ersten Sonntag trifft sich die Gruppe um zehn Uhr am Tor. Vorkenntnisse braucht niemand: feste "
            "Schuhe und etwas Geduld genügen.",
        ),
        _DE_AROUND,
    ),
    "musée": Text(
        "fr",
        "Le musée de la pluie ouvre ses portes",
        (
            "Dans une ancienne filature, une vingtaine de salles racontent comment les habitants de la vallée ont "
            "appris à mesurer, à recueillir et parfois à craindre la pluie.",
            "On y voit des tonneaux gradués, des carnets de bergers et une maquette de la crue de 1910, que chacun "
            "peut provoquer en tournant une manivelle.",
            "La visite dure une heure et demie. Le billet reste valable toute la semaine, car la collection change "
            "selon le temps qu'il fait dehors.",
        ),
        _FR_AROUND,
    ),
    "駅": Text(
        "ja",
        "小さな駅に本棚ができた",
        (
            "山あいの無人駅に、先月から小さな本棚が置かれている。列車を待つ人がだれでも一冊手に取り、読み終えたら戻す。",
            "はじめたのは近くに住む元教師の女性だ。朝の列車が一時間に一本しかないことを知り、家に眠っていた本を運んだ。",
            "いまでは三百冊ほどになり、遠くの町から送られてくる本もある。雨の日には駅で最後まで読んでしまう人もいるという。",
        ),
        _JA_AROUND,
    ),
    "маяк": Text(
        "ru",
        "Маяк на северном мысе снова светит",
        (
            "Двадцать лет башня на северном мысе стояла тёмной. Этой осенью трое инженеров из посёлка починили лампу, "
            "собрали новый механизм и получили разрешение включать свет по пятницам.",
            "Деньги собирали всем посёлком: продавали рыбу, пекли пироги и отдавали старые часы на запчасти. Линзу "
            "нашли в сарае, завёрнутую в парус.",
            "Кораблям маяк больше не нужен, но рыбаки говорят, что возвращаться домой стало веселее.",
        ),
        _RU_AROUND,
    ),
}

_ARTICLES = ("bridge", "garten", "musée", "駅", "маяк")


def labelled_pages() -> Iterator[Labelled]:
    """Yield all pages."""
    for layout, make in LAYOUTS.items():
        for name in _TEXTS_OF.get(layout, _ARTICLES):
            text = TEXTS[name]
            yield Labelled(f"{layout}-{name}", make(text), _plain(text))
    yield _thread()
    yield _links()


def _plain(text: Text) -> str:
    lines = (paragraph.removeprefix("# ").removeprefix("- ") for paragraph in text.paragraphs)
    return "\n".join((text.title, *lines))


def _block(text: Text, paragraph: str = "<p>{}</p>\n", heading: str = "<h2>{}</h2>\n") -> str:
    """Return the paragraphs as HTML."""
    parts, in_list = list[str](), False
    for one in text.paragraphs:
        is_item = one.startswith("- ")
        if is_item != in_list:
            parts.append("<ul>" if is_item else "</ul>\n")
            in_list = is_item
        form = heading if one.startswith("# ") else paragraph
        if is_item:
            form = "<li>{}</li>\n"
        parts.append(form.format(one.removeprefix("# ").removeprefix("- ")))
    return "".join(parts) + ("</ul>" if in_list else "")


def _items(text: Text, first: int = 0, last: int | None = None) -> str:
    words = text.around[first:last]
    return "".join(f'<li><a href="/{number}">{word}</a></li>' for number, word in enumerate(words))


def _teasers(text: Text, tag: str = "div", name: str = "teaser") -> str:
    one = "<{tag} class={name}><a href=/x{n}>{word}</a><p>{word}. {other}: {word}!</p></{tag}>"
    words = text.around
    return "".join(
        one.format(tag=tag, name=name, n=n, word=words[n], other=words[-n - 1]) for n in range(0, len(words) // 2)
    )


def _page(text: Text, body: str, head: str = "") -> str:
    top = (
        f"<!DOCTYPE html><html lang={text.language}><head><meta charset=utf-8><title>{text.title}</title>{head}</head>"
    )
    return f"{top}\n<body>{body}</body></html>"


def _semantic(text: Text) -> str:
    return _page(
        text,
        f"""<header><a href=/>{text.around[0]}</a><nav><ul>{_items(text)}</ul></nav></header>
<main><article><h1>{text.title}</h1>{_block(text)}</article></main>
<aside>{_teasers(text)}</aside><footer><ul>{_items(text, 3)}</ul></footer>""",
    )


def _divs(text: Text) -> str:
    return _page(
        text,
        f"""<div id=page><div class="top-bar"><ul class=menu>{_items(text)}</ul></div>
<div class="col-left sidebar">{_teasers(text)}</div>
<div class="col-main"><div class="post"><h1 class="entry-title">{text.title}</h1><div class=entry-content>
{_block(text)}</div></div></div><div id=footer class="site-footer">{" | ".join(text.around[4:])}</div></div>""",
    )


def _nameless(text: Text) -> str:
    """Classes say nothing, as those that build tools make."""
    return _page(
        text,
        f"""<div class=a1x><div class=q7><ul>{_items(text)}</ul></div><div class=zz9><div class=k3>
<div class=h8>{text.title}</div>{_block(text, "<div class=p0>{}</div>", "<div class=p1>{}</div>")}</div>
<div class=k4>{_teasers(text, "div", "c5")}</div></div><div class=e2><ul>{_items(text, 4)}</ul></div></div>""",
    )


def _tables(text: Text) -> str:
    """As pages of the nineties: tables, font elements, hardly an end tag."""
    return f"""<HTML><HEAD><META CHARSET=utf-8><TITLE>{text.title}</TITLE></HEAD><BODY BGCOLOR=white>
<TABLE WIDTH=100%><TR>
<TD WIDTH=150 VALIGN=top>{"<BR>".join(f"<A HREF=x>{word}</A>" for word in text.around)}
<TD><FONT SIZE=5><B>{text.title}</B></FONT>{_block(text, "<P>{}", "<P><B>{}</B>")}
</TABLE><HR><CENTER><FONT SIZE=1>{" - ".join(text.around[5:])}</FONT></CENTER></BODY></HTML>"""


def _comments(text: Text) -> str:
    said = "".join(
        f"<div class=comment><b>user{n}</b><p>{word} {word}?</p></div>" for n, word in enumerate(text.around)
    )
    return _page(
        text,
        f"""<nav>{_items(text)}</nav><div class=content><h1>{text.title}</h1>{_block(text)}</div>
<div id=comments class="comments-area"><h3>{text.around[3]}</h3>{said}</div><footer>{text.around[-1]}</footer>""",
    )


def _banner(text: Text) -> str:
    """What asks for consent stands first, and takes most of the page."""
    asks = "".join(f"<p>{word}: {' '.join(text.around[:6])}</p><button>{word}</button>" for word in text.around[:8])
    return _page(
        text,
        f"""<div class="cookie-consent" role=dialog aria-modal=true>{asks}</div>
<div role=banner><ul>{_items(text)}</ul></div><div role=main><h1>{text.title}</h1>{_block(text)}</div>
<div role=contentinfo>{" ".join(text.around[6:])}</div>""",
    )


def _bare(text: Text) -> str:
    return _page(text, f"<h1>{text.title}</h1>{_block(text)}")


def _documentation(text: Text) -> str:
    return _page(
        text,
        f"""<div class=related role=navigation><ul>{_items(text, 0, 6)}</ul></div>
<div class=document><div class=documentwrapper><div class=bodywrapper><div class=body role=main><section id=s>
<h1>{text.title}<a class=headerlink href=#s title="Permalink">¶</a></h1>{_block(text)}</section></div></div></div>
<div class=sphinxsidebar role=navigation><h3>{text.around[1]}</h3><ul>{_items(text, 3)}</ul></div></div>
<div class=footer role=contentinfo>{text.around[-2]}</div>""",
    )


def _shop(text: Text) -> str:
    offers = "".join(
        f"<div class=product-card><a href=/p{n}>{w}</a><span>{n}9.00</span></div>" for n, w in enumerate(text.around)
    )
    return _page(
        text,
        f"""<header><form><input name=q><button>{text.around[2]}</button></form><ul>{_items(text)}</ul></header>
<div class="product-page"><div class=gallery><img src=1.jpg alt=""><img src=2.jpg alt=""></div><div class=product-info>
<h1>{text.title}</h1><div class=buy><button>{text.around[8]}</button></div>
<div class="product-description">{_block(text)}</div></div></div><section class=related-products>{offers}</section>
<footer><ul>{_items(text, 4)}</ul></footer>""",
    )


def _wiki(text: Text) -> str:
    return _page(
        text,
        f"""<div id=mw-navigation><ul>{_items(text)}</ul></div><div id=content class=mw-body>
<h1 id=firstHeading>{text.title}</h1><div id=bodyContent><div id=toc class=toc><ul><li><a href=#a>1</a></li></ul></div>
<div class=mw-parser-output>{_block(text)}</div><div id=catlinks>{" | ".join(text.around[:4])}</div></div></div>
<div id=footer><ul>{_items(text, 5)}</ul></div>""",
    )


def _wrapped(text: Text) -> str:
    """All of the page is in <main>, as programs in the browser lay it out."""
    return _page(
        text,
        f"""<main id=app><div class=top><ul>{_items(text)}</ul></div><div class=row><div class="col sidebar-left">
{_teasers(text)}</div><div class="col content"><h1>{text.title}</h1>{_block(text)}</div>
<div class="col related-posts">{_teasers(text)}</div></div></main>""",
    )


LAYOUTS: dict[str, Callable[[Text], str]] = {
    "semantic": _semantic,
    "divs": _divs,
    "nameless": _nameless,
    "tables": _tables,
    "comments": _comments,
    "banner": _banner,
    "bare": _bare,
    "documentation": _documentation,
    "shop": _shop,
    "wiki": _wiki,
    "wrapped": _wrapped,
}
_TEXTS_OF = {
    "documentation": ("cache", "soup", "garten"),
    "shop": ("lamp", "soup"),
    "wiki": ("bridge", "cache", "маяк"),
}


def _thread() -> Labelled:
    """A forum: what people write to each other is the main text, who they are is not."""
    text = TEXTS["cache"]
    said = [one.removeprefix("# ").removeprefix("- ") for one in text.paragraphs]
    posts = "".join(
        f"<div class=post><div class=author><a href=/u{n}>member{n}</a><br>Posts: {n}7</div>"
        f"<div class=message><p>{one}</p></div><div class=signature>-- {text.around[n]}</div></div>"
        for n, one in enumerate(said)
    )
    body = f"<ul class=nav>{_items(text)}</ul><h1>{text.title}</h1><div class=topic>{posts}</div>"
    return Labelled("forum-cache", _page(text, f"{body}<div class=footer>{text.around[-1]}</div>"), _plain(text))


def _links() -> Labelled:
    """A list of links with a word to each, which is what its readers come for."""
    text = TEXTS["bridge"]
    said = [one for one in text.paragraphs if not one.startswith("# ")]
    rows = "".join(f"<li><a href=/a{n}>Report {n}</a><p>{one}</p></li>" for n, one in enumerate(said))
    main = "\n".join([text.title, *(f"Report {n} {one}" for n, one in enumerate(said))])
    body = f"<nav><ul>{_items(text)}</ul></nav><main><h1>{text.title}</h1><ul class=list>{rows}</ul></main>"
    return Labelled("list-bridge", _page(text, f"{body}<footer>{_items(text, 4)}</footer>"), main)
