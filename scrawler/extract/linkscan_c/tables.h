/* Tables (13.2.6.4.9 to 15): what closes their parts, and tags that are in a table but in no part of it. */

static void start_html(Scan *s, int mode); /* modes.h */

static void clear_back(Scan *s, int one, int two, int three)
{
    while (s->depth) {
        const Element *e = &TOP(s);
        if (e->ns == HTML_NS && (e->tag == one || e->tag == two || e->tag == three || e->tag == T_TEMPLATE
                                 || e->tag == T_HTML))
            return;
        pop(s);
    }
}

static void clear_to_table(Scan *s) { clear_back(s, T_TABLE, T_TABLE, T_TABLE); }
static void clear_to_section(Scan *s) { clear_back(s, T_TBODY, T_TFOOT, T_THEAD); }
static void clear_to_row(Scan *s) { clear_back(s, T_TR, T_TR, T_TR); }

static void start_in_table(Scan *s)
{
    int tag = s->tag;
    switch (tag) {
    case T_CAPTION:
        clear_to_table(s);
        insert_marker(s);
        push_html(s, tag);
        s->mode = IN_CAPTION;
        return;
    case T_COLGROUP: case T_COL:
        clear_to_table(s);
        push_html(s, T_COLGROUP);
        s->mode = IN_COLGROUP;
        return;
    case T_TBODY: case T_TFOOT: case T_THEAD: case T_TD: case T_TH: case T_TR:
        clear_to_table(s);
        push_html(s, KINDS[tag] & SECTION ? tag : T_TBODY);
        s->mode = IN_TABLE_BODY;
        if (!(KINDS[tag] & SECTION))
            start_html(s, s->mode);
        return;
    case T_TABLE:
        if (!in_scope(s, T_TABLE, TABLE_SCOPE))
            return;
        pop_through(s, T_TABLE);
        reset_mode(s);
        start_html(s, s->mode);
        return;
    case T_INPUT:
        if (is_hidden_input(s)) {
            insert_void(s, tag);
            return;
        }
        break;
    case T_FORM:
        if (!s->templates && !s->form)
            s->form = ++s->last_id;
        return;
    }
    start_in_body(s);
}

static void end_in_table(Scan *s)
{
    int tag = s->tag;
    if (tag == T_TABLE) {
        if (in_scope(s, T_TABLE, TABLE_SCOPE)) {
            pop_through(s, T_TABLE);
            reset_mode(s);
        }
        return;
    }
    if (tag == T_BODY || tag == T_HTML || KINDS[tag] & TABLE_PART)
        return;
    end_in_body(s);
}

static int end_caption(Scan *s)
{
    if (!in_scope(s, T_CAPTION, TABLE_SCOPE))
        return 0;
    pop_through(s, T_CAPTION);
    clear_to_marker(s);
    s->mode = IN_TABLE;
    return 1;
}

static void close_cell(Scan *s)
{
    imply_ends(s, OTHER);
    while (s->depth) {
        int last = is_open(&TOP(s), T_TD) || is_open(&TOP(s), T_TH);
        pop(s);
        if (last)
            break;
    }
    clear_to_marker(s);
    s->mode = IN_ROW;
}

static int end_row(Scan *s)
{
    if (!in_scope(s, T_TR, TABLE_SCOPE))
        return 0;
    clear_to_row(s);
    pop(s);
    s->mode = IN_TABLE_BODY;
    return 1;
}

static int end_section(Scan *s)
{
    if (!in_scope(s, T_TBODY, TABLE_SCOPE) && !in_scope(s, T_THEAD, TABLE_SCOPE)
        && !in_scope(s, T_TFOOT, TABLE_SCOPE))
        return 0;
    clear_to_section(s);
    pop(s);
    s->mode = IN_TABLE;
    return 1;
}

static int end_colgroup(Scan *s)
{
    if (!is_open(&TOP(s), T_COLGROUP))
        return 0;
    pop(s);
    s->mode = IN_TABLE;
    return 1;
}
