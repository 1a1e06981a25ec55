/* Noting what says something: links, and whatever changes or judges them. These are places; results.h makes strings. */

static int room_for_found(Scan *s)
{
    if ((s->found_count < s->found_room || grow((void **)&s->found, &s->found_room, sizeof(Found), 256))
        && (s->span_count + ATTRIBUTE_COUNT <= s->span_room
            || grow((void **)&s->spans, &s->span_room, sizeof(Span), 512)))
        return 1;
    s->failed = 1;
    return 0;
}

/* Note the element of a start tag that has attributes which are wanted. */
static void emit_telling(Scan *s, int tag)
{
    uint32_t a = s->attributes, assets = s->flags & WITH_ASSETS;
    switch (tag) {
    case T_A: case T_AREA: if (!(a & BIT(HREF))) return; break;
    case T_BASE: if (!(a & BIT(HREF)) || s->templates || s->base_seen) return; break; /* only the first <base> counts */
    case T_LINK: if (!(a & (BIT(HREF) | BIT(IMAGESRCSET))) || !(a & BIT(REL))) return; break;
    case T_IFRAME: case T_FRAME: if (!(a & BIT(SRC))) return; break;
    case T_META: if (!(a & (BIT(HTTP_EQUIV) | BIT(NAME)))) return; break;
    case T_IMG: if (!assets || !(a & PICTURE)) return; break;
    case T_INPUT: case T_SCRIPT: if (!assets || !(a & BIT(SRC))) return; break;
    case T_IMAGE: case T_USE: if (!assets || !(a & BIT(HREF))) return; break;
    case T_SOURCE: if (!assets || !(a & PICTURE)) return; break;
    case T_VIDEO: if (!assets || !(a & (FILM | BIT(POSTER) | BIT(DATA_POSTER)))) return; break;
    case T_AUDIO: case T_EMBED: case T_TRACK: if (!assets || !(a & FILM)) return; break;
    default: return;
    }
    if (tag != T_A && tag != T_AREA && s->others++ >= MOST_OTHERS)
        return;
    if (!room_for_found(s))
        return;
    if (tag == T_BASE)
        s->base_seen = 1; /* this holds for one that a <frameset> drops too, for none can follow it */
    int in_head = 0;
    if (tag == T_LINK && s->depth && !s->flat) {
        Element *e = &TOP(s);
        if (e->ns == HTML_NS && e->tag == T_NOSCRIPT && s->depth > 1)
            e--;
        in_head = e->ns == HTML_NS && e->tag == T_HEAD;
    }
    s->found[s->found_count++] = (Found){(uint8_t)tag, s->templates > 0, (uint8_t)in_head, a, s->span_count};
    for (int i = 0; a; i++, a >>= 1) /* most have one, which is the first */
        if (a & 1)
            s->spans[s->span_count++] = s->values[i];
}

/* Note the element of the start tag if it says something: it does so by its attributes, which most have none of. */
static inline void emit(Scan *s, int tag)
{
    if (s->attributes)
        emit_telling(s, tag);
}

/* A copy of a formatting element comes into the tree; if it is a link, the page has one more. */
static void emit_copy(Scan *s, const Formatting *f)
{
    if (f->attributes && room_for_found(s)) {
        s->has_copies = 1;
        s->found[s->found_count++] = (Found){f->tag, s->templates > 0, 0, f->attributes, f->first};
    }
}
