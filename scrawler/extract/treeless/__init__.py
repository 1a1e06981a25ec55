"""The tree construction of HTML (HTML Standard, 13.2.6) without a tree: which elements come to be, and where.

Kept is what later tags depend on: the stack of open elements, the list of active formatting elements, and the insertion
mode. That decides which tags are dropped, which text is markup, and what stands in the head, in a template, in SVG.
Elements are noted as they are opened; no node is made, moved or kept.

In: a `state.State` for each page; then its tags go to `dispatcher`, its texts to `text`, in order. Out: what the state
holds in `found`. Each module stands on those before it: limits, tags, state, found, open_elements, formatting,
templates, foreign, starts, ends, tables, modes, dispatcher, text. The parts of the compiled form, `linkscan_c`, have
the same names and in them the same rules, and both count the same steps; the tests hold the two together.

No rule costs more than the lengths of the stack and the list, and all of them together no more than a number of steps
that grows with the page; a page that nests deeper, or costs more, is read flat from there on: as if each element stood
in the body. So time is linear in the size of a page, whatever it holds. A megabyte takes 0.15 s where authors wrote it,
up to 1 s on most hostile pages, and 7 s on one that uses up its steps; compiled, about a hundredth of that.
"""
