"""The trap web: sites that lead into endless spaces of made-up pages, and the real pages beside these.

`pages` writes pages, `sites` are the traps, each with its truth, `server` serves them; no part of the synthetic web.
"""
