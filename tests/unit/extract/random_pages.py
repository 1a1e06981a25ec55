"""Pages of tags and pieces of tags in random order, the same for the same number: what no author would write."""

from __future__ import annotations

import random

ALL_TAGS = """a b i code nobr font p div span ul li dl dt dd table tbody thead tr td th caption colgroup col
select option optgroup button form h1 h2 svg math mi mo annotation-xml foreignObject desc title g
path template script style textarea xmp iframe noembed noframes noscript head body html frameset
frame plaintext base link meta img input area object marquee applet hr br image pre address section
ruby rt rp rtc rb source video x-y embed param malignmark mglyph dialog details keygen wbr main
search fieldset use"""
FOREIGN = (
    "a svg math g image use title desc foreignObject p div b table td tr template mi annotation-xml link script style"
)
FORMATTING = "a b i nobr p div table tr td caption svg title span"
TABLES = "template table tr td col colgroup caption a link tbody svg base meta select"
HEADS = "head body html frameset frame noframes a link title script base noscript meta p br"
SELECTS = "select option optgroup button input a p div svg title b table tr td hr"
_KINDS = [kind.split() for kind in (ALL_TAGS, FOREIGN, FORMATTING, TABLES, HEADS, SELECTS)]
_ATTRIBUTES = {
    "a": ("href={}", "href={} rel=ugc", "xlink:href={}", "href={} xlink:href=x", "Xlink:Href={} rel=ugc"),
    **dict.fromkeys(("area", "base"), ("href={}", "href={} rel=ugc")),
    **dict.fromkeys(("iframe", "frame", "script", "img"), ("src={}",)),
    "image": ("src={}", "href={}", "xlink:href={}", "href={} src=x"),
    "use": ("href={}", "xlink:href={}", "xlink:href=#x", "href={}#x"),
    "link": ("rel=next href={}", "rel=canonical href={}", "rel=stylesheet href={}"),
    "meta": ("http-equiv=refresh content=0;{}", "name=robots content={}"),
    "source": ("srcset={}",),
    "video": ("poster={}",),
    "input": ("src={}", "src={} type=hidden", "src={} type=HIDDEN", "src={} type=image"),
    "annotation-xml": ("encoding=text/html", "x", "encoding=Application/XHTML+xml"),
    "font": ("x", "color=x", "size x=y"),
    **dict.fromkeys(("b", "i", "code"), ("x", "id=1", "id=2")),
}
_BETWEEN = [
    "x",
    "\x00",
    "&#32;",
    "&nbsp;",
    "<!--",
    "-->",
    "--!>",
    "<!-->",
    "<!--doctype>",
    "<!doctype_html>",
    "<?x>",
    "</>",
    "</_>",
    "<![CDATA[",
    "]]>",
    "<",
    "&amp;",
    "</a",
    "<p_",
    '"',
    "'",
    "=",
    "<!",
    "<!--->",
    "&Tab;",
    "&#x20",
    "_",
]
_PIECES = """<a_href= <a_href=" <a_href=' <a_ <link_rel=next_href= <meta_name=robots_content= <img_src= <base_href=
<iframe_src= _href= HREF= _xlink:href= <use_href= _rel= "ugc" "next" = " ' > / /> _ \v \0 < </ </a </a> <!-- --> --!>
<!- -- - ! <!> <? ?> <![CDATA[ ]]> ] <svg> </svg> <math> <script> </script> <script </script </script/ <style>
</style> <title> </title_> <textarea> </TEXTAREA\n> <xmp> </xmp> <noscript> <p> <table> x y 1 é &amp; &amp & &copy
&copy; &notit; &notin; &not &lt &# &#x &#65; &#65 &#x41; &#X41 &#0; &#128; &#129 &#xD800; &#x110000;
&#99999999999999999999; &#1; &#13; &#32; &nbsp; &nGt; &AMP &unknown; &acE; &a &#x; ; A srcset= srcset="a_1x,_b"
content= <option> </option> <template> </template> <plaintext> \xff \xc3 ` <a\0 <a/href= a=b <frameset>
<frame_src=""".replace("\n", " ").split(" ")
_PIECES += ["\n", "\r", "\r\n", "\t", "\f"]


def page_of_tags(number: int) -> bytes:
    """Make a page of whole tags."""
    rnd = random.Random(f"tags {number}")
    tags = rnd.choice(_KINDS)
    parts = []
    for place in range(rnd.randint(1, rnd.choice([6, 12, 30]))):
        tag, kind = rnd.choice(tags), rnd.random()
        attributes = rnd.choice(_ATTRIBUTES.get(tag, ("x",))).format(place)
        if kind < 0.65:
            tag = tag if kind > 0.05 else tag.upper()
            parts.append(f"<{tag} {attributes}{rnd.choice(['', '', '/', ' /'])}>")
        elif kind < 0.9:
            parts.append(f"</{tag}>")
        else:
            parts.append(rnd.choice(_BETWEEN).replace("_", " "))
    return "".join(parts).encode()


def page_of_pieces(number: int) -> bytes:
    """Make a page of characters and pieces of tags, some of it not in UTF-8."""
    rnd = random.Random(f"pieces {number}")
    text = "".join(rnd.choice(_PIECES) for _ in range(rnd.randint(1, rnd.choice([8, 20, 40])))).replace("_", " ")
    return text.encode("utf-8" if rnd.random() < 0.7 else "latin-1")


def damaged(page: bytes, rnd: random.Random) -> bytes:
    """Damage a page here and there: bytes are changed, lost, doubled, and parts of it stand elsewhere again."""
    damage = bytearray(page)
    for _ in range(rnd.randint(1, 4)):
        place, other = rnd.randrange(len(damage) + 1), rnd.randrange(len(damage) + 1)
        length = rnd.choice((1, 1, 2, 8, 40))
        kind = rnd.randrange(4)
        if kind == 0:
            damage[place : place + 1] = rnd.choice((b"<", b">", b"/", b"'", b'"', b"=", b"&", b"\0", b"\r", b"\xff"))
        elif kind == 1:
            del damage[place : place + length]
        elif kind == 2:
            damage[place:place] = damage[other : other + length]
        else:
            damage[place:place] = bytes(rnd.randrange(256) for _ in range(length))
    return bytes(damage)
