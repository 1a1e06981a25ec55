/* Elements of SVG and MathML (13.2.6.5): how they open, and how markup leaves them. */

/* Whether a tag that does not end foreign content is an element of it. */
static int is_foreign(const Scan *s)
{
    return s->depth && !s->flat && TOP(s).ns != HTML_NS && !(TOP(s).flags & (E_MATH_TEXT | E_HTML_POINT));
}

static void insert_foreign(Scan *s, int ns)
{
    if (s->attributes & BIT(XLINK_HREF)) {
        if (!(s->attributes & BIT(HREF)))
            s->values[HREF] = s->values[XLINK_HREF];
        s->attributes = (s->attributes | BIT(HREF)) & ~BIT(XLINK_HREF);
    }
    if (s->tag == T_A || s->tag == T_IMAGE || s->tag == T_USE) /* others are no HTML elements, whatever their names */
        emit(s, s->tag);
    if (s->self_closing)
        return;
    int flags = 0;
    if (ns == MATH_NS && KINDS[s->tag] & MATH_TEXT)
        flags = E_SPECIAL | E_SCOPE | E_MATH_TEXT;
    else if (ns == MATH_NS && s->tag == T_ANNOTATION_XML) {
        flags = E_SPECIAL | E_SCOPE;
        const Span *v = &s->values[ENCODING];
        if (s->attributes & BIT(ENCODING)) {
            const char *value = (const char *)s->page + v->begin;
            if ((v->length == 9 && !PyOS_strnicmp(value, "text/html", 9))
                || (v->length == 21 && !PyOS_strnicmp(value, "application/xhtml+xml", 21)))
                flags |= E_HTML_POINT;
        }
    }
    else if (ns == SVG_NS && (s->tag == T_FOREIGN_OBJECT || s->tag == T_DESC || s->tag == T_TITLE))
        flags = E_SPECIAL | E_SCOPE | E_HTML_POINT;
    push_as(s, s->tag, s->name, ns, flags);
}

static void leave_foreign(Scan *s)
{
    while (s->depth && TOP(s).ns != HTML_NS && !(TOP(s).flags & (E_MATH_TEXT | E_HTML_POINT)))
        pop(s);
}
