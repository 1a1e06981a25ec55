/* Where a tag goes (13.2.6): to the rules of foreign content, to those of the insertion mode, or, on a page that is
 * read flat, to next to none.
 */

/* What is left of the rules once the stack is given up: raw text, and templates by their number. */
static void start_flat(Scan *s)
{
    switch (s->tag) {
    case T_TITLE: case T_NOFRAMES: case T_STYLE: case T_SCRIPT: case T_TEXTAREA: case T_IFRAME: case T_NOEMBED:
    case T_XMP:
        insert_raw(s, s->tag);
        return;
    case T_TEMPLATE:
        s->templates++;
        return;
    case T_PLAINTEXT:
        s->plaintext = 1;
        return;
    }
    emit(s, s->tag == T_IMAGE ? T_IMG : s->tag);
}

static void start_tag(Scan *s)
{
    if (s->flat) {
        start_flat(s);
        return;
    }
    if (s->depth && TOP(s).ns != HTML_NS) {
        const Element *e = &TOP(s);
        int as_html = e->flags & E_HTML_POINT
            || (e->flags & E_MATH_TEXT && s->tag != T_MGLYPH && s->tag != T_MALIGNMARK)
            || (e->ns == MATH_NS && e->tag == T_ANNOTATION_XML && s->tag == T_SVG);
        if (!as_html) {
            if (KINDS[s->tag] & BREAKOUT
                || (s->tag == T_FONT && s->attributes & (BIT(COLOR) | BIT(FACE) | BIT(SIZE))))
                leave_foreign(s);
            else {
                insert_foreign(s, e->ns);
                return;
            }
        }
    }
    start_html(s, s->mode);
}

/* Read the end tag whose name begins at `p`, if it is written as usual, is that of the innermost element, and does no more
 * than to close it, as nearly all in a body do. Returns the place after it, or NULL if it is another one.
 */
static inline const uint8_t *close_innermost(Scan *s, const uint8_t *p)
{
    uint64_t word;
    if ((s->mode != IN_BODY && s->mode != IN_CELL) || s->flat || !s->depth || s->end - p < 8)
        return NULL;
    const Element *e = &TOP(s);
    const Closer *closer = &CLOSERS[e->tag];
    memcpy(&word, p, 8);
    if ((word & closer->mask) != closer->word || e->ns != HTML_NS)
        return NULL;
    if (e->flags & E_LISTED) {
        if (!s->listed_count || s->listed[s->listed_count - 1].id != e->id)
            return NULL;
        s->listed_count--;
    }
    s->counts[e->tag]--;
    s->depth--;
    return p + closer->length;
}

static void end_tag(Scan *s)
{
    if (s->flat) {
        if (s->tag == T_TEMPLATE && s->templates)
            s->templates--;
        return;
    }
    if (s->depth && TOP(s).ns != HTML_NS) {
        if (s->tag == T_BR || s->tag == T_P)
            leave_foreign(s);
        else {
            size_t i = s->depth - 1;
            while (i > 0 && s->open[i].ns != HTML_NS && s->open[i].name != s->name)
                i--;
            walked(s, s->depth - i);
            if (s->open[i].ns != HTML_NS) {
                pop_to(s, i);
                return;
            }
        }
    }
    end_html(s, s->mode);
}
