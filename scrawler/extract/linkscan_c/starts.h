/* Start tags in the head and in the body (13.2.6.4.4 and 13.2.6.4.7). */

/* A start tag that is processed as in the head, by the rules that do not leave it. */
static void start_headed(Scan *s)
{
    switch (s->tag) {
    case T_BASE: case T_BASEFONT: case T_BGSOUND: case T_LINK: case T_META: insert_void(s, s->tag); break;
    case T_TITLE: case T_NOFRAMES: case T_STYLE: case T_SCRIPT: insert_raw(s, s->tag); break;
    case T_TEMPLATE: start_template(s); break;
    }
}

static void start_list_item(Scan *s, int tag, int or_tag)
{
    s->frameset_ok = 0;
    for (size_t i = s->depth; i-- > 0;) {
        const Element *e = &s->open[i];
        if (is_open(e, tag) || is_open(e, or_tag)) {
            walked(s, s->depth - i);
            pop_to(s, i);
            break;
        }
        if (e->flags & E_SPECIAL
            && !(e->ns == HTML_NS && (e->tag == T_ADDRESS || e->tag == T_DIV || e->tag == T_P))) {
            walked(s, s->depth - i);
            break;
        }
    }
    close_p(s);
    insert(s, s->tag);
}

static void start_frameset_in_body(Scan *s)
{
    if (s->depth < 2 || !is_open(&s->open[1], T_BODY) || !s->frameset_ok)
        return;
    pop_to(s, 1);
    s->found_count = s->found_in_head; /* the body goes, with all that was found in it */
    push_html(s, T_FRAMESET);
    s->mode = IN_FRAMESET;
}

static int is_hidden_input(const Scan *s)
{
    const Span *v = &s->values[TYPE];
    return s->attributes & BIT(TYPE) && v->length == 6
        && !PyOS_strnicmp((const char *)s->page + v->begin, "hidden", 6);
}

static void start_in_body(Scan *s)
{
    int tag = s->tag, kinds = KINDS[tag];
    if (kinds & HEADED) {
        start_headed(s);
        return;
    }
    switch (tag) {
    case T_A:
        for (size_t i = s->listed_count; i-- > 0 && s->listed[i].id;)
            if (s->listed[i].tag == T_A) {
                uint32_t id = s->listed[i].id;
                adopt(s, T_A);
                Py_ssize_t li = find_listed(s, id), si = find_open(s, id);
                if (li >= 0)
                    remove_formatting(s, (size_t)li);
                if (si >= 0)
                    remove_open(s, (size_t)si);
                break;
            }
        walked(s, s->listed_count / 8);
        reconstruct(s);
        insert_formatting(s, tag);
        return;
    case T_NOBR:
        reconstruct(s);
        if (in_scope(s, T_NOBR, DEFAULT_SCOPE)) {
            adopt(s, T_NOBR);
            reconstruct(s);
        }
        insert_formatting(s, tag);
        return;
    case T_P:
    case T_DIV:
        close_p(s);
        insert(s, tag);
        return;
    case T_HTML: case T_HEAD: case T_FRAME:
        return;
    case T_BODY:
        if (s->depth > 1 && is_open(&s->open[1], T_BODY) && !s->templates)
            s->frameset_ok = 0;
        return;
    case T_FRAMESET:
        start_frameset_in_body(s);
        return;
    case T_PRE: case T_LISTING:
        close_p(s);
        insert(s, tag);
        s->frameset_ok = 0;
        return;
    case T_FORM:
        if (s->form && !s->templates)
            return;
        close_p(s);
        insert(s, tag);
        if (!s->templates)
            s->form = TOP(s).id;
        return;
    case T_LI:
        start_list_item(s, T_LI, T_LI);
        return;
    case T_DD: case T_DT:
        start_list_item(s, T_DD, T_DT);
        return;
    case T_PLAINTEXT:
        close_p(s);
        insert(s, tag);
        s->plaintext = 1;
        return;
    case T_BUTTON:
        if (in_scope(s, T_BUTTON, DEFAULT_SCOPE))
            pop_through(s, T_BUTTON);
        reconstruct(s);
        insert(s, tag);
        s->frameset_ok = 0;
        return;
    case T_APPLET: case T_MARQUEE: case T_OBJECT:
        reconstruct(s);
        insert(s, tag);
        insert_marker(s);
        s->frameset_ok = 0;
        return;
    case T_TABLE:
        if (!s->quirks)
            close_p(s);
        insert(s, tag);
        s->frameset_ok = 0;
        s->mode = IN_TABLE;
        return;
    case T_IMAGE:
        tag = T_IMG; /* fall through */
    case T_AREA: case T_BR: case T_EMBED: case T_IMG: case T_KEYGEN: case T_WBR:
        reconstruct(s);
        insert_void(s, tag);
        s->frameset_ok = 0;
        return;
    case T_INPUT:
        if (in_scope(s, T_SELECT, DEFAULT_SCOPE))
            pop_through(s, T_SELECT);
        reconstruct(s);
        insert_void(s, tag);
        if (!is_hidden_input(s))
            s->frameset_ok = 0;
        return;
    case T_PARAM: case T_SOURCE: case T_TRACK:
        insert_void(s, tag);
        return;
    case T_HR:
        close_p(s);
        if (in_scope(s, T_SELECT, DEFAULT_SCOPE))
            imply_ends(s, OTHER);
        s->frameset_ok = 0;
        return;
    case T_TEXTAREA: case T_IFRAME:
        s->frameset_ok = 0; /* fall through */
    case T_NOEMBED:
        insert_raw(s, tag);
        return;
    case T_XMP:
        close_p(s);
        reconstruct(s);
        s->frameset_ok = 0;
        insert_raw(s, tag);
        return;
    case T_SELECT:
        if (in_scope(s, T_SELECT, DEFAULT_SCOPE)) {
            pop_through(s, T_SELECT);
            return;
        }
        reconstruct(s);
        insert(s, tag);
        s->frameset_ok = 0;
        return;
    case T_OPTION: case T_OPTGROUP:
        if (in_scope(s, T_SELECT, DEFAULT_SCOPE))
            imply_ends(s, tag == T_OPTION ? T_OPTGROUP : OTHER);
        else if (is_open(&TOP(s), T_OPTION))
            pop(s);
        reconstruct(s);
        insert(s, tag);
        return;
    case T_RB: case T_RTC: case T_RP: case T_RT:
        if (in_scope(s, T_RUBY, DEFAULT_SCOPE))
            imply_ends(s, tag == T_RP || tag == T_RT ? T_RTC : OTHER);
        insert(s, tag);
        return;
    case T_MATH: case T_SVG:
        reconstruct(s);
        insert_foreign(s, tag == T_MATH ? MATH_NS : SVG_NS);
        return;
    }
    if (kinds & FORMATTING) {
        reconstruct(s);
        insert_formatting(s, tag);
    }
    else if (kinds & BLOCK) {
        close_p(s);
        insert(s, tag);
    }
    else if (kinds & HEADING) {
        close_p(s);
        if (TOP(s).ns == HTML_NS && KINDS[TOP(s).tag] & HEADING)
            pop(s);
        insert(s, tag);
    }
    else if (!(kinds & TABLE_PART)) {
        reconstruct(s);
        insert(s, tag);
    }
}
