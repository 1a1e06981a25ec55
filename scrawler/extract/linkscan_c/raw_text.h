/* The tokenizer, in text without markup (13.2.5.2 to 4 and 13.2.5.9 to 31): where scripts, styles, titles end. */

/* Return the place of the next "</name" at or after `p` that ends raw text, or the end. */
static const uint8_t *find_raw_end(const uint8_t *p, const uint8_t *end, const char *name, size_t length)
{
    while ((p = memchr(p, '<', (size_t)(end - p)))) {
        if ((size_t)(end - p) > length + 2 && p[1] == '/'
            && !PyOS_strnicmp((const char *)p + 2, name, (Py_ssize_t)length)
            && CLASS[p[2 + length]] & C_NAME_END)
            return p;
        p++;
    }
    return end;
}

static inline int begins_with_script(const uint8_t *p, const uint8_t *end)
{
    return end - p > 6 && !PyOS_strnicmp((const char *)p, "script", 6) && CLASS[p[6]] & C_NAME_END;
}

/* The same for scripts, in which a comment can hide "</script>" (13.2.5.15 to 31). */
static const uint8_t *find_script_end(const uint8_t *p, const uint8_t *end)
{
    enum { PLAIN, ESCAPED, DOUBLE } state = PLAIN;
    while (p < end) {
        if (state == PLAIN) {
            p = memchr(p, '<', (size_t)(end - p));
            if (!p)
                return end;
        }
        if (state != PLAIN && *p == '-') {
            if (end - p > 2 && p[1] == '-') {
                const uint8_t *q = p + 2;
                while (q < end && *q == '-')
                    q++;
                if (q < end && *q == '>')
                    state = PLAIN;
                p = q;
                continue;
            }
            p++;
            continue;
        }
        if (*p != '<') {
            p++;
            continue;
        }
        if (end - p > 1 && p[1] == '/' && begins_with_script(p + 2, end)) {
            if (state != DOUBLE)
                return p;
            state = ESCAPED;
            p += 9;
            continue;
        }
        if (state == PLAIN && end - p > 3 && !memcmp(p + 1, "!--", 3)) {
            state = ESCAPED;
            p += 2; /* the dashes may be those of "-->" too */
            continue;
        }
        if (state == ESCAPED && begins_with_script(p + 1, end)) {
            state = DOUBLE;
            p += 8;
            continue;
        }
        p++;
    }
    return end;
}
