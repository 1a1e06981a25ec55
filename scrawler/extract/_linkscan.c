/* The compiled form of the link scanner; `treeless.py` is the same algorithm in Python, and says what it does and why.
 *
 * scan(page, flags, entities) -> (hrefs, others, deep)
 *
 * The page is passed over once, without a Python object: the tokenizer of the HTML Standard (13.2.5), and of its tree
 * construction (13.2.6) the stack of open elements, the list of active formatting elements and the insertion modes, but
 * no tree. What it finds is noted as places in the page; strings are made of them at the end. References to Python
 * objects are held only by the caller's arguments during the first part, and only by the lists made in the second.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <string.h>

#define DEEPEST 5000             /* open elements that are followed; also in treeless.py */
#define MOST_ATTRIBUTES 1000     /* of one tag of a page that is not called deep; also in treeless.py */
#define STEPS_A_BYTE 64          /* that may be gone over the stack and the list of formatting elements; the same */
#define STEPS_AT_LEAST 1000000   /* the same */
#define COMPARED_A_STEP 16       /* bytes of the attributes of two formatting elements; the same */
#define FIRST_OPEN 64            /* open elements for which there is room from the start */
#define UNLOCKED_FROM 262144     /* bytes of a page during whose scan other threads may run Python */
#define MADE_AT_ONCE 8192        /* elements whose strings are made before others may run */

/* ---- names of tags -------------------------------------------------------------------------------------------- */

enum { /* kinds of tags, as bits */
    SPECIAL = 1,      /* 13.2.4.2, "special" */
    SCOPE = 2,        /* ends the search of an element in scope */
    IMPLIED = 4,      /* has an implied end tag */
    FORMATTING = 8,   /* goes into the list of active formatting elements */
    BREAKOUT = 16,    /* ends foreign content */
    TABLE_PART = 32,  /* caption, col, colgroup, tbody, td, tfoot, th, thead, tr */
    HEADED = 64,      /* in the body processed as in the head */
    BLOCK = 128,      /* start tags close a p, end tags what is open inside */
    HEADING = 256,
    MATH_TEXT = 512,  /* a MathML text integration point, if it is MathML */
    SECTION = 1024,   /* tbody, tfoot, thead */
};

#define TAGS(X)                                                                                                        \
    X(A, "a", FORMATTING) X(ADDRESS, "address", SPECIAL | BLOCK) X(ANNOTATION_XML, "annotation-xml", 0)                \
    X(APPLET, "applet", SPECIAL | SCOPE) X(AREA, "area", SPECIAL) X(ARTICLE, "article", SPECIAL | BLOCK)               \
    X(ASIDE, "aside", SPECIAL | BLOCK) X(B, "b", FORMATTING | BREAKOUT) X(BASE, "base", SPECIAL | HEADED)              \
    X(BASEFONT, "basefont", SPECIAL | HEADED) X(BGSOUND, "bgsound", SPECIAL | HEADED)                                  \
    X(BIG, "big", FORMATTING | BREAKOUT) X(BLOCKQUOTE, "blockquote", SPECIAL | BLOCK | BREAKOUT)                       \
    X(BODY, "body", SPECIAL | BREAKOUT) X(BR, "br", SPECIAL | BREAKOUT) X(BUTTON, "button", SPECIAL)                   \
    X(CAPTION, "caption", SPECIAL | SCOPE | TABLE_PART) X(CENTER, "center", SPECIAL | BLOCK | BREAKOUT)                \
    X(CODE, "code", FORMATTING | BREAKOUT) X(COL, "col", SPECIAL | TABLE_PART)                                         \
    X(COLGROUP, "colgroup", SPECIAL | TABLE_PART) X(DD, "dd", SPECIAL | IMPLIED | BREAKOUT) X(DESC, "desc", 0)         \
    X(DETAILS, "details", SPECIAL | BLOCK) X(DIALOG, "dialog", BLOCK) X(DIR, "dir", SPECIAL | BLOCK)                   \
    X(DIV, "div", SPECIAL | BLOCK | BREAKOUT) X(DL, "dl", SPECIAL | BLOCK | BREAKOUT)                                  \
    X(DT, "dt", SPECIAL | IMPLIED | BREAKOUT) X(EM, "em", FORMATTING | BREAKOUT) X(EMBED, "embed", SPECIAL | BREAKOUT) \
    X(FIELDSET, "fieldset", SPECIAL | BLOCK) X(FIGCAPTION, "figcaption", SPECIAL | BLOCK)                              \
    X(FIGURE, "figure", SPECIAL | BLOCK) X(FONT, "font", FORMATTING) X(FOOTER, "footer", SPECIAL | BLOCK)              \
    X(FOREIGN_OBJECT, "foreignobject", 0) X(FORM, "form", SPECIAL) X(FRAME, "frame", SPECIAL)                          \
    X(FRAMESET, "frameset", SPECIAL) X(H1, "h1", SPECIAL | HEADING | BREAKOUT)                                         \
    X(H2, "h2", SPECIAL | HEADING | BREAKOUT) X(H3, "h3", SPECIAL | HEADING | BREAKOUT)                                \
    X(H4, "h4", SPECIAL | HEADING | BREAKOUT) X(H5, "h5", SPECIAL | HEADING | BREAKOUT)                                \
    X(H6, "h6", SPECIAL | HEADING | BREAKOUT) X(HEAD, "head", SPECIAL | BREAKOUT)                                      \
    X(HEADER, "header", SPECIAL | BLOCK) X(HGROUP, "hgroup", SPECIAL | BLOCK) X(HR, "hr", SPECIAL | BREAKOUT)          \
    X(HTML, "html", SPECIAL | SCOPE) X(I, "i", FORMATTING | BREAKOUT) X(IFRAME, "iframe", SPECIAL)                     \
    X(IMAGE, "image", 0) X(IMG, "img", SPECIAL | BREAKOUT) X(INPUT, "input", SPECIAL) X(KEYGEN, "keygen", SPECIAL)     \
    X(LI, "li", SPECIAL | IMPLIED | BREAKOUT) X(LINK, "link", SPECIAL | HEADED)                                        \
    X(LISTING, "listing", SPECIAL | BLOCK | BREAKOUT) X(MAIN, "main", SPECIAL | BLOCK)                                 \
    X(MALIGNMARK, "malignmark", 0) X(MARQUEE, "marquee", SPECIAL | SCOPE) X(MATH, "math", 0)                           \
    X(MENU, "menu", SPECIAL | BLOCK | BREAKOUT) X(META, "meta", SPECIAL | HEADED | BREAKOUT) X(MGLYPH, "mglyph", 0)    \
    X(MI, "mi", MATH_TEXT) X(MN, "mn", MATH_TEXT) X(MO, "mo", MATH_TEXT) X(MS, "ms", MATH_TEXT)                        \
    X(MTEXT, "mtext", MATH_TEXT) X(NAV, "nav", SPECIAL | BLOCK) X(NOBR, "nobr", FORMATTING | BREAKOUT)                 \
    X(NOEMBED, "noembed", SPECIAL) X(NOFRAMES, "noframes", SPECIAL | HEADED) X(NOSCRIPT, "noscript", SPECIAL)          \
    X(OBJECT, "object", SPECIAL | SCOPE) X(OL, "ol", SPECIAL | BLOCK | BREAKOUT) X(OPTGROUP, "optgroup", IMPLIED)      \
    X(OPTION, "option", IMPLIED) X(P, "p", SPECIAL | IMPLIED | BLOCK | BREAKOUT) X(PARAM, "param", SPECIAL)            \
    X(PLAINTEXT, "plaintext", SPECIAL) X(PRE, "pre", SPECIAL | BLOCK | BREAKOUT) X(RB, "rb", IMPLIED)                  \
    X(RP, "rp", IMPLIED) X(RT, "rt", IMPLIED) X(RTC, "rtc", IMPLIED) X(RUBY, "ruby", BREAKOUT)                         \
    X(S, "s", FORMATTING | BREAKOUT) X(SCRIPT, "script", SPECIAL | HEADED) X(SEARCH, "search", SPECIAL | BLOCK)        \
    X(SECTION_, "section", SPECIAL | BLOCK) X(SELECT, "select", SPECIAL | SCOPE)                                       \
    X(SMALL, "small", FORMATTING | BREAKOUT) X(SOURCE, "source", SPECIAL) X(SPAN, "span", BREAKOUT)                    \
    X(STRIKE, "strike", FORMATTING | BREAKOUT) X(STRONG, "strong", FORMATTING | BREAKOUT)                              \
    X(STYLE, "style", SPECIAL | HEADED) X(SUB, "sub", BREAKOUT) X(SUMMARY, "summary", SPECIAL | BLOCK)                 \
    X(SUP, "sup", BREAKOUT) X(SVG, "svg", 0) X(TABLE, "table", SPECIAL | SCOPE | BREAKOUT)                             \
    X(TBODY, "tbody", SPECIAL | TABLE_PART | SECTION) X(TD, "td", SPECIAL | SCOPE | TABLE_PART)                        \
    X(TEMPLATE, "template", SPECIAL | SCOPE | HEADED) X(TEXTAREA, "textarea", SPECIAL)                                 \
    X(TFOOT, "tfoot", SPECIAL | TABLE_PART | SECTION) X(TH, "th", SPECIAL | SCOPE | TABLE_PART)                        \
    X(THEAD, "thead", SPECIAL | TABLE_PART | SECTION) X(TITLE, "title", SPECIAL | HEADED)                              \
    X(TR, "tr", SPECIAL | TABLE_PART) X(TRACK, "track", SPECIAL) X(TT, "tt", FORMATTING | BREAKOUT)                    \
    X(U, "u", FORMATTING | BREAKOUT) X(UL, "ul", SPECIAL | BLOCK | BREAKOUT) X(VAR, "var", BREAKOUT)                   \
    X(VIDEO, "video", 0) X(WBR, "wbr", SPECIAL) X(XMP, "xmp", SPECIAL)

enum {
    OTHER, /* a tag without a rule of its own */
#define X(name, text, kinds) T_##name,
    TAGS(X)
#undef X
    TAG_COUNT
};

static const uint16_t KINDS[TAG_COUNT] = {
    0,
#define X(name, text, kinds) kinds,
    TAGS(X)
#undef X
};

static const char *const TAG_NAMES[TAG_COUNT] = {
    "",
#define X(name, text, kinds) text,
    TAGS(X)
#undef X
};

/* A name as one number: its bytes if there are at most 8 of them (NUL is not among them), else a hash of 63 bits. */
typedef uint64_t Name;
#define LONG_NAME ((Name)1 << 63)
#define HASH_SEED 0xcbf29ce484222325u
#define HASH_STEP(hash, byte) (((hash) ^ (byte)) * 0x100000001b3u)

#define NAME_SLOTS 1024
#define SLOT(name) ((size_t)(((name) * 0x9e3779b97f4a7c15u) >> 54))
static struct { Name name; uint8_t tag; } tag_slots[NAME_SLOTS];

enum { /* attributes that say something, and their bits */
    HREF, SRC, REL, TYPE, AS, HTTP_EQUIV, CONTENT, NAME, SRCSET, POSTER, ENCODING, COLOR, FACE, SIZE, ATTRIBUTE_COUNT
};
static const char *const ATTRIBUTE_NAMES[ATTRIBUTE_COUNT] = {
    "href", "src", "rel", "type", "as", "http-equiv", "content", "name", "srcset", "poster", "encoding", "color",
    "face", "size",
};
#define BIT(attribute) (1u << (attribute))
static Name attribute_names[ATTRIBUTE_COUNT];
static PyObject *attribute_strings[ATTRIBUTE_COUNT];
static PyObject *tag_strings[TAG_COUNT];

enum { WITH_ASSETS = 1, WITH_REL = 2 }; /* flags of scan() */

enum { C_SPACE = 1, C_NAME_END = 2, C_ATTRIBUTE_END = 4, C_BARE_END = 8, C_ALPHA = 16 };
static uint8_t CLASS[256];
static uint8_t LOWER[256];

/* ---- what is found ------------------------------------------------------------------------------------------------ */

typedef struct { Py_ssize_t begin, length; } Span;

typedef struct {
    uint8_t tag, in_template, in_head;
    uint32_t attributes; /* bits */
    size_t first;        /* of its spans, in the order of the bits */
} Found;

/* ---- the state of a scan ------------------------------------------------------------------------------------------ */

enum { HTML_NS, MATH_NS, SVG_NS };

enum { /* flags of an open element */
    E_SPECIAL = 1, E_SCOPE = 2, E_MATH_TEXT = 4, E_HTML_POINT = 8, E_LISTED = 16
};

enum Mode {
    BEFORE_HTML, BEFORE_HEAD, IN_HEAD, IN_HEAD_NOSCRIPT, AFTER_HEAD, IN_BODY, IN_TABLE, IN_CAPTION, IN_COLGROUP,
    IN_TABLE_BODY, IN_ROW, IN_CELL, IN_TEMPLATE, AFTER_BODY, IN_FRAMESET, AFTER_FRAMESET, AFTER_AFTER_BODY,
    AFTER_AFTER_FRAMESET
};

typedef struct {
    Name name;
    uint32_t id;
    uint8_t tag, ns, flags;
    uint8_t mode; /* of a template */
} Element;

typedef struct { /* an active formatting element, or a marker (id 0) */
    Span source;         /* of its attributes */
    size_t first;        /* as in Found */
    uint32_t attributes; /* the same; 0 for what is no link */
    uint32_t id;
    uint8_t tag, open;
} Formatting;

typedef struct {
    const uint8_t *page, *end, *at;
    int flags;

    /* the token */
    Name name;
    uint8_t tag, self_closing;
    uint32_t attributes; /* bits of those that were noted */
    Span values[ATTRIBUTE_COUNT];
    Span source;

    /* the tree builder */
    Element *open;
    size_t depth, open_room;
    Formatting *listed;
    size_t listed_count, listed_room;
    uint32_t counts[TAG_COUNT]; /* of open HTML elements */
    uint32_t last_id, form;
    int mode, templates;
    uint8_t frameset_ok, head_seen, has_copies, quirks, reopen, into_head, flat, deep, plaintext, failed;
    uint8_t raw; /* the tag whose text comes next */
    uint64_t steps, most_steps;

    /* what was found */
    Found *found;
    size_t found_count, found_room, found_in_head;
    Span *spans;
    size_t span_count, span_room;
} Scan;

/* PyMem_Raw*, for they need no GIL; they give no more than PY_SSIZE_T_MAX bytes, so twice as many are a size_t. */
static int grow(void **items, size_t *room, size_t size, size_t least)
{
    size_t more = *room ? *room * 2 : least;
    void *moved = PyMem_RawRealloc(*items, more * size);
    if (!moved)
        return 0;
    *items = moved;
    *room = more;
    return 1;
}

/* ---- open elements ------------------------------------------------------------------------------------------------ */

#define TOP(s) ((s)->open[(s)->depth - 1])

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

static int room_for_found(Scan *s)
{
    if ((s->found_count < s->found_room || grow((void **)&s->found, &s->found_room, sizeof(Found), 256))
        && (s->span_count + ATTRIBUTE_COUNT <= s->span_room
            || grow((void **)&s->spans, &s->span_room, sizeof(Span), 512)))
        return 1;
    s->failed = 1;
    return 0;
}

/* Note the element of the start tag if it says something. */
static void emit(Scan *s, int tag)
{
    uint32_t a = s->attributes, assets = s->flags & WITH_ASSETS;
    switch (tag) {
    case T_A: case T_AREA: case T_BASE: if (!(a & BIT(HREF))) return; break;
    case T_LINK: if (!(a & BIT(HREF)) || !(a & BIT(REL))) return; break;
    case T_IFRAME: case T_FRAME: if (!(a & BIT(SRC))) return; break;
    case T_META: if (!(a & (BIT(HTTP_EQUIV) | BIT(NAME)))) return; break;
    case T_IMG: if (!assets || !(a & (BIT(SRC) | BIT(SRCSET)))) return; break;
    case T_INPUT: case T_SCRIPT: if (!assets || !(a & BIT(SRC))) return; break;
    case T_SOURCE: if (!assets || !(a & BIT(SRCSET))) return; break;
    case T_VIDEO: if (!assets || !(a & BIT(POSTER))) return; break;
    default: return;
    }
    if (!room_for_found(s))
        return;
    int in_head = 0;
    if (tag == T_LINK && s->depth && !s->flat) {
        Element *e = &TOP(s);
        if (e->ns == HTML_NS && e->tag == T_NOSCRIPT && s->depth > 1)
            e--;
        in_head = e->ns == HTML_NS && e->tag == T_HEAD;
    }
    s->found[s->found_count++] = (Found){(uint8_t)tag, s->templates > 0, (uint8_t)in_head, a, s->span_count};
    for (int i = 0; i < ATTRIBUTE_COUNT; i++)
        if (a & BIT(i))
            s->spans[s->span_count++] = s->values[i];
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

/* ---- active formatting elements ----------------------------------------------------------------------------------- */

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

/* A copy of a formatting element comes into the tree; if it is a link, the page has one more. */
static void emit_copy(Scan *s, const Formatting *f)
{
    if (f->attributes && room_for_found(s)) {
        s->has_copies = 1;
        s->found[s->found_count++] = (Found){f->tag, s->templates > 0, 0, f->attributes, f->first};
    }
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
    for (i = 0; i < s->listed_count; i++) /* those before a marker may wait on */
        if (s->listed[i].id && !s->listed[i].open)
            s->reopen = 1;
    walked(s, s->listed_count);
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

static Py_ssize_t find_listed(Scan *s, uint32_t id)
{
    for (size_t i = s->listed_count; i-- > 0;)
        if (s->listed[i].id == id)
            return (Py_ssize_t)i;
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

/* 13.2.6.4.7, the adoption agency algorithm. */
static void adopt(Scan *s, int tag)
{
    if (is_open(&TOP(s), tag)) {
        size_t n = s->listed_count;
        if (n && s->listed[n - 1].id == TOP(s).id) { /* as in nearly all pages */
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
                return; /* not in scope */
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

/* ---- tree construction: what start and end tags do, without a tree --------------------------------------------- */

static void start_html(Scan *s, int mode);
static void end_html(Scan *s, int mode);

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
    s->found_count = s->found_in_head; /* the body goes, with all that is in it */
    push_html(s, T_FRAMESET);
    s->mode = IN_FRAMESET;
}

static void insert_foreign(Scan *s, int ns)
{
    emit(s, s->tag);
    if (s->self_closing)
        return;
    int flags = 0;
    if (ns == MATH_NS && KINDS[s->tag] & MATH_TEXT)
        flags = E_SPECIAL | E_SCOPE | E_MATH_TEXT;
    else if (ns == MATH_NS && s->tag == T_ANNOTATION_XML) {
        flags = E_SPECIAL | E_SCOPE;
        const Span *v = &s->values[ENCODING];
        if (s->attributes & BIT(ENCODING)) {
            const char *value = (const char *)s->page + v->begin;
            if ((v->length == 9 && !PyOS_strnicmp(value, "text/html", 9))
                || (v->length == 21 && !PyOS_strnicmp(value, "application/xhtml+xml", 21)))
                flags |= E_HTML_POINT;
        }
    }
    else if (ns == SVG_NS && (s->tag == T_FOREIGN_OBJECT || s->tag == T_DESC || s->tag == T_TITLE))
        flags = E_SPECIAL | E_SCOPE | E_HTML_POINT;
    push_as(s, s->tag, s->name, ns, flags);
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

/* ---- foreign content (13.2.6.5) ----------------------------------------------------------------------------------- */

static void leave_foreign(Scan *s)
{
    while (s->depth && TOP(s).ns != HTML_NS && !(TOP(s).flags & (E_MATH_TEXT | E_HTML_POINT)))
        pop(s);
}

/* What is left of the rules once the stack is given up: raw text, and templates by their number. */
static void start_flat(Scan *s)
{
    switch (s->tag) {
    case T_TITLE: case T_NOFRAMES: case T_STYLE: case T_SCRIPT: case T_TEXTAREA: case T_IFRAME: case T_NOEMBED:
    case T_XMP:
        insert_raw(s, s->tag);
        return;
    case T_TEMPLATE:
        s->templates++;
        return;
    case T_PLAINTEXT:
        s->plaintext = 1;
        return;
    }
    emit(s, s->tag == T_IMAGE ? T_IMG : s->tag);
}

static void start_tag(Scan *s)
{
    if (s->flat) {
        start_flat(s);
        return;
    }
    if (s->depth && TOP(s).ns != HTML_NS) {
        const Element *e = &TOP(s);
        int as_html = e->flags & E_HTML_POINT
            || (e->flags & E_MATH_TEXT && s->tag != T_MGLYPH && s->tag != T_MALIGNMARK)
            || (e->ns == MATH_NS && e->tag == T_ANNOTATION_XML && s->tag == T_SVG);
        if (!as_html) {
            if (KINDS[s->tag] & BREAKOUT
                || (s->tag == T_FONT && s->attributes & (BIT(COLOR) | BIT(FACE) | BIT(SIZE))))
                leave_foreign(s);
            else {
                insert_foreign(s, e->ns);
                return;
            }
        }
    }
    start_html(s, s->mode);
}

static void end_tag(Scan *s)
{
    if (s->flat) {
        if (s->tag == T_TEMPLATE && s->templates)
            s->templates--;
        return;
    }
    if (s->depth && TOP(s).ns != HTML_NS) {
        if (s->tag == T_BR || s->tag == T_P)
            leave_foreign(s);
        else {
            size_t i = s->depth - 1;
            while (i > 0 && s->open[i].ns != HTML_NS && s->open[i].name != s->name)
                i--;
            walked(s, s->depth - i);
            if (s->open[i].ns != HTML_NS) {
                pop_to(s, i);
                return;
            }
        }
    }
    end_html(s, s->mode);
}

/* ---- text --------------------------------------------------------------------------------------------------------- */

/* Text that is not only white space. */
static void letters(Scan *s, int ends_nothing)
{
    if (s->flat)
        return;
    if (s->depth && TOP(s).ns != HTML_NS && !(TOP(s).flags & (E_MATH_TEXT | E_HTML_POINT))) {
        s->frameset_ok &= (uint8_t)ends_nothing;
        return;
    }
    for (;;)
        switch (s->mode) {
        case BEFORE_HTML:
            push_html(s, T_HTML);
            s->mode = BEFORE_HEAD;
            break;
        case BEFORE_HEAD:
            push_html(s, T_HEAD);
            s->head_seen = 1;
            s->mode = IN_HEAD;
            break;
        case IN_HEAD:
            pop(s);
            s->mode = AFTER_HEAD;
            break;
        case IN_HEAD_NOSCRIPT:
            pop(s);
            s->mode = IN_HEAD;
            break;
        case AFTER_HEAD:
            begin_body(s);
            break;
        case AFTER_BODY: case AFTER_AFTER_BODY:
            s->mode = IN_BODY;
            break;
        case IN_COLGROUP:
            if (!end_colgroup(s))
                return;
            break;
        case IN_FRAMESET: case AFTER_FRAMESET: case AFTER_AFTER_FRAMESET:
            return;
        default:
            if (ends_nothing) /* only NUL, which is dropped here */
                return;
            reconstruct(s);
            s->frameset_ok = 0;
            return;
        }
}

static void spaces(Scan *s)
{
    if (s->flat || !s->reopen)
        return;
    switch (s->mode) {
    case IN_TABLE: case IN_TABLE_BODY: case IN_ROW:
        if (TOP(s).ns == HTML_NS && (KINDS[TOP(s).tag] & SECTION || TOP(s).tag == T_TABLE || TOP(s).tag == T_TR))
            return; /* fall through */
    case IN_BODY: case IN_CAPTION: case IN_CELL: case IN_TEMPLATE: case AFTER_BODY: case AFTER_AFTER_BODY:
    case AFTER_AFTER_FRAMESET:
        if (TOP(s).ns == HTML_NS || TOP(s).flags & (E_MATH_TEXT | E_HTML_POINT))
            reconstruct(s);
    }
}

/* Return the length of a character reference to white space at `at`, 0 if there is none. */
static size_t space_reference(const uint8_t *at, const uint8_t *end)
{
    static const char *const names[] = {"&Tab;", "&NewLine;"};
    for (int i = 0; i < 2; i++) {
        size_t length = strlen(names[i]);
        if ((size_t)(end - at) >= length && !memcmp(at, names[i], length))
            return length;
    }
    const uint8_t *p = at + 1;
    if (p >= end || *p++ != '#')
        return 0;
    int hex = p < end && (*p | 32) == 'x';
    p += hex;
    const uint8_t *digits = p;
    uint32_t code = 0;
    for (; p < end; p++) {
        int c = *p | 32, digit = *p >= '0' && *p <= '9' ? *p - '0' : hex && c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0)
            break;
        if (code < 0x110000)
            code = code * (hex ? 16 : 10) + (uint32_t)digit;
    }
    if (p == digits || !(code == 9 || code == 10 || code == 12 || code == 13 || code == 32))
        return 0;
    return (size_t)(p - at) + (p < end && *p == ';');
}

/* A run of text; `decode`: it may hold character references. */
static void text(Scan *s, const uint8_t *at, const uint8_t *end, int decode)
{
    if (!s->frameset_ok && !s->reopen
        && (s->mode == IN_BODY || s->mode == IN_CELL || s->mode == IN_TABLE || s->mode == IN_ROW
            || s->mode == IN_TABLE_BODY || s->mode == IN_CAPTION))
        return;
    while (at < end) {
        size_t length;
        if (CLASS[*at] & C_SPACE) {
            spaces(s);
            while (at < end && CLASS[*at] & C_SPACE)
                at++;
        }
        else if (!*at) {
            letters(s, 1);
            at++;
        }
        else if (decode && *at == '&' && (length = space_reference(at, end))) {
            spaces(s);
            at += length;
        }
        else {
            letters(s, 0);
            if (s->mode != IN_COLGROUP)
                return;
            at++; /* each is dropped by itself */
        }
    }
}

/* ---- the tokenizer (13.2.5) --------------------------------------------------------------------------------------- */

static uint32_t wanted_attributes(const Scan *s)
{
    uint32_t assets = s->flags & WITH_ASSETS;
    switch (s->tag) {
    case T_A: case T_AREA: return BIT(HREF) | (s->flags & WITH_REL ? BIT(REL) : 0);
    case T_LINK: return BIT(HREF) | BIT(REL) | BIT(TYPE) | BIT(AS);
    case T_META: return BIT(HTTP_EQUIV) | BIT(CONTENT) | BIT(NAME);
    case T_BASE: return BIT(HREF);
    case T_IFRAME: case T_FRAME: return BIT(SRC);
    case T_IMG: case T_IMAGE: return assets ? BIT(SRC) | BIT(SRCSET) : 0;
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

/* Return the place of the next "</name" at or after `p` that ends raw text, or the end. */
static const uint8_t *find_raw_end(const uint8_t *p, const uint8_t *end, const char *name, size_t length)
{
    while ((p = memchr(p, '<', (size_t)(end - p)))) {
        if ((size_t)(end - p) > length + 2 && p[1] == '/' && !PyOS_strnicmp((const char *)p + 2, name, (Py_ssize_t)length)
            && CLASS[p[2 + length]] & C_NAME_END)
            return p;
        p++;
    }
    return end;
}

static inline int begins_with_script(const uint8_t *p, const uint8_t *end)
{
    return end - p > 6 && !PyOS_strnicmp((const char *)p, "script", 6) && CLASS[p[6]] & C_NAME_END;
}

/* The same for scripts, in which a comment can hide "</script>" (13.2.5.15 to 31). */
static const uint8_t *find_script_end(const uint8_t *p, const uint8_t *end)
{
    enum { PLAIN, ESCAPED, DOUBLE } state = PLAIN;
    while (p < end) {
        if (state == PLAIN) {
            p = memchr(p, '<', (size_t)(end - p));
            if (!p)
                return end;
        }
        if (state != PLAIN && *p == '-') {
            if (end - p > 2 && p[1] == '-') {
                const uint8_t *q = p + 2;
                while (q < end && *q == '-')
                    q++;
                if (q < end && *q == '>')
                    state = PLAIN;
                p = q;
                continue;
            }
            p++;
            continue;
        }
        if (*p != '<') {
            p++;
            continue;
        }
        if (end - p > 1 && p[1] == '/' && begins_with_script(p + 2, end)) {
            if (state != DOUBLE)
                return p;
            state = ESCAPED;
            p += 9;
            continue;
        }
        if (state == PLAIN && end - p > 3 && !memcmp(p + 1, "!--", 3)) {
            state = ESCAPED;
            p += 2; /* the dashes may be those of "-->" too */
            continue;
        }
        if (state == ESCAPED && begins_with_script(p + 1, end)) {
            state = DOUBLE;
            p += 8;
            continue;
        }
        p++;
    }
    return end;
}

/* Return the place after a comment whose text begins at `p`, or the end. */
static const uint8_t *skip_comment(const uint8_t *p, const uint8_t *end)
{
    if (p < end && *p == '>')
        return p + 1;
    if (end - p > 1 && p[0] == '-' && p[1] == '>')
        return p + 2;
    while ((p = memchr(p, '-', (size_t)(end - p)))) {
        if (end - p > 2 && p[1] == '-') {
            if (p[2] == '>')
                return p + 3;
            if (p[2] == '!' && end - p > 3 && p[3] == '>')
                return p + 4;
        }
        p++;
    }
    return end;
}

static const uint8_t *skip_to(const uint8_t *p, const uint8_t *end, int byte)
{
    const uint8_t *found = memchr(p, byte, (size_t)(end - p));
    return found ? found + 1 : end;
}

static int contains(const uint8_t *at, const uint8_t *end, const char *what)
{
    size_t length = strlen(what);
    for (; (size_t)(end - at) >= length; at++)
        if (!PyOS_strnicmp((const char *)at, what, (Py_ssize_t)length))
            return 1;
    return 0;
}

/* In quirks mode a table does not close a paragraph; which document types ask for it is told roughly. */
static const uint8_t *read_doctype(Scan *s, const uint8_t *p)
{
    const uint8_t *after = skip_to(p, s->end, '>'), *stop = after - p > 512 ? p + 512 : after;
    if (s->mode == BEFORE_HTML && !s->depth && s->quirks == 2)
        s->quirks = contains(p, stop, "public") && !contains(p, stop, "xhtml 1.") && !contains(p, stop, "html 4.01");
    return after;
}

static const uint8_t *read_markup(Scan *s, const uint8_t *p) /* after "<!" */
{
    const uint8_t *end = s->end;
    if (end - p >= 2 && p[0] == '-' && p[1] == '-')
        return skip_comment(p + 2, end);
    if (end - p >= 7 && !PyOS_strnicmp((const char *)p, "doctype", 7))
        return read_doctype(s, p + 7);
    if (end - p >= 7 && !memcmp(p, "[CDATA[", 7) && s->depth && TOP(s).ns != HTML_NS && !s->flat) {
        const uint8_t *begin = p += 7;
        while ((p = memchr(p, ']', (size_t)(end - p)))) {
            if (end - p > 2 && p[1] == ']' && p[2] == '>')
                break;
            p++;
        }
        text(s, begin, p ? p : end, 0);
        return p ? p + 3 : end;
    }
    return skip_to(p, end, '>');
}

/* Read a start or end tag whose name begins at `p`; returns the place after it, or the end. */
static const uint8_t *read_tag(Scan *s, const uint8_t *p, int is_end)
{
    p = read_name(s, p);
    p = read_attributes(s, p, is_end ? 0 : wanted_attributes(s));
    if (!p)
        return s->end; /* browsers drop a tag in which the page ends */
    if (s->mode == BEFORE_HTML && s->quirks == 2)
        s->quirks = 1;
    if (is_end) {
        end_tag(s);
        return p;
    }
    start_tag(s);
    if (s->plaintext) {
        text(s, p, s->end, 0);
        return s->end;
    }
    if (s->raw) {
        const char *name = TAG_NAMES[s->raw];
        int raw = s->raw;
        s->raw = 0;
        p = raw == T_SCRIPT ? find_script_end(p, s->end) : find_raw_end(p, s->end, name, strlen(name));
        if (p < s->end) {
            p = read_name(s, p + 2);
            p = read_attributes(s, p, 0);
            return p ? p : s->end;
        }
    }
    return p;
}

static void scan_page(Scan *s)
{
    const uint8_t *p = s->page, *end = s->end;
    while (p < end && !s->failed) {
        const uint8_t *bracket = *p == '<' ? p : memchr(p, '<', (size_t)(end - p));
        if (!bracket)
            bracket = end;
        if (bracket > p) {
            text(s, p, bracket, 1);
            p = bracket;
            if (p == end)
                return;
        }
        int c = p + 1 < end ? p[1] : 0;
        if (CLASS[c] & C_ALPHA)
            p = read_tag(s, p + 1, 0);
        else if (c == '/') {
            if (p + 2 >= end)
                text(s, p, end, 1), p = end;
            else if (CLASS[p[2]] & C_ALPHA)
                p = read_tag(s, p + 2, 1);
            else
                p = skip_to(p + 2, end, '>');
        }
        else if (c == '!')
            p = read_markup(s, p + 2);
        else if (c == '?')
            p = skip_to(p + 2, end, '>');
        else {
            text(s, p, p + 1, 1);
            p++;
        }
    }
}

/* ---- from places to strings --------------------------------------------------------------------------------------- */

static const uint16_t WINDOWS_1252[32] = {
    0x20ac, 0x81, 0x201a, 0x192, 0x201e, 0x2026, 0x2020, 0x2021, 0x2c6, 0x2030, 0x160, 0x2039, 0x152, 0x8d, 0x17d,
    0x8f, 0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x2dc, 0x2122, 0x161, 0x203a, 0x153, 0x9d,
    0x17e, 0x178,
};

static size_t put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t length = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = length; i-- > 1; c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)((0xf00 >> length & 0xff) | c);
    return length;
}

/* Decode a numeric reference behind "&#"; returns how many bytes of it were read, 0 for none. */
static size_t number_reference(const char *p, const char *end, uint32_t *code)
{
    const char *begin = p;
    int hex = p < end && (*p | 32) == 'x';
    p += hex;
    const char *digits = p;
    uint32_t c = 0;
    for (; p < end; p++) {
        int l = *p | 32, digit = *p >= '0' && *p <= '9' ? *p - '0' : hex && l >= 'a' && l <= 'f' ? l - 'a' + 10 : -1;
        if (digit < 0)
            break;
        if (c < 0x110000)
            c = c * (hex ? 16 : 10) + (uint32_t)digit;
    }
    if (p == digits)
        return 0;
    if (!c || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        c = 0xfffd;
    else if (c >= 0x80 && c < 0xa0)
        c = WINDOWS_1252[c - 0x80];
    *code = c;
    return (size_t)(p - begin) + (p < end && *p == ';');
}

/* Copy a value with its references decoded, NUL replaced and line ends made LF. `room` is 3 bytes a byte of it. */
static Py_ssize_t decode_value(const char *p, const char *end, char *out, PyObject *entities)
{
    char *begin = out;
    while (p < end) {
        if (!*p) {
            out += put_utf8(out, 0xfffd);
            p++;
            continue;
        }
        if (*p == '\r') {
            *out++ = '\n';
            p += 1 + (p + 1 < end && p[1] == '\n');
            continue;
        }
        if (*p != '&') {
            *out++ = *p++;
            continue;
        }
        uint32_t code = 0;
        size_t used;
        if (end - p > 1 && p[1] == '#' && (used = number_reference(p + 2, end, &code))) {
            out += put_utf8(out, code);
            p += used + 2;
            continue;
        }
        const char *name = p + 1, *stop = name;
        while (stop < end && stop - name < 64 && Py_ISALNUM(*stop))
            stop++;
        if (stop < end && *stop == ';')
            stop++;
        else if (stop < end && (*stop == '=' || Py_ISALNUM(*stop)))
            stop = name; /* ?a=1&copy=2 */
        if (stop == name) {
            *out++ = *p++;
            continue;
        }
        if (stop - name == 4 && !memcmp(name, "amp;", 4)) {
            *out++ = '&';
            p = stop;
            continue;
        }
        PyObject *key = PyUnicode_DecodeASCII(name, stop - name, NULL);
        if (!key)
            return -1;
        PyObject *known = PyDict_GetItemWithError(entities, key); /* borrowed; nothing runs before its last use */
        Py_DECREF(key);
        if (!known && PyErr_Occurred())
            return -1;
        Py_ssize_t length = 0;
        const char *text = known ? PyUnicode_AsUTF8AndSize(known, &length) : NULL;
        if (known && !text)
            return -1;
        if (text && length <= 3 * (stop - p)) {
            memcpy(out, text, (size_t)length);
            out += length;
            p = stop;
        }
        else
            *out++ = *p++;
    }
    return out - begin;
}

static inline int is_blank(int byte) { return CLASS[(uint8_t)byte] & C_SPACE; }

/* Make the string of a value: references decoded, white space around it stripped. */
static PyObject *value_string(const Scan *s, Span span, PyObject *entities)
{
    const char *p = (const char *)s->page + span.begin, *end = p + span.length;
    char small[1024], *room = small, *large = NULL;
    size_t length = (size_t)span.length;
    if (length && (memchr(p, '&', length) || memchr(p, '\r', length) || memchr(p, 0, length))) {
        if (length > sizeof(small) / 3) {
            large = PyMem_Malloc(length * 3);
            if (!large)
                return PyErr_NoMemory();
            room = large;
        }
        Py_ssize_t decoded = decode_value(p, end, room, entities);
        if (decoded < 0) {
            PyMem_Free(large);
            return NULL;
        }
        p = room;
        end = room + decoded;
    }
    while (p < end && is_blank(*p))
        p++;
    while (p < end && is_blank(end[-1]))
        end--;
    PyObject *value = PyUnicode_DecodeUTF8(p, end - p, "replace");
    PyMem_Free(large);
    return value;
}

static PyObject *attributes_of(const Scan *s, const Found *f, PyObject *entities)
{
    PyObject *attributes = PyDict_New();
    if (!attributes)
        return NULL;
    const Span *span = &s->spans[f->first];
    for (int i = 0; i < ATTRIBUTE_COUNT; i++)
        if (f->attributes & BIT(i)) {
            PyObject *value = value_string(s, *span++, entities);
            if (!value || PyDict_SetItem(attributes, attribute_strings[i], value) < 0) {
                Py_XDECREF(value);
                Py_DECREF(attributes);
                return NULL;
            }
            Py_DECREF(value);
        }
    return attributes;
}

/* Make the lists that scan() returns. A copied link has the string of the first: a long one may be copied often. */
static PyObject *make_result(const Scan *s, PyObject *entities)
{
    PyObject *hrefs = PyList_New(0), *others = PyList_New(0);
    PyObject **made = s->has_copies ? PyMem_Calloc(s->span_count + 1, sizeof(PyObject *)) : NULL; /* the lists own them */
    int failed = !hrefs || !others;
    if (s->has_copies && !made) {
        PyErr_NoMemory();
        failed = 1;
    }
    for (size_t i = 0; i < s->found_count && !failed; i++) {
        const Found *f = &s->found[i];
        int plain = (f->tag == T_A || f->tag == T_AREA) && f->attributes == BIT(HREF);
        PyObject *item = made ? Py_XNewRef(made[f->first]) : NULL;
        if (!item)
            item = plain ? value_string(s, s->spans[f->first], entities) : attributes_of(s, f, entities);
        if (made)
            made[f->first] = item;
        if (item && !plain)
            item = Py_BuildValue("nONOO", PyList_GET_SIZE(hrefs), tag_strings[f->tag], item,
                                 f->in_template ? Py_True : Py_False, f->in_head ? Py_True : Py_False);
        failed = !item || PyList_Append(plain ? hrefs : others, item) < 0;
        Py_XDECREF(item);
        if (i % MADE_AT_ONCE == MADE_AT_ONCE - 1) {
            Py_BEGIN_ALLOW_THREADS
            Py_END_ALLOW_THREADS
        }
    }
    PyMem_Free(made);
    if (failed) {
        Py_XDECREF(hrefs);
        Py_XDECREF(others);
        return NULL;
    }
    return Py_BuildValue("NNO", hrefs, others, s->deep ? Py_True : Py_False);
}

PyDoc_STRVAR(scan_doc,
"scan(page, flags, entities) -> (hrefs, others, deep)\n\n"
"Scan a page, bytes in UTF-8. `flags`: 1 for assets too, 2 if links with a rel are to be judged by it. `entities`: the\n"
"named character references (html.entities.html5). `hrefs`: of a and area, in order. `others`: (number of hrefs before\n"
"it, tag, attributes, is in a template, is in the head) of what else says something. `deep`: a tree builder would have\n"
"taken too long; part of the page was read without looking at what is open.");

static PyObject *scan(PyObject *module, PyObject *args)
{
    (void)module;
    Py_buffer page;
    PyObject *entities;
    Scan s;
    memset(&s, 0, sizeof s);
    if (!PyArg_ParseTuple(args, "y*iO!:scan", &page, &s.flags, &PyDict_Type, &entities))
        return NULL;
    s.page = page.buf;
    s.end = s.page + page.len;
    s.frameset_ok = 1;
    s.quirks = 2; /* not known yet */
    s.most_steps = STEPS_AT_LEAST + STEPS_A_BYTE * (uint64_t)page.len;
    PyObject *result = NULL;
    if (!grow((void **)&s.open, &s.open_room, sizeof(Element), FIRST_OPEN))
        s.failed = 1;
    else if (page.len >= UNLOCKED_FROM) {
        Py_BEGIN_ALLOW_THREADS
        scan_page(&s);
        Py_END_ALLOW_THREADS
    }
    else
        scan_page(&s);
    result = s.failed ? PyErr_NoMemory() : make_result(&s, entities);
    PyMem_RawFree(s.open);
    PyMem_RawFree(s.listed);
    PyMem_RawFree(s.found);
    PyMem_RawFree(s.spans);
    PyBuffer_Release(&page);
    return result;
}

/* ---- the module ------------------------------------------------------------------------------------------------------- */

static Name pack(const char *name)
{
    size_t length = strlen(name);
    Name packed = 0;
    if (length <= 8) {
        for (size_t i = 0; i < length; i++)
            packed |= (Name)(uint8_t)name[i] << 8 * i;
        return packed;
    }
    packed = HASH_SEED;
    for (size_t i = 0; i < length; i++)
        packed = HASH_STEP(packed, (uint8_t)name[i]);
    return packed | LONG_NAME;
}

static int fill_tables(void)
{
    for (int byte = 0; byte < 256; byte++) {
        int lower = byte >= 'A' && byte <= 'Z' ? byte + 32 : byte;
        int space = byte == ' ' || byte == '\t' || byte == '\n' || byte == '\f' || byte == '\r';
        LOWER[byte] = (uint8_t)(byte ? lower : 0xff); /* no name has 0xff; that of NUL must not be the end of one */
        CLASS[byte] = (uint8_t)((space ? C_SPACE | C_NAME_END | C_ATTRIBUTE_END | C_BARE_END : 0)
                                | (byte == '/' || byte == '>' ? C_NAME_END | C_ATTRIBUTE_END : 0)
                                | (byte == '=' ? C_ATTRIBUTE_END : 0) | (byte == '>' ? C_BARE_END : 0)
                                | (lower >= 'a' && lower <= 'z' ? C_ALPHA : 0));
    }
    for (int tag = 1; tag < TAG_COUNT; tag++) {
        Name name = pack(TAG_NAMES[tag]);
        size_t slot = SLOT(name);
        while (tag_slots[slot].name && tag_slots[slot].name != name)
            slot = (slot + 1) % NAME_SLOTS;
        tag_slots[slot].name = name;
        tag_slots[slot].tag = (uint8_t)tag;
        if (!tag_strings[tag] && !(tag_strings[tag] = PyUnicode_InternFromString(TAG_NAMES[tag])))
            return -1;
    }
    for (int i = 0; i < ATTRIBUTE_COUNT; i++) {
        attribute_names[i] = pack(ATTRIBUTE_NAMES[i]);
        if (!attribute_strings[i] && !(attribute_strings[i] = PyUnicode_InternFromString(ATTRIBUTE_NAMES[i])))
            return -1;
    }
    return 0;
}

static PyMethodDef methods[] = {{"scan", scan, METH_VARARGS, scan_doc}, {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_linkscan", "The compiled form of the link scanner.", -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__linkscan(void)
{
    return fill_tables() < 0 ? NULL : PyModule_Create(&definition);
}
