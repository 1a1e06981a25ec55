"""The pages for owners: plain HTML that needs no script; all that comes from elsewhere is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from scrawler.dates import iso_date
from scrawler.features.push.owners import FILE_PATH, META_NAME, METHODS, challenge_of
from scrawler.features.push.store.owners import Owner, SiteReport, UrlReport
from scrawler.urls.scope import authority, origin

_STYLE = """
:root { color-scheme: light dark; --text: #1c1c1e; --back: #fff; --line: #c8c8cc; --mark: #0b57d0; --soft: #f2f2f5; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e8e8ea; --back: #17181a; --line: #4a4b50; --mark: #8ab4f8; --soft: #232427; }
}
* { box-sizing: border-box; }
body { margin: 0; font: 1rem/1.5 system-ui, sans-serif; color: var(--text); background: var(--back); }
main { max-width: 60rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; line-height: 1.2; } h2 { font-size: 1.15rem; margin-top: 2rem; }
a { color: var(--mark); }
label, legend { font-weight: 600; display: block; margin-top: 1rem; }
.hint { font-weight: 400; margin: 0; }
input:not([type=radio]), textarea { width: 100%; padding: .5rem; font: inherit; color: inherit;
  background: var(--back); border: 1px solid var(--line); border-radius: .25rem; }
fieldset { border: 1px solid var(--line); border-radius: .25rem; margin: 1rem 0 0; } legend { padding: 0 .3rem; }
fieldset label { font-weight: 400; margin: .3rem 0; }
button { margin-top: 1rem; padding: .6rem 1.2rem; font: inherit; font-weight: 600; border: 0; border-radius: .25rem;
  background: var(--mark); color: var(--back); cursor: pointer; }
:focus-visible { outline: 3px solid var(--mark); outline-offset: 2px; }
code, pre { font-family: ui-monospace, monospace; font-size: .9em; overflow-wrap: anywhere; }
pre { background: var(--soft); padding: .6rem; border-radius: .25rem; white-space: pre-wrap; }
.told { border-left: .3rem solid var(--mark); background: var(--soft); padding: .6rem 1rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem .35rem 0; border-bottom: 1px solid var(--line); }
td:first-child { overflow-wrap: anywhere; min-width: 12rem; }
"""


def _page(title: str, body: str) -> str:
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">'
        f"<style>{_STYLE}</style></head><body><main><h1>{escape(title)}</h1>{body}</main></body></html>\n"
    )


def start_page(crawler: str, problem: str = "") -> str:
    """Return the page on which an owner begins."""
    told = f'<p class="told" role="alert">{escape(problem)}</p>' if problem else ""
    return _page(
        "Submit URLs of your site",
        f"{told}<p>This is the crawler <code>{escape(crawler)}</code>. If it knows your site, you can have pages of it"
        " crawled, say at which time of the day that may be, and see what became of them.</p>"
        '<h2>For the first time</h2><form method="post" action="/submit/start">'
        '<label for="site">Your site</label><p class="hint" id="site-hint">A host or a URL, as www.example.org</p>'
        '<input id="site" name="site" required autocomplete="url" maxlength="500" aria-describedby="site-hint">'
        "<button>Go on</button></form>"
        '<h2>If you have a token</h2><form method="post" action="/submit/state">'
        '<label for="token">Token</label>'
        '<input id="token" name="token" type="password" required maxlength="100" autocomplete="current-password">'
        "<button>Show my site</button></form>",
    )


def prove_page(home: str, token: str, problem: str = "", urls: str = "", window: str = "", method: str = "") -> str:
    """Return the page with a new token, the ways to show that a site is one's own, and the form for URLs."""
    word = challenge_of(token, authority(home))
    host = authority(home).partition(":")[0]
    told = f'<p class="told" role="alert">{escape(problem)}</p>' if problem else ""
    ways = {
        "file": f"a file <code>{escape(home[:-1] + FILE_PATH)}</code> that holds <pre>{word}</pre>",
        "meta": f"in the head of <code>{escape(home)}</code> <pre>{escape(_meta(word))}</pre>",
        "dns": f"a TXT record at <code>_scrawler.{escape(host)}</code> <pre>{META_NAME}={word}</pre>",
    }
    chosen = method if method in ways else "file"
    items = "".join(f"<li>{text}</li>" for text in ways.values())
    radios = "".join(_radio(name, text, name == chosen) for name, text in METHODS.items())
    return _page(
        f"Submit URLs of {authority(home)}",
        f"{told}<p>Your token is below. Keep it, and show it to nobody: whoever has it speaks for your site.</p>"
        f"<pre>{escape(token)}</pre><h2>Show that the site is yours</h2><p>By one of these:</p><ul>{items}</ul>"
        f"{_form(home, token, urls, window, f'<fieldset><legend>Shown by</legend>{radios}</fieldset>')}",
    )


def _radio(name: str, text: str, chosen: bool) -> str:
    checked = " checked" if chosen else ""
    return f'<label><input type="radio" name="proof" value="{name}"{checked}> by {text}</label>'


def _meta(word: str) -> str:
    return f'<meta name="{META_NAME}" content="{word}">'


def _form(home: str, token: str, urls: str, window: str, proof: str) -> str:
    return (
        '<h2>URLs to crawl</h2><form method="post" action="/submit">'
        f'<input type="hidden" name="token" value="{escape(token)}">'
        f'<input type="hidden" name="site" value="{escape(home)}">{proof}'
        '<label for="urls">URLs</label><p class="hint" id="urls-hint">One a line, all of your site</p>'
        f'<textarea id="urls" name="urls" rows="6" aria-describedby="urls-hint">{escape(urls)}</textarea>'
        '<label for="window">Time of the day</label><p class="hint" id="window-hint">UTC, as 02:00-05:00; empty: any'
        " time. Your whole site is then asked in that time alone.</p>"
        f'<input id="window" name="window" maxlength="20" value="{escape(window)}" aria-describedby="window-hint">'
        "<button>Submit</button></form>"
    )


def state_page(owner: Owner, token: str, report: SiteReport, told: str = "") -> str:
    """Return the page of how a site stands."""
    homes = (origin(row[0]) for row in report.seeds)
    home = next((one for one in homes if one.partition("://")[2] == owner.host), f"https://{owner.host}") + "/"
    line = f'<p class="told" role="status">{escape(told)}</p>' if told else ""
    window = str(owner.window) if owner.window else ""
    when = f"asked from {window.replace('-', ' to ')} UTC alone" if window else "asked at any time"
    seeds = _table(
        "Start pages",
        ("Start page", "State", "Why it ended", "Pages", "Failed", "Not allowed by robots.txt"),
        [
            (url, state, f"{reason} {detail}".strip(), str(pages), str(errors), str(denied))
            for url, state, reason, detail, pages, errors, denied in report.seeds
        ],
    )
    return _page(
        f"How {owner.host} stands",
        f"{line}<p>The site was shown to be yours by {escape(METHODS.get(owner.proof, owner.proof))}. It is {when}."
        f" URLs that wait: {report.waiting}.</p>{seeds}{_urls('What you submitted', report.submitted)}"
        f"{_urls('What failed last', report.failed)}{_form(home, token, '', window, '')}",
    )


def _urls(title: str, urls: Iterable[UrlReport]) -> str:
    rows = [(one.url, one.state, str(one.status or ""), one.detail, iso_date(one.at) if one.at else "") for one in urls]
    return _table(title, ("URL", "What came of it", "HTTP status", "Why", "When"), rows)


def _table(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    if not body:
        return f"<h2>{escape(title)}</h2><p>Nothing.</p>"
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns)
    return (
        f'<h2>{escape(title)}</h2><div class="wide" role="region" tabindex="0" aria-label="{escape(title)}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
