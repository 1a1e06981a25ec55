/* The tokenizer, inside a tag (13.2.5.8 and 13.2.5.32 to 40): its name, and those attributes that are wanted. */

static uint32_t wanted_attributes(const Scan *s)
{
    uint32_t assets = s->flags & WITH_ASSETS;
    switch (s->tag) {
    case T_A:
        if (is_foreign(s))
            return BIT(HREF) | BIT(XLINK_HREF) | (s->flags & WITH_REL ? BIT(REL) : 0); /* fall through */
    case T_AREA: return BIT(HREF) | (s->flags & WITH_REL ? BIT(REL) : 0);
    case T_LINK: return BIT(HREF) | BIT(REL) | BIT(TYPE) | BIT(AS);
    case T_META: return BIT(HTTP_EQUIV) | BIT(CONTENT) | BIT(NAME);
    case T_BASE: return BIT(HREF);
    case T_IFRAME: case T_FRAME: return BIT(SRC);
    case T_IMG: return assets ? BIT(SRC) | BIT(SRCSET) : 0;
    case T_IMAGE:
        if (is_foreign(s))
            return assets ? BIT(HREF) | BIT(XLINK_HREF) : 0;
        return assets ? BIT(SRC) | BIT(SRCSET) : 0;
    case T_USE: return assets ? BIT(HREF) | (is_foreign(s) ? BIT(XLINK_HREF) : 0) : 0;
    case T_SOURCE: return assets ? BIT(SRCSET) : 0;
    case T_VIDEO: return assets ? BIT(POSTER) : 0;
    case T_SCRIPT: return assets ? BIT(SRC) : 0;
    case T_INPUT: return BIT(TYPE) | (assets ? BIT(SRC) : 0);
    case T_ANNOTATION_XML: return BIT(ENCODING);
    case T_FONT: return BIT(COLOR) | BIT(FACE) | BIT(SIZE);
    }
    return 0;
}

static void note_attribute(Scan *s, uint32_t wanted, const uint8_t *name, size_t length, Span value)
{
    if (length > 10)
        return;
    Name packed = 0;
    if (length > 8) {
        Name hash = HASH_SEED;
        for (size_t i = 0; i < length; i++)
            hash = HASH_STEP(hash, LOWER[name[i]]);
        packed = hash | LONG_NAME;
    }
    else
        for (size_t i = 0; i < length; i++)
            packed |= (Name)LOWER[name[i]] << 8 * i;
    for (int i = 0; i < ATTRIBUTE_COUNT; i++)
        if (wanted & BIT(i) && attribute_names[i] == packed) {
            if (!(s->attributes & BIT(i))) {
                s->attributes |= BIT(i);
                s->values[i] = value;
            }
            return;
        }
}

/* Read the attributes from `p` on; returns the place after ">", or NULL if the page ends before. */
static const uint8_t *read_attributes(Scan *s, const uint8_t *p, uint32_t wanted)
{
    const uint8_t *end = s->end, *page = s->page, *begin = p;
    size_t count = 0;
    s->attributes = 0;
    s->self_closing = 0;
    for (;;) {
        while (p < end && CLASS[*p] & C_SPACE)
            p++;
        if (p >= end)
            return NULL;
        if (*p == '>')
            break;
        if (*p == '/') {
            p++;
            if (p < end && *p == '>') {
                s->self_closing = 1;
                break;
            }
            continue;
        }
        const uint8_t *name = p++; /* which may be "=" */
        while (p < end && !(CLASS[*p] & C_ATTRIBUTE_END))
            p++;
        size_t length = (size_t)(p - name);
        Span value = {0, 0};
        while (p < end && CLASS[*p] & C_SPACE)
            p++;
        if (p < end && *p == '=') {
            p++;
            while (p < end && CLASS[*p] & C_SPACE)
                p++;
            if (p >= end)
                return NULL;
            if (*p == '"' || *p == '\'') {
                const uint8_t *close = memchr(p + 1, *p, (size_t)(end - p - 1));
                if (!close)
                    return NULL;
                value = (Span){p + 1 - page, close - p - 1};
                p = close + 1;
            }
            else if (*p != '>') {
                const uint8_t *bare = p;
                while (p < end && !(CLASS[*p] & C_BARE_END))
                    p++;
                value = (Span){bare - page, p - bare};
            }
        }
        count++;
        if (wanted)
            note_attribute(s, wanted, name, length, value);
    }
    if (count > MOST_ATTRIBUTES)
        s->deep = 1;
    s->source = (Span){begin - page, p - begin};
    return p + 1;
}

/* Read a tag's name from `p` on; returns the place after it. */
static inline const uint8_t *read_name(Scan *s, const uint8_t *p)
{
    const uint8_t *end = s->end, *begin = p;
    Name packed = 0;
    unsigned shift = 0;
    while (p < end && !(CLASS[*p] & C_NAME_END)) {
        if (shift < 64)
            packed |= (Name)LOWER[*p] << shift;
        shift += 8;
        p++;
    }
    if (p - begin > 8) {
        packed = HASH_SEED;
        for (const uint8_t *q = begin; q < p; q++)
            packed = HASH_STEP(packed, LOWER[*q]);
        packed |= LONG_NAME;
    }
    s->name = packed;
    size_t slot = SLOT(packed);
    while (tag_slots[slot].name && tag_slots[slot].name != packed)
        slot = (slot + 1) % NAME_SLOTS;
    s->tag = tag_slots[slot].tag;
    return p;
}
