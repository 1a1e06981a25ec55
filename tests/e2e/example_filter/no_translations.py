def make(settings):
    """Make a URL filter that leaves other languages of a page out."""
    return lambda url, page, depth: "a translation" if "lang=" in url.partition("?")[2] else ""
