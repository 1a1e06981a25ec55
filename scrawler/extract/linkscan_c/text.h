/* Text: what of it opens or closes elements, which is little. The letters themselves are not kept. */

/* Text that is not only white space. */
static void letters(Scan *s, int ends_nothing)
{
    if (s->flat)
        return;
    if (s->depth && TOP(s).ns != HTML_NS && !(TOP(s).flags & (E_MATH_TEXT | E_HTML_POINT))) {
        s->frameset_ok &= (uint8_t)ends_nothing;
        return;
    }
    for (;;)
        switch (s->mode) {
        case BEFORE_HTML:
            push_html(s, T_HTML);
            s->mode = BEFORE_HEAD;
            break;
        case BEFORE_HEAD:
            push_html(s, T_HEAD);
            s->head_seen = 1;
            s->mode = IN_HEAD;
            break;
        case IN_HEAD:
            pop(s);
            s->mode = AFTER_HEAD;
            break;
        case IN_HEAD_NOSCRIPT:
            pop(s);
            s->mode = IN_HEAD;
            break;
        case AFTER_HEAD:
            begin_body(s);
            break;
        case AFTER_BODY: case AFTER_AFTER_BODY:
            s->mode = IN_BODY;
            break;
        case IN_COLGROUP:
            if (!end_colgroup(s))
                return;
            break;
        case IN_FRAMESET: case AFTER_FRAMESET: case AFTER_AFTER_FRAMESET:
            return;
        default:
            if (ends_nothing) /* there is only NUL, which is dropped here */
                return;
            reconstruct(s);
            s->frameset_ok = 0;
            return;
        }
}

static void spaces(Scan *s)
{
    if (s->flat || !s->reopen)
        return;
    switch (s->mode) {
    case IN_TABLE: case IN_TABLE_BODY: case IN_ROW:
        if (TOP(s).ns == HTML_NS && (KINDS[TOP(s).tag] & SECTION || TOP(s).tag == T_TABLE || TOP(s).tag == T_TR))
            return; /* fall through */
    case IN_BODY: case IN_CAPTION: case IN_CELL: case IN_TEMPLATE: case AFTER_BODY: case AFTER_AFTER_BODY:
    case AFTER_AFTER_FRAMESET:
        if (TOP(s).ns == HTML_NS || TOP(s).flags & (E_MATH_TEXT | E_HTML_POINT))
            reconstruct(s);
    }
}

/* Return the length of a character reference to white space at `at`, 0 if there is none. */
static size_t space_reference(const uint8_t *at, const uint8_t *end)
{
    static const char *const names[] = {"&Tab;", "&NewLine;"};
    for (int i = 0; i < 2; i++) {
        size_t length = strlen(names[i]);
        if ((size_t)(end - at) >= length && !memcmp(at, names[i], length))
            return length;
    }
    const uint8_t *p = at + 1;
    if (p >= end || *p++ != '#')
        return 0;
    int hex = p < end && (*p | 32) == 'x';
    p += hex;
    const uint8_t *digits = p;
    uint32_t code = 0;
    for (; p < end; p++) {
        int c = *p | 32, digit = *p >= '0' && *p <= '9' ? *p - '0' : hex && c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0)
            break;
        if (code < 0x110000)
            code = code * (hex ? 16 : 10) + (uint32_t)digit;
    }
    if (p == digits || !(code == 9 || code == 10 || code == 12 || code == 13 || code == 32))
        return 0;
    return (size_t)(p - at) + (p < end && *p == ';');
}

/* A run of text that may do something. */
static void telling_text(Scan *s, const uint8_t *at, const uint8_t *end, int decode)
{
    while (at < end) {
        size_t length;
        if (CLASS[*at] & C_SPACE) {
            spaces(s);
            while (at < end && CLASS[*at] & C_SPACE)
                at++;
        }
        else if (!*at) {
            letters(s, 1);
            at++;
        }
        else if (decode && *at == '&' && (length = space_reference(at, end))) {
            spaces(s);
            at += length;
        }
        else {
            letters(s, 0);
            if (s->mode != IN_COLGROUP)
                return;
            at++; /* each NUL is dropped by itself */
        }
    }
}

/* A run of text; `decode`: it may hold character references. Most runs are let pass where they are met. */
static inline void text(Scan *s, const uint8_t *at, const uint8_t *end, int decode)
{
    if (s->frameset_ok || s->reopen
        || !(s->mode == IN_BODY || s->mode == IN_CELL || s->mode == IN_TABLE || s->mode == IN_ROW
             || s->mode == IN_TABLE_BODY || s->mode == IN_CAPTION))
        telling_text(s, at, end, decode);
}
