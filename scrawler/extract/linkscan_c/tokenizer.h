/* The tokenizer (13.2.5): a page becomes tags and texts, which go to the tree construction one by one. */

/* Return the place after a comment whose text begins at `p`, or the end. */
static const uint8_t *skip_comment(const uint8_t *p, const uint8_t *end)
{
    if (p < end && *p == '>')
        return p + 1;
    if (end - p > 1 && p[0] == '-' && p[1] == '>')
        return p + 2;
    while ((p = memchr(p, '-', (size_t)(end - p)))) {
        if (end - p > 2 && p[1] == '-') {
            if (p[2] == '>')
                return p + 3;
            if (p[2] == '!' && end - p > 3 && p[3] == '>')
                return p + 4;
        }
        p++;
    }
    return end;
}

static const uint8_t *skip_to(const uint8_t *p, const uint8_t *end, int byte)
{
    const uint8_t *found = memchr(p, byte, (size_t)(end - p));
    return found ? found + 1 : end;
}

static int contains(const uint8_t *at, const uint8_t *end, const char *what)
{
    size_t length = strlen(what);
    for (; (size_t)(end - at) >= length; at++)
        if (!PyOS_strnicmp((const char *)at, what, (Py_ssize_t)length))
            return 1;
    return 0;
}

/* In quirks mode a table does not close a paragraph; which document types ask for it is told roughly. */
static const uint8_t *read_doctype(Scan *s, const uint8_t *p)
{
    const uint8_t *after = skip_to(p, s->end, '>'), *stop = after - p > 512 ? p + 512 : after;
    if (s->mode == BEFORE_HTML && !s->depth && s->quirks == 2)
        s->quirks = contains(p, stop, "public") && !contains(p, stop, "xhtml 1.") && !contains(p, stop, "html 4.01");
    return after;
}

static const uint8_t *read_markup(Scan *s, const uint8_t *p) /* after "<!" */
{
    const uint8_t *end = s->end;
    if (end - p >= 2 && p[0] == '-' && p[1] == '-')
        return skip_comment(p + 2, end);
    if (end - p >= 7 && !PyOS_strnicmp((const char *)p, "doctype", 7))
        return read_doctype(s, p + 7);
    if (end - p >= 7 && !memcmp(p, "[CDATA[", 7) && s->depth && TOP(s).ns != HTML_NS && !s->flat) {
        const uint8_t *begin = p += 7;
        while ((p = memchr(p, ']', (size_t)(end - p)))) {
            if (end - p > 2 && p[1] == ']' && p[2] == '>')
                break;
            p++;
        }
        text(s, begin, p ? p : end, 0);
        return p ? p + 3 : end;
    }
    return skip_to(p, end, '>');
}

/* Read a start or end tag whose name begins at `p`; returns the place after it, or the end. */
static const uint8_t *read_tag(Scan *s, const uint8_t *p, int is_end)
{
    p = read_name(s, p);
    p = read_attributes(s, p, is_end);
    if (!p)
        return s->end; /* browsers drop a tag in which the page ends */
    if (s->mode == BEFORE_HTML && s->quirks == 2)
        s->quirks = 1;
    if (is_end) {
        end_tag(s);
        return p;
    }
    start_tag(s);
    if (s->plaintext) {
        text(s, p, s->end, 0);
        return s->end;
    }
    if (s->raw) {
        const char *name = TAG_NAMES[s->raw];
        int raw = s->raw;
        s->raw = 0;
        p = raw == T_SCRIPT ? find_script_end(p, s->end) : find_raw_end(p, s->end, name, strlen(name));
        if (p < s->end) {
            p = read_name(s, p + 2);
            p = read_attributes(s, p, 1);
            return p ? p : s->end;
        }
    }
    return p;
}

static void scan_page(Scan *s)
{
    const uint8_t *p = s->page, *end = s->end;
    while (p < end && !s->failed) {
        const uint8_t *bracket = *p == '<' ? p : find_byte(p, end, '<');
        if (!bracket)
            bracket = end;
        if (bracket > p) {
            text(s, p, bracket, 1);
            p = bracket;
            if (p == end)
                return;
        }
        int c = p + 1 < end ? p[1] : 0;
        const uint8_t *closed = c == '/' ? close_innermost(s, p + 2) : NULL;
        if (closed)
            p = closed;
        else if (CLASS[c] & C_ALPHA)
            p = read_tag(s, p + 1, 0);
        else if (c == '/') {
            if (p + 2 >= end)
                text(s, p, end, 1), p = end;
            else if (CLASS[p[2]] & C_ALPHA)
                p = read_tag(s, p + 2, 1);
            else
                p = skip_to(p + 2, end, '>');
        }
        else if (c == '!')
            p = read_markup(s, p + 2);
        else if (c == '?')
            p = skip_to(p + 2, end, '>');
        else {
            text(s, p, p + 1, 1);
            p++;
        }
    }
}
