/* End tags in the body (13.2.6.4.7). */

static void end_html(Scan *s, int mode); /* modes.h */

static void end_heading(Scan *s)
{
    for (size_t i = s->depth; i-- > 0;) {
        const Element *e = &s->open[i];
        if (e->ns == HTML_NS && KINDS[e->tag] & HEADING) {
            walked(s, s->depth - i);
            pop_to(s, i);
            return;
        }
        if (ends_scope(e, DEFAULT_SCOPE)) {
            walked(s, s->depth - i);
            return;
        }
    }
}

static void end_in_body(Scan *s)
{
    int tag = s->tag, kinds = KINDS[tag];
    switch (tag) {
    case T_TEMPLATE:
        end_template(s);
        return;
    case T_BODY: case T_HTML:
        if (!in_scope(s, T_BODY, DEFAULT_SCOPE))
            return;
        s->mode = AFTER_BODY;
        if (tag == T_HTML)
            end_html(s, s->mode);
        return;
    case T_FORM:
        if (!s->templates) {
            Py_ssize_t at = s->form ? find_open(s, s->form) : -1;
            s->form = 0;
            if (at < 0)
                return;
            for (size_t i = s->depth; i-- > (size_t)at + 1;)
                if (s->open[i].flags & E_SCOPE)
                    return;
            imply_ends(s, OTHER);
            remove_open(s, (size_t)at);
        }
        else if (in_scope(s, T_FORM, DEFAULT_SCOPE))
            pop_through(s, T_FORM);
        return;
    case T_P:
        if (in_scope(s, T_P, BUTTON_SCOPE))
            pop_through(s, T_P);
        return;
    case T_LI:
        if (in_scope(s, T_LI, LIST_SCOPE))
            pop_through(s, T_LI);
        return;
    case T_BR:
        reconstruct(s);
        s->frameset_ok = 0;
        return;
    case T_DD: case T_DT: case T_BUTTON: case T_SELECT:
        if (in_scope(s, tag, DEFAULT_SCOPE))
            pop_through(s, tag);
        return;
    case T_APPLET: case T_MARQUEE: case T_OBJECT:
        if (in_scope(s, tag, DEFAULT_SCOPE)) {
            pop_through(s, tag);
            clear_to_marker(s);
        }
        return;
    }
    if (kinds & FORMATTING)
        adopt(s, tag);
    else if (kinds & BLOCK) {
        if (in_scope(s, tag, DEFAULT_SCOPE))
            pop_through(s, tag);
    }
    else if (kinds & HEADING)
        end_heading(s);
    else
        end_other(s, tag, s->name);
}
