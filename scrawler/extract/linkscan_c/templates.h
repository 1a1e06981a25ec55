/* Templates, and the insertion mode that follows from what is open (13.2.4.1). */

static void reset_mode(Scan *s)
{
    for (size_t i = s->depth; i-- > 0;) {
        const Element *e = &s->open[i];
        if (e->ns != HTML_NS)
            continue;
        switch (e->tag) {
        case T_TD: case T_TH: if (i) { s->mode = IN_CELL; goto found; } break;
        case T_TR: s->mode = IN_ROW; goto found;
        case T_TBODY: case T_THEAD: case T_TFOOT: s->mode = IN_TABLE_BODY; goto found;
        case T_CAPTION: s->mode = IN_CAPTION; goto found;
        case T_COLGROUP: s->mode = IN_COLGROUP; goto found;
        case T_TABLE: s->mode = IN_TABLE; goto found;
        case T_TEMPLATE: s->mode = e->mode; goto found;
        case T_HEAD: s->mode = IN_HEAD; goto found;
        case T_BODY: s->mode = IN_BODY; goto found;
        case T_FRAMESET: s->mode = IN_FRAMESET; goto found;
        case T_HTML: s->mode = s->head_seen ? AFTER_HEAD : BEFORE_HEAD; goto found;
        }
        continue;
    found:
        walked(s, s->depth - i);
        return;
    }
    s->mode = IN_BODY;
}

static void start_template(Scan *s)
{
    Element *e = push_html(s, T_TEMPLATE);
    e->mode = IN_TEMPLATE;
    s->templates++;
    insert_marker(s);
    s->frameset_ok = 0;
    s->mode = IN_TEMPLATE;
}

static void end_template(Scan *s)
{
    if (!s->templates)
        return;
    pop_through(s, T_TEMPLATE);
    clear_to_marker(s);
    reset_mode(s);
}

/* Set the mode of the innermost template, and with it the present one. */
static void template_mode(Scan *s, int mode)
{
    for (size_t i = s->depth; i-- > 0;)
        if (is_open(&s->open[i], T_TEMPLATE)) {
            s->open[i].mode = (uint8_t)mode;
            walked(s, s->depth - i);
            break;
        }
    s->mode = mode;
}
