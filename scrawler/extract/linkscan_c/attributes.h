/* The tokenizer, inside a tag (13.2.5.8 and 13.2.5.32 to 40): its name, and those attributes that are wanted. */

static uint32_t telling_attributes(const Scan *s)
{
    uint32_t assets = s->flags & WITH_ASSETS;
    switch (s->tag) {
    case T_A:
        if (is_foreign(s))
            return BIT(HREF) | BIT(XLINK_HREF) | (s->flags & WITH_REL ? BIT(REL) : 0); /* fall through */
    case T_AREA: return BIT(HREF) | (s->flags & WITH_REL ? BIT(REL) : 0);
    case T_LINK: return BIT(HREF) | BIT(REL) | BIT(TYPE) | BIT(AS) | (assets ? BIT(IMAGESRCSET) : 0);
    case T_META: return BIT(HTTP_EQUIV) | BIT(CONTENT) | BIT(NAME);
    case T_BASE: return BIT(HREF);
    case T_IFRAME: case T_FRAME: return BIT(SRC);
    case T_IMG: return assets ? PICTURE : 0;
    case T_IMAGE:
        if (is_foreign(s))
            return assets ? BIT(HREF) | BIT(XLINK_HREF) : 0;
        return assets ? PICTURE : 0;
    case T_USE: return assets ? BIT(HREF) | (is_foreign(s) ? BIT(XLINK_HREF) : 0) : 0;
    case T_SOURCE: return assets ? PICTURE : 0;
    case T_VIDEO: return assets ? FILM | BIT(POSTER) | BIT(DATA_POSTER) : 0;
    case T_AUDIO: case T_EMBED: case T_TRACK: return assets ? FILM : 0;
    case T_SCRIPT: return assets ? BIT(SRC) : 0;
    case T_INPUT: return BIT(TYPE) | (assets ? BIT(SRC) : 0);
    case T_ANNOTATION_XML: return BIT(ENCODING);
    case T_FONT: return BIT(COLOR) | BIT(FACE) | BIT(SIZE);
    }
    return 0;
}

static inline uint32_t wanted_attributes(const Scan *s)
{
    return KINDS[s->tag] & TELLING ? telling_attributes(s) : 0;
}

/* Names are short, so that most are told in one step: eight bytes are read as one number. All that ends a name is less
 * than '@', and lacks the second bit, as digits do. What stands before the first such byte is a name as it is packed,
 * where no byte of it is a capital or beyond ASCII: all have the third bit, and not the first.
 */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/* Return the length of a packed name that begins at `p`, where at least eight bytes are; 0 if it is not told so. */
static inline unsigned short_name(const uint8_t *p, Name *packed)
{
    uint64_t word;
    memcpy(&word, p, 8);
    uint64_t stops = ~word & EACH(0x40);
    if (!stops)
        return 0;
    uint64_t mask = ((stops & -stops) - 1) >> 6; /* it has the bits before that byte */
    *packed = word & mask;
    return (*packed & EACH(0xa0)) == (mask & EACH(0x20)) ? (unsigned)__builtin_ctzll(stops) >> 3 : 0;
}
#else
static inline unsigned short_name(const uint8_t *p, Name *packed)
{
    (void)p;
    *packed = 0;
    return 0;
}
#endif

/* Return the place behind the name at `p`, which ends before a byte of one of these classes, and has one byte at least,
 * whatever that is. The name is given packed.
 */
static inline const uint8_t *name_end(const uint8_t *p, const uint8_t *end, int classes, Name *packed)
{
    unsigned length = end - p >= 8 ? short_name(p, packed) : 0;
    if (length && CLASS[p[length]] & classes)
        return p + length;
    const uint8_t *begin = p;
    Name name = 0, hash = HASH_SEED;
    unsigned shift = 0;
    do {
        Name lower = LOWER[*p++];
        name |= shift < 64 ? lower << shift : 0;
        hash = HASH_STEP(hash, lower);
        shift += 8;
    } while (p < end && !(CLASS[*p] & classes));
    *packed = p - begin > 8 ? hash | LONG_NAME : name;
    return p;
}

static inline void note_attribute(Scan *s, uint32_t wanted, Name name, size_t length, Span value)
{
    if (length > LONGEST_ATTRIBUTE) /* no name that is wanted is as long */
        return;
    for (int i = 0; wanted; i++, wanted >>= 1)
        if (wanted & 1 && attribute_names[i] == name) {
            if (!(s->attributes & BIT(i))) {
                s->attributes |= BIT(i);
                s->values[i] = value;
            }
            return;
        }
}

/* Read the attributes of a tag that has some; see `read_attributes`. */
static const uint8_t *read_some_attributes(Scan *s, const uint8_t *p, uint32_t wanted)
{
    const uint8_t *end = s->end, *page = s->page, *begin = p;
    size_t count = 0;
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
        Name name;
        const uint8_t *after = name_end(p, end, C_ATTRIBUTE_END, &name); /* it may begin with "=" */
        size_t length = (size_t)(after - p);
        p = after;
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
                const uint8_t *close = find_byte(p + 1, end, *p);
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

/* Read the attributes of the tag from `p` on; returns the place after ">", or NULL if the page ends before. */
static inline const uint8_t *read_attributes(Scan *s, const uint8_t *p, int is_end)
{
    s->attributes = 0;
    s->self_closing = 0;
    if (p < s->end && *p == '>') {
        s->source = (Span){p - s->page, 0};
        return p + 1;
    }
    return read_some_attributes(s, p, is_end ? 0 : wanted_attributes(s));
}

/* Read a tag's name from `p` on; returns the place after it. */
static inline const uint8_t *read_name(Scan *s, const uint8_t *p)
{
    Name packed;
    p = name_end(p, s->end, C_NAME_END, &packed);
    s->name = packed;
    size_t slot = SLOT(packed);
    while (tag_slots[slot].name && tag_slots[slot].name != packed)
        slot = (slot + 1) % NAME_SLOTS;
    s->tag = tag_slots[slot].tag;
    return p;
}
