"""What comes of a page's answer: it is read without the turn (`reading`), and applied under it (`answers`).

`listing` judges what it leads to, and lists it; `searching` does so for what search forms bring. `lister` and
`long_pages` work off what lists very much, slice by slice; `page_rows` makes the rows of final results. An answer
that nothing has changed is `unchanged`, where this crawl does not know what there was.
"""
