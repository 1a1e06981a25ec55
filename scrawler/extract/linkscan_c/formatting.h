/* The list of active formatting elements (13.2.4.3), and the adoption agency, which takes misnested ones apart. */

static void add_formatting(Scan *s, int tag, uint32_t id, Span source, size_t first, uint32_t attributes)
{
    if (s->listed_count == s->listed_room
        && !grow((void **)&s->listed, &s->listed_room, sizeof(Formatting), 32)) {
        s->failed = 1;
        return;
    }
    s->listed[s->listed_count++] = (Formatting){source, first, attributes, id, (uint8_t)tag, 1};
}

static void remove_formatting(Scan *s, size_t at)
{
    memmove(&s->listed[at], &s->listed[at + 1], (s->listed_count - at - 1) * sizeof(Formatting));
    s->listed_count--;
}

static void insert_marker(Scan *s)
{
    add_formatting(s, OTHER, 0, (Span){0, 0}, 0, 0);
}

static void clear_to_marker(Scan *s)
{
    while (s->listed_count)
        if (!s->listed[--s->listed_count].id)
            return;
}

static void insert_formatting(Scan *s, int tag)
{
    size_t first_span = s->span_count;
    emit(s, tag);
    size_t same = 0, first = 0, i;
    for (i = s->listed_count; i-- > 0 && s->listed[i].id;) {
        const Formatting *f = &s->listed[i];
        if (f->tag == tag && f->source.length == s->source.length
            && (s->steps += (size_t)s->source.length / COMPARED_A_STEP,
                !memcmp(s->page + f->source.begin, s->page + s->source.begin, (size_t)s->source.length))) {
            same++;
            first = i;
        }
    }
    walked(s, s->listed_count - (i + 1));
    if (same >= 3)
        remove_formatting(s, first);
    Element *e = push_html(s, tag);
    e->flags |= E_LISTED;
    add_formatting(s, tag, e->id, s->source, first_span, s->span_count > first_span ? s->attributes : 0);
}

static void reconstruct(Scan *s)
{
    if (!s->reopen || !s->listed_count || s->flat)
        return;
    size_t i = s->listed_count;
    while (i > 0 && s->listed[i - 1].id && !s->listed[i - 1].open)
        i--;
    if (i == s->listed_count)
        return;
    for (; i < s->listed_count; i++) {
        Formatting *f = &s->listed[i];
        Element *e = push_as(s, f->tag, 0, HTML_NS, E_LISTED);
        f->id = e->id;
        f->open = 1;
        emit_copy(s, f);
        walked(s, 1);
        if (s->flat)
            return;
    }
    s->reopen = 0;
    for (i = 0; i < s->listed_count; i++) /* copies that stand before a marker may wait on */
        if (s->listed[i].id && !s->listed[i].open)
            s->reopen = 1;
    walked(s, s->listed_count);
}

static Py_ssize_t find_listed(Scan *s, uint32_t id)
{
    for (size_t i = s->listed_count; i-- > 0;)
        if (s->listed[i].id == id)
            return (Py_ssize_t)i;
    return -1;
}

/* Do what the adoption agency algorithm says (13.2.6.4.7). */
static void adopt(Scan *s, int tag)
{
    if (is_open(&TOP(s), tag)) {
        size_t n = s->listed_count;
        if (n && s->listed[n - 1].id == TOP(s).id) { /* so it is in nearly all pages */
            s->listed_count--;
            TOP(s).flags &= (uint8_t)~E_LISTED;
            pop(s);
            return;
        }
        if (!(TOP(s).flags & E_LISTED) || find_listed(s, TOP(s).id) < 0) {
            pop(s);
            return;
        }
    }
    for (int outer = 0; outer < 8; outer++) {
        Py_ssize_t fi = -1;
        for (size_t i = s->listed_count; i-- > 0 && s->listed[i].id;)
            if (s->listed[i].tag == tag) {
                fi = (Py_ssize_t)i;
                break;
            }
        walked(s, s->listed_count);
        if (fi < 0) {
            end_other(s, tag, 0);
            return;
        }
        Py_ssize_t si = s->listed[fi].open ? find_open(s, s->listed[fi].id) : -1;
        if (si < 0) {
            remove_formatting(s, (size_t)fi);
            return;
        }
        size_t block = 0;
        for (size_t i = s->depth; i-- > (size_t)si + 1;) {
            if (s->open[i].flags & E_SCOPE)
                return; /* the element is not in scope */
            if (s->open[i].flags & E_SPECIAL)
                block = i;
        }
        if (!block) {
            s->open[si].flags &= (uint8_t)~E_LISTED;
            remove_formatting(s, (size_t)fi);
            pop_to(s, (size_t)si);
            return;
        }
        Py_ssize_t bookmark = fi;
        int inner = 0, first = 1;
        for (size_t i = block; i-- > (size_t)si + 1;) {
            Py_ssize_t li = s->open[i].flags & E_LISTED ? find_listed(s, s->open[i].id) : -1;
            walked(s, s->listed_count);
            if (s->flat)
                return;
            if (++inner > 3 && li >= 0) {
                remove_formatting(s, (size_t)li);
                bookmark -= li < bookmark;
                fi -= li < fi;
                li = -1;
            }
            if (li < 0) {
                remove_open(s, i);
                block--;
                continue;
            }
            s->open[i].id = s->listed[li].id = ++s->last_id;
            emit_copy(s, &s->listed[li]);
            if (first)
                bookmark = li + 1;
            first = 0;
        }
        Formatting moved = s->listed[fi];
        Element again = s->open[si];
        again.id = moved.id = ++s->last_id;
        emit_copy(s, &moved);
        remove_formatting(s, (size_t)fi);
        bookmark -= fi < bookmark;
        memmove(&s->listed[bookmark + 1], &s->listed[bookmark],
                (s->listed_count - (size_t)bookmark) * sizeof(Formatting));
        s->listed_count++;
        s->listed[bookmark] = moved;
        memmove(&s->open[si], &s->open[si + 1], (block - (size_t)si) * sizeof(Element));
        s->open[block] = again;
        if (s->flat)
            return;
    }
}
