import scrawler


def quotes(page):
    for quote in page.dom.css("div.quote"):
        yield {
            "text": quote.css_first("span.text").text(),
            "author": quote.css_first("small.author").text(),
            "tags": [tag.text() for tag in quote.css("a.tag")],
        }


with scrawler.Crawl("quotes.db", include=["/page/*"], max_depth=100, delay=0, allow_private=True) as crawl:
    crawl.add("http://127.0.0.1:8700/")
    crawl.run(processors=[quotes], items="quotes.jsonl")
