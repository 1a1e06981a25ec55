"""Finding links: the bytes of a page become the hrefs it holds, in document order.

In: `decode.decode_body` undoes Content-Encoding, `sniff` tells what a body is whose headers do not, and an
extractor (`scanner.ScannerExtractor`, which builds no tree, or `lexbor.LexborExtractor`; the feature classic has
html5lib's, to which these are held) takes body, URL and Content-Type; it makes UTF-8 of the body with
`charset.to_utf8`. A page that would cost a parser too much (`hazards`) is read by its tags alone (`scanned`).
`xhtml.XhtmlExtractor` stands before each of them and reads XHTML as XML. What counts as a link, an asset, a canonical
URL is written down once, in `rules`.
Out: `links.PageLinks`: base URL and hrefs as written; resolving and judging them is the URL Analyzer's work.
`directives` tells what a page and its headers allow robots to do with it,
`link_header` what a header calls canonical.
`simhash` condenses the words of a page into 64 bits, of which near copies share nearly all.
"""
