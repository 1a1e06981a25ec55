/* The stack of open elements (HTML Standard, 13.2.4.2): what opens and closes them, and what is in scope.
 *
 * Whoever looks through the stack counts its steps: that bounds what a page can cost.
 */

static void go_flat(Scan *s)
{
    s->flat = s->deep = 1; /* the rule at work goes on to its end on what is there */
}

/* Count steps; past their number the page is read without looking at what is open. */
static inline void walked(Scan *s, size_t steps)
{
    s->steps += steps;
    if (s->steps > s->most_steps)
        go_flat(s);
}

static void note_listed(Scan *s, uint32_t id)
{
    if (s->flat)
        return;
    for (size_t i = s->listed_count; i-- > 0;)
        if (s->listed[i].id == id) {
            s->listed[i].open = 0;
            s->reopen = 1;
            walked(s, s->listed_count - i);
            return;
        }
    walked(s, s->listed_count);
}

static inline void pop(Scan *s)
{
    Element *e = &s->open[--s->depth];
    if (e->ns == HTML_NS) {
        s->counts[e->tag]--;
        if (e->tag == T_TEMPLATE)
            s->templates--;
        if (e->flags & E_LISTED)
            note_listed(s, e->id);
    }
}

static inline void pop_to(Scan *s, size_t depth)
{
    while (s->depth > depth)
        pop(s);
}

static inline Element *push_as(Scan *s, int tag, Name name, int ns, int flags)
{
    if (s->depth == s->open_room && !grow((void **)&s->open, &s->open_room, sizeof(Element), FIRST_OPEN)) {
        s->failed = 1;
        s->depth--; /* the innermost gives its place: the rule at work goes on, and is the last */
    }
    Element *e = &s->open[s->depth++];
    *e = (Element){name, ++s->last_id, (uint8_t)tag, (uint8_t)ns, (uint8_t)flags, 0};
    if (ns == HTML_NS)
        s->counts[tag]++;
    if (s->depth > DEEPEST)
        go_flat(s);
    return e;
}

static inline int html_flags(int tag)
{
    int kinds = KINDS[tag];
    return (kinds & SPECIAL ? E_SPECIAL : 0) | (kinds & SCOPE ? E_SCOPE : 0);
}

static Element *push_html(Scan *s, int tag)
{
    return push_as(s, tag, s->name, HTML_NS, html_flags(tag));
}

static void remove_open(Scan *s, size_t at)
{
    Element *e = &s->open[at];
    if (e->ns == HTML_NS) {
        s->counts[e->tag]--;
        if (e->tag == T_TEMPLATE)
            s->templates--;
    }
    memmove(e, e + 1, (s->depth - at - 1) * sizeof(Element));
    s->depth--;
    walked(s, s->depth - at);
}

static void insert_void(Scan *s, int tag)
{
    emit(s, tag);
}

static void insert(Scan *s, int tag)
{
    emit(s, tag);
    push_html(s, tag);
}

static void insert_raw(Scan *s, int tag)
{
    emit(s, tag);
    s->raw = (uint8_t)tag;
}

enum { DEFAULT_SCOPE, BUTTON_SCOPE, LIST_SCOPE, TABLE_SCOPE };

static inline int ends_scope(const Element *e, int scope)
{
    if (scope == TABLE_SCOPE)
        return e->ns == HTML_NS && (e->tag == T_TABLE || e->tag == T_TEMPLATE || e->tag == T_HTML);
    if (e->flags & E_SCOPE)
        return 1;
    if (e->ns != HTML_NS)
        return 0;
    return scope == BUTTON_SCOPE ? e->tag == T_BUTTON : scope == LIST_SCOPE && (e->tag == T_OL || e->tag == T_UL);
}

static int in_scope(Scan *s, int tag, int scope)
{
    if (!s->counts[tag])
        return 0;
    for (size_t i = s->depth; i-- > 0;) {
        const Element *e = &s->open[i];
        int found = e->ns == HTML_NS && e->tag == tag;
        if (found || ends_scope(e, scope)) {
            walked(s, s->depth - i);
            return found;
        }
    }
    return 0;
}

static inline int is_open(const Element *e, int tag) { return e->ns == HTML_NS && e->tag == tag; }

static void pop_through(Scan *s, int tag)
{
    while (s->depth) {
        int last = is_open(&TOP(s), tag);
        pop(s);
        if (last)
            return;
    }
}

static void imply_ends(Scan *s, int except)
{
    while (s->depth && TOP(s).ns == HTML_NS && KINDS[TOP(s).tag] & IMPLIED && TOP(s).tag != except)
        pop(s);
}

static void close_p(Scan *s)
{
    if (in_scope(s, T_P, BUTTON_SCOPE))
        pop_through(s, T_P);
}

static Py_ssize_t find_open(Scan *s, uint32_t id)
{
    for (size_t i = s->depth; i-- > 0;)
        if (s->open[i].id == id) {
            walked(s, s->depth - i);
            return (Py_ssize_t)i;
        }
    walked(s, s->depth);
    return -1;
}

static void end_other(Scan *s, int tag, Name name)
{
    for (size_t i = s->depth; i-- > 0;) {
        const Element *e = &s->open[i];
        if (e->ns == HTML_NS && e->tag == tag && (tag || e->name == name)) {
            walked(s, s->depth - i);
            /* implied ends above are popped with the rest */
            pop_to(s, i);
            return;
        }
        if (e->flags & E_SPECIAL) {
            walked(s, s->depth - i);
            return;
        }
    }
}
