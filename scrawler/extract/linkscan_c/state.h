/* What a scan knows while it goes: the token at hand, the stack of open elements, the list of active formatting
 * elements, the insertion mode, and the places of what was found.
 */

typedef struct { Py_ssize_t begin, length; } Span;

typedef struct {
    uint8_t tag, in_template, in_head;
    uint32_t attributes; /* their bits are set */
    size_t first;        /* here its spans begin, in the order of the bits */
} Found;

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
    uint8_t mode; /* a template has one */
} Element;

typedef struct { /* it is an active formatting element, or a marker (id 0) */
    Span source;         /* here its attributes stand */
    size_t first;        /* it means what it does in Found */
    uint32_t attributes; /* it means what it does in Found, and is 0 for what is no link */
    uint32_t id;
    uint8_t tag, open;
} Formatting;

typedef struct {
    const uint8_t *page, *end, *at;
    int flags;

    /* the token */
    Name name;
    uint8_t tag, self_closing;
    uint32_t attributes; /* the bits of those that were noted are set */
    Span values[ATTRIBUTE_COUNT];
    Span source;

    /* the tree builder */
    Element *open;
    size_t depth, open_room;
    Formatting *listed;
    size_t listed_count, listed_room;
    uint32_t counts[TAG_COUNT]; /* so many HTML elements of each name are open */
    uint32_t last_id, form;
    int mode, templates;
    uint8_t frameset_ok, head_seen, has_copies, quirks, reopen, flat, deep, plaintext, failed;
    uint8_t raw; /* it is the tag whose text comes next */
    uint64_t steps, most_steps;

    /* what was found */
    Found *found;
    size_t found_count, found_room, found_in_head, others;
    uint8_t base_seen;
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

#define TOP(s) ((s)->open[(s)->depth - 1])
