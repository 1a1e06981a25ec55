/* Names: the tags that have rules, and their kinds; the attributes that say something; classes of bytes.
 *
 * A name is compared as one number. What depends on numbers is filled in once, by fill_tables().
 */

enum { /* kinds of tags, as bits */
    SPECIAL = 1,      /* it is "special" by 13.2.4.2 */
    SCOPE = 2,        /* it ends the search of an element in scope */
    IMPLIED = 4,      /* it has an implied end tag */
    FORMATTING = 8,   /* it goes into the list of active formatting elements */
    BREAKOUT = 16,    /* it ends foreign content */
    TABLE_PART = 32,  /* it is a caption, col, colgroup, tbody, td, tfoot, th, thead or tr */
    HEADED = 64,      /* it is processed in the body as in the head */
    BLOCK = 128,      /* its start tags close a p, its end tags what is open inside */
    HEADING = 256,
    MATH_TEXT = 512,  /* it is a MathML text integration point, if it is MathML */
    SECTION = 1024,   /* it is a tbody, tfoot or thead */
    TELLING = 2048,   /* some of its attributes are wanted */
    CLOSING = 4096,   /* in the body, its end tag does no more than to pop it where it is the innermost element */
};

#define TAGS(X)                                                                                                        \
    X(A, "a", FORMATTING | TELLING | CLOSING) X(ADDRESS, "address", SPECIAL | BLOCK | CLOSING)                         \
    X(ANNOTATION_XML, "annotation-xml", TELLING) X(APPLET, "applet", SPECIAL | SCOPE)                                  \
    X(AUDIO, "audio", TELLING)                                                                                         \
    X(AREA, "area", SPECIAL | TELLING) X(ARTICLE, "article", SPECIAL | BLOCK | CLOSING)                                \
    X(ASIDE, "aside", SPECIAL | BLOCK | CLOSING) X(B, "b", FORMATTING | BREAKOUT | CLOSING)                            \
    X(BASE, "base", SPECIAL | HEADED | TELLING) X(BASEFONT, "basefont", SPECIAL | HEADED)                              \
    X(BGSOUND, "bgsound", SPECIAL | HEADED) X(BIG, "big", FORMATTING | BREAKOUT | CLOSING)                             \
    X(BLOCKQUOTE, "blockquote", SPECIAL | BLOCK | BREAKOUT | CLOSING) X(BODY, "body", SPECIAL | BREAKOUT)              \
    X(BR, "br", SPECIAL | BREAKOUT) X(BUTTON, "button", SPECIAL | CLOSING)                                             \
    X(CAPTION, "caption", SPECIAL | SCOPE | TABLE_PART) X(CENTER, "center", SPECIAL | BLOCK | BREAKOUT | CLOSING)      \
    X(CODE, "code", FORMATTING | BREAKOUT | CLOSING) X(COL, "col", SPECIAL | TABLE_PART)                               \
    X(COLGROUP, "colgroup", SPECIAL | TABLE_PART) X(DD, "dd", SPECIAL | IMPLIED | BREAKOUT | CLOSING)                  \
    X(DESC, "desc", 0) X(DETAILS, "details", SPECIAL | BLOCK | CLOSING) X(DIALOG, "dialog", BLOCK | CLOSING)           \
    X(DIR, "dir", SPECIAL | BLOCK | CLOSING) X(DIV, "div", SPECIAL | BLOCK | BREAKOUT | CLOSING)                       \
    X(DL, "dl", SPECIAL | BLOCK | BREAKOUT | CLOSING) X(DT, "dt", SPECIAL | IMPLIED | BREAKOUT | CLOSING)              \
    X(EM, "em", FORMATTING | BREAKOUT | CLOSING) X(EMBED, "embed", SPECIAL | BREAKOUT | TELLING)                       \
    X(FIELDSET, "fieldset", SPECIAL | BLOCK | CLOSING) X(FIGCAPTION, "figcaption", SPECIAL | BLOCK | CLOSING)          \
    X(FIGURE, "figure", SPECIAL | BLOCK | CLOSING) X(FONT, "font", FORMATTING | TELLING | CLOSING)                     \
    X(FOOTER, "footer", SPECIAL | BLOCK | CLOSING) X(FOREIGN_OBJECT, "foreignobject", 0) X(FORM, "form", SPECIAL)      \
    X(FRAME, "frame", SPECIAL | TELLING) X(FRAMESET, "frameset", SPECIAL)                                              \
    X(H1, "h1", SPECIAL | HEADING | BREAKOUT | CLOSING) X(H2, "h2", SPECIAL | HEADING | BREAKOUT | CLOSING)            \
    X(H3, "h3", SPECIAL | HEADING | BREAKOUT | CLOSING) X(H4, "h4", SPECIAL | HEADING | BREAKOUT | CLOSING)            \
    X(H5, "h5", SPECIAL | HEADING | BREAKOUT | CLOSING) X(H6, "h6", SPECIAL | HEADING | BREAKOUT | CLOSING)            \
    X(HEAD, "head", SPECIAL | BREAKOUT) X(HEADER, "header", SPECIAL | BLOCK | CLOSING)                                 \
    X(HGROUP, "hgroup", SPECIAL | BLOCK | CLOSING) X(HR, "hr", SPECIAL | BREAKOUT) X(HTML, "html", SPECIAL | SCOPE)    \
    X(I, "i", FORMATTING | BREAKOUT | CLOSING) X(IFRAME, "iframe", SPECIAL | TELLING) X(IMAGE, "image", TELLING)       \
    X(IMG, "img", SPECIAL | BREAKOUT | TELLING) X(INPUT, "input", SPECIAL | TELLING) X(KEYGEN, "keygen", SPECIAL)      \
    X(LI, "li", SPECIAL | IMPLIED | BREAKOUT | CLOSING) X(LINK, "link", SPECIAL | HEADED | TELLING)                    \
    X(LISTING, "listing", SPECIAL | BLOCK | BREAKOUT | CLOSING) X(MAIN, "main", SPECIAL | BLOCK | CLOSING)             \
    X(MALIGNMARK, "malignmark", 0) X(MARQUEE, "marquee", SPECIAL | SCOPE) X(MATH, "math", 0)                           \
    X(MENU, "menu", SPECIAL | BLOCK | BREAKOUT | CLOSING) X(META, "meta", SPECIAL | HEADED | BREAKOUT | TELLING)       \
    X(MGLYPH, "mglyph", 0) X(MI, "mi", MATH_TEXT) X(MN, "mn", MATH_TEXT) X(MO, "mo", MATH_TEXT) X(MS, "ms", MATH_TEXT) \
    X(MTEXT, "mtext", MATH_TEXT) X(NAV, "nav", SPECIAL | BLOCK | CLOSING)                                              \
    X(NOBR, "nobr", FORMATTING | BREAKOUT | CLOSING) X(NOEMBED, "noembed", SPECIAL)                                    \
    X(NOFRAMES, "noframes", SPECIAL | HEADED) X(NOSCRIPT, "noscript", SPECIAL) X(OBJECT, "object", SPECIAL | SCOPE)    \
    X(OL, "ol", SPECIAL | BLOCK | BREAKOUT | CLOSING) X(OPTGROUP, "optgroup", IMPLIED | CLOSING)                       \
    X(OPTION, "option", IMPLIED | CLOSING) X(P, "p", SPECIAL | IMPLIED | BLOCK | BREAKOUT | CLOSING)                   \
    X(PARAM, "param", SPECIAL) X(PLAINTEXT, "plaintext", SPECIAL) X(PRE, "pre", SPECIAL | BLOCK | BREAKOUT | CLOSING)  \
    X(RB, "rb", IMPLIED | CLOSING) X(RP, "rp", IMPLIED | CLOSING) X(RT, "rt", IMPLIED | CLOSING)                       \
    X(RTC, "rtc", IMPLIED | CLOSING) X(RUBY, "ruby", BREAKOUT | CLOSING) X(S, "s", FORMATTING | BREAKOUT | CLOSING)    \
    X(SCRIPT, "script", SPECIAL | HEADED | TELLING) X(SEARCH, "search", SPECIAL | BLOCK | CLOSING)                     \
    X(SECTION_, "section", SPECIAL | BLOCK | CLOSING) X(SELECT, "select", SPECIAL | SCOPE | CLOSING)                   \
    X(SMALL, "small", FORMATTING | BREAKOUT | CLOSING) X(SOURCE, "source", SPECIAL | TELLING)                          \
    X(SPAN, "span", BREAKOUT | CLOSING) X(STRIKE, "strike", FORMATTING | BREAKOUT | CLOSING)                           \
    X(STRONG, "strong", FORMATTING | BREAKOUT | CLOSING) X(STYLE, "style", SPECIAL | HEADED)                           \
    X(SUB, "sub", BREAKOUT | CLOSING) X(SUMMARY, "summary", SPECIAL | BLOCK | CLOSING)                                 \
    X(SUP, "sup", BREAKOUT | CLOSING) X(SVG, "svg", 0) X(TABLE, "table", SPECIAL | SCOPE | BREAKOUT)                   \
    X(TBODY, "tbody", SPECIAL | TABLE_PART | SECTION) X(TD, "td", SPECIAL | SCOPE | TABLE_PART)                        \
    X(TEMPLATE, "template", SPECIAL | SCOPE | HEADED) X(TEXTAREA, "textarea", SPECIAL)                                 \
    X(TFOOT, "tfoot", SPECIAL | TABLE_PART | SECTION) X(TH, "th", SPECIAL | SCOPE | TABLE_PART)                        \
    X(THEAD, "thead", SPECIAL | TABLE_PART | SECTION) X(TITLE, "title", SPECIAL | HEADED)                              \
    X(TR, "tr", SPECIAL | TABLE_PART) X(TRACK, "track", SPECIAL | TELLING)                                          \
    X(TT, "tt", FORMATTING | BREAKOUT | CLOSING)                                                                       \
    X(U, "u", FORMATTING | BREAKOUT | CLOSING) X(UL, "ul", SPECIAL | BLOCK | BREAKOUT | CLOSING)                       \
    X(USE, "use", TELLING) X(VAR, "var", BREAKOUT | CLOSING) X(VIDEO, "video", TELLING) X(WBR, "wbr", SPECIAL)         \
    X(XMP, "xmp", SPECIAL)

enum {
    OTHER, /* such a tag has no rule of its own */
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
    HREF, SRC, REL, TYPE, AS, HTTP_EQUIV, CONTENT, NAME, SRCSET, POSTER, ENCODING, COLOR, FACE, SIZE,
    XLINK_HREF, IMAGESRCSET, DATA_SRC, DATA_SRCSET, DATA_LAZY, DATA_LAZY_SRC, DATA_LAZY_SRCSET, DATA_ORIGINAL,
    DATA_ORIGINAL_SET, DATA_POSTER, ATTRIBUTE_COUNT
};
static const char *const ATTRIBUTE_NAMES[ATTRIBUTE_COUNT] = {
    "href", "src", "rel", "type", "as", "http-equiv", "content", "name", "srcset", "poster", "encoding", "color",
    "face", "size", "xlink:href", "imagesrcset", "data-src", "data-srcset", "data-lazy", "data-lazy-src",
    "data-lazy-srcset", "data-original", "data-original-set", "data-poster",
};
#define LONGEST_ATTRIBUTE 17 /* letters of the longest of these names */
#define BIT(attribute) (1u << (attribute))
/* Where scripts find the URLs of what they load when it comes into view. */
#define LAZY (BIT(DATA_SRC) | BIT(DATA_LAZY) | BIT(DATA_LAZY_SRC) | BIT(DATA_ORIGINAL))
#define LAZY_SETS (BIT(DATA_SRCSET) | BIT(DATA_LAZY_SRCSET) | BIT(DATA_ORIGINAL_SET))
#define PICTURE (BIT(SRC) | BIT(SRCSET) | LAZY | LAZY_SETS)
#define FILM (BIT(SRC) | LAZY)
static Name attribute_names[ATTRIBUTE_COUNT];
static PyObject *attribute_strings[ATTRIBUTE_COUNT];
static PyObject *tag_strings[TAG_COUNT];

typedef struct { /* it is the name of a CLOSING tag with a ">", as the first of eight bytes; no other has these bytes */
    uint64_t word, mask;
    size_t length;
} Closer;
static Closer CLOSERS[TAG_COUNT];

enum { WITH_ASSETS = 1, WITH_REL = 2, WITH_AREAS = 4 }; /* flags of scan() */

enum { C_SPACE = 1, C_NAME_END = 2, C_ATTRIBUTE_END = 4, C_BARE_END = 8, C_ALPHA = 16 };
static uint8_t CLASS[256];
static uint8_t LOWER[256];

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

static void fill_closer(int tag)
{
    Closer *closer = &CLOSERS[tag];
    size_t length = strlen(TAG_NAMES[tag]);
    closer->word = 1; /* with a mask of 0, no bytes are the same */
    if (!(KINDS[tag] & CLOSING) || length > 7)
        return;
    closer->word = 0;
    memcpy(&closer->word, TAG_NAMES[tag], length);
    memcpy((char *)&closer->word + length, ">", 1);
    memset(&closer->mask, 0xff, length + 1);
    closer->length = length + 1;
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
    for (int tag = 0; tag < TAG_COUNT; tag++)
        fill_closer(tag);
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
