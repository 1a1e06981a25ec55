/* The insertion modes (13.2.6.4): what a tag does in each of them. Many set another mode, and hand the tag on to it. */

static void begin_body(Scan *s)
{
    s->found_in_head = s->found_count;
    push_html(s, T_BODY);
    s->mode = IN_BODY;
}

static void start_html(Scan *s, int mode)
{
    int tag = s->tag, kinds = KINDS[tag];
    switch (mode) {
    case BEFORE_HTML:
        push_html(s, T_HTML);
        s->mode = BEFORE_HEAD;
        if (tag != T_HTML)
            start_html(s, s->mode);
        return;
    case BEFORE_HEAD:
        if (tag == T_HTML)
            return;
        push_html(s, T_HEAD);
        s->head_seen = 1;
        s->mode = IN_HEAD;
        if (tag != T_HEAD)
            start_html(s, s->mode);
        return;
    case IN_HEAD:
        if (tag == T_HTML || tag == T_HEAD)
            return;
        if (kinds & HEADED)
            start_headed(s);
        else if (tag == T_NOSCRIPT) {
            push_html(s, tag);
            s->mode = IN_HEAD_NOSCRIPT;
        }
        else {
            pop(s);
            s->mode = AFTER_HEAD;
            start_html(s, s->mode);
        }
        return;
    case IN_HEAD_NOSCRIPT:
        if (tag == T_BASEFONT || tag == T_BGSOUND || tag == T_LINK || tag == T_META || tag == T_NOFRAMES
            || tag == T_STYLE)
            start_headed(s);
        else if (tag != T_HTML && tag != T_HEAD && tag != T_NOSCRIPT) {
            pop(s);
            s->mode = IN_HEAD;
            start_html(s, s->mode);
        }
        return;
    case AFTER_HEAD:
        if (tag == T_HTML || tag == T_HEAD)
            return;
        if (tag == T_BODY) {
            begin_body(s);
            s->frameset_ok = 0;
        }
        else if (tag == T_FRAMESET) {
            push_html(s, tag);
            s->mode = IN_FRAMESET;
        }
        else if (kinds & HEADED) {
            uint32_t id = push_html(s, T_HEAD)->id;
            start_headed(s);
            remove_open(s, (size_t)find_open(s, id));
        }
        else {
            begin_body(s);
            start_html(s, s->mode);
        }
        return;
    case IN_BODY:
        start_in_body(s);
        return;
    case IN_TABLE:
        start_in_table(s);
        return;
    case IN_CAPTION:
        if (!(kinds & TABLE_PART))
            start_in_body(s);
        else if (end_caption(s))
            start_html(s, s->mode);
        return;
    case IN_COLGROUP:
        if (tag == T_HTML || tag == T_COL)
            return;
        if (tag == T_TEMPLATE)
            start_headed(s);
        else if (end_colgroup(s))
            start_html(s, s->mode);
        return;
    case IN_TABLE_BODY:
        if (tag == T_TR || tag == T_TD || tag == T_TH) {
            clear_to_section(s);
            push_html(s, T_TR);
            s->mode = IN_ROW;
            if (tag != T_TR)
                start_html(s, s->mode);
        }
        else if (kinds & TABLE_PART) {
            if (end_section(s))
                start_html(s, s->mode);
        }
        else
            start_in_table(s);
        return;
    case IN_ROW:
        if (tag == T_TD || tag == T_TH) {
            clear_to_row(s);
            push_html(s, tag);
            s->mode = IN_CELL;
            insert_marker(s);
        }
        else if (kinds & TABLE_PART) {
            if (end_row(s))
                start_html(s, s->mode);
        }
        else
            start_in_table(s);
        return;
    case IN_CELL:
        if (!(kinds & TABLE_PART))
            start_in_body(s);
        else if (in_scope(s, T_TD, TABLE_SCOPE) || in_scope(s, T_TH, TABLE_SCOPE)) {
            close_cell(s);
            start_html(s, s->mode);
        }
        return;
    case IN_TEMPLATE:
        if (kinds & HEADED)
            start_headed(s);
        else {
            template_mode(s, kinds & SECTION || tag == T_CAPTION || tag == T_COLGROUP ? IN_TABLE
                          : tag == T_COL ? IN_COLGROUP : tag == T_TR ? IN_TABLE_BODY
                          : tag == T_TD || tag == T_TH ? IN_ROW : IN_BODY);
            start_html(s, s->mode);
        }
        return;
    case AFTER_BODY: case AFTER_AFTER_BODY:
        if (tag != T_HTML) {
            s->mode = IN_BODY;
            start_html(s, s->mode);
        }
        return;
    case IN_FRAMESET:
        if (tag == T_FRAMESET)
            push_html(s, tag);
        else if (tag == T_FRAME)
            insert_void(s, tag);
        else if (tag == T_NOFRAMES)
            start_headed(s);
        return;
    case AFTER_FRAMESET: case AFTER_AFTER_FRAMESET:
        if (tag == T_NOFRAMES)
            start_headed(s);
        return;
    }
}

static void end_html(Scan *s, int mode)
{
    int tag = s->tag, kinds = KINDS[tag];
    int ends_head = tag == T_BODY || tag == T_HTML || tag == T_BR;
    switch (mode) {
    case BEFORE_HTML: case BEFORE_HEAD:
        if (ends_head || tag == T_HEAD) {
            push_html(s, mode == BEFORE_HTML ? T_HTML : T_HEAD);
            s->head_seen = mode == BEFORE_HEAD;
            s->mode = mode == BEFORE_HTML ? BEFORE_HEAD : IN_HEAD;
            end_html(s, s->mode);
        }
        return;
    case IN_HEAD:
        if (tag == T_TEMPLATE)
            end_template(s);
        else if (ends_head || tag == T_HEAD) {
            pop(s);
            s->mode = AFTER_HEAD;
            if (tag != T_HEAD)
                end_html(s, s->mode);
        }
        return;
    case IN_HEAD_NOSCRIPT:
        if (tag == T_NOSCRIPT || tag == T_BR) {
            pop(s);
            s->mode = IN_HEAD;
            if (tag == T_BR)
                end_html(s, s->mode);
        }
        return;
    case AFTER_HEAD:
        if (tag == T_TEMPLATE)
            end_template(s);
        else if (ends_head) {
            begin_body(s);
            end_html(s, s->mode);
        }
        return;
    case IN_BODY:
        end_in_body(s);
        return;
    case IN_TABLE:
        end_in_table(s);
        return;
    case IN_CAPTION:
        if (tag == T_CAPTION)
            end_caption(s);
        else if (tag == T_TABLE) {
            if (end_caption(s))
                end_html(s, s->mode);
        }
        else if (tag != T_BODY && tag != T_HTML && !(kinds & TABLE_PART))
            end_in_body(s);
        return;
    case IN_COLGROUP:
        if (tag == T_TEMPLATE)
            end_template(s);
        else if (tag != T_COL && end_colgroup(s) && tag != T_COLGROUP)
            end_html(s, s->mode);
        return;
    case IN_TABLE_BODY:
        if (kinds & SECTION) {
            if (in_scope(s, tag, TABLE_SCOPE))
                end_section(s);
        }
        else if (tag == T_TABLE) {
            if (end_section(s))
                end_html(s, s->mode);
        }
        else
            end_in_table(s);
        return;
    case IN_ROW:
        if (tag == T_TR)
            end_row(s);
        else if (tag == T_TABLE || kinds & SECTION) {
            if ((tag == T_TABLE || in_scope(s, tag, TABLE_SCOPE)) && end_row(s))
                end_html(s, s->mode);
        }
        else
            end_in_table(s);
        return;
    case IN_CELL:
        if (tag == T_TD || tag == T_TH) {
            if (in_scope(s, tag, DEFAULT_SCOPE)) {
                pop_through(s, tag);
                clear_to_marker(s);
                s->mode = IN_ROW;
            }
        }
        else if (tag == T_TABLE || tag == T_TR || kinds & SECTION) {
            if (in_scope(s, tag, TABLE_SCOPE)) {
                close_cell(s);
                end_html(s, s->mode);
            }
        }
        else if (tag != T_BODY && tag != T_HTML && !(kinds & TABLE_PART))
            end_in_body(s);
        return;
    case IN_TEMPLATE:
        if (tag == T_TEMPLATE)
            end_template(s);
        return;
    case AFTER_BODY:
        if (tag == T_HTML)
            s->mode = AFTER_AFTER_BODY;
        else {
            s->mode = IN_BODY;
            end_html(s, s->mode);
        }
        return;
    case AFTER_AFTER_BODY:
        s->mode = IN_BODY;
        end_html(s, s->mode);
        return;
    case IN_FRAMESET:
        if (tag == T_FRAMESET && s->depth > 1) {
            pop(s);
            if (!is_open(&TOP(s), T_FRAMESET))
                s->mode = AFTER_FRAMESET;
        }
        return;
    case AFTER_FRAMESET:
        if (tag == T_HTML)
            s->mode = AFTER_AFTER_FRAMESET;
        return;
    }
}
