/* From places to strings: character references, line ends, and the lists that scan() returns. */

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
            stop = name; /* so it is in ?a=1&copy=2 */
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
        /* It is borrowed, and no other code runs before its last use. */
        PyObject *known = PyDict_GetItemWithError(entities, key);
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

/* A value with its references decoded and the white space around it stripped: in the page, or in room of its own. */
typedef struct {
    const char *begin, *end;
    char small[1024], *large;
} Value;

static int read_value(const Scan *s, Span span, PyObject *entities, Value *value)
{
    const char *p = (const char *)s->page + span.begin, *end = p + span.length;
    size_t length = (size_t)span.length;
    value->large = NULL;
    if (length && (memchr(p, '&', length) || memchr(p, '\r', length) || memchr(p, 0, length))) {
        char *room = value->small;
        if (length > sizeof(value->small) / 3) {
            room = value->large = PyMem_Malloc(length * 3);
            if (!room) {
                PyErr_NoMemory();
                return -1;
            }
        }
        Py_ssize_t decoded = decode_value(p, end, room, entities);
        if (decoded < 0) {
            PyMem_Free(value->large);
            return -1;
        }
        p = room;
        end = room + decoded;
    }
    while (p < end && is_blank(*p))
        p++;
    while (p < end && is_blank(end[-1]))
        end--;
    value->begin = p;
    value->end = end;
    return 0;
}

static PyObject *value_string(const Scan *s, Span span, PyObject *entities)
{
    Value value;
    if (read_value(s, span, entities, &value) < 0)
        return NULL;
    PyObject *string = PyUnicode_DecodeUTF8(value.begin, value.end - value.begin, "replace");
    PyMem_Free(value.large);
    return string;
}

/* Hrefs in UTF-8, a NUL between two: none of them holds one. */
typedef struct {
    char *bytes;
    size_t size, room, count;
} Joined;

static int room_for_bytes(Joined *joined, size_t length)
{
    while (joined->size + length + 1 > joined->room)
        if (!grow((void **)&joined->bytes, &joined->room, 1, 4096)) {
            PyErr_NoMemory();
            return -1;
        }
    return 0;
}

static int join_bytes(Joined *joined, const char *bytes, size_t length)
{
    if (room_for_bytes(joined, length) < 0)
        return -1;
    if (joined->count++)
        joined->bytes[joined->size++] = 0;
    memcpy(joined->bytes + joined->size, bytes, length);
    joined->size += length;
    return 0;
}

static int is_ascii(const char *p, const char *end)
{
    uint64_t all = 0, word;
    for (; end - p >= 8; p += 8) {
        memcpy(&word, p, 8);
        all |= word;
    }
    for (; p < end; p++)
        all |= (uint64_t)(uint8_t)*p;
    return !(all & (uint64_t)0x8080808080808080u);
}

/* Whether eight bytes stay as they are in any value: each is ASCII, and no white space, control character or "&". */
static inline int are_plain(uint64_t word)
{
    uint64_t top = EACH(0x80), low = word | top;
    return (~word & (low - EACH(0x21)) & ((low ^ EACH('&')) - EACH(1)) & top) == top;
}

/* Join a value that stays as it is, as nearly all do; returns 0 if it may be another one. There is room for it. */
static inline int join_plain(const char *p, size_t length, Joined *joined)
{
    char *to = joined->bytes + joined->size + (joined->count > 0);
    uint64_t word;
    size_t done = 0;
    for (; length - done >= 8; done += 8) {
        memcpy(&word, p + done, 8);
        if (!are_plain(word))
            return 0;
        memcpy(to + done, &word, 8);
    }
    word = EACH('a');
    memcpy(&word, p + done, length - done);
    if (!are_plain(word))
        return 0;
    memcpy(to + done, p + done, length - done);
    if (joined->count++)
        to[-1] = 0;
    joined->size = (size_t)(to - joined->bytes) + length;
    return 1;
}

static int join_value(const Scan *s, Span span, PyObject *entities, Joined *joined)
{
    if (room_for_bytes(joined, (size_t)span.length) < 0)
        return -1;
    if (join_plain((const char *)s->page + span.begin, (size_t)span.length, joined))
        return 0;
    Value value;
    if (read_value(s, span, entities, &value) < 0)
        return -1;
    PyObject *string = NULL;
    int failed = 0;
    if (!is_ascii(value.begin, value.end)) { /* bytes that are not UTF-8 are replaced */
        Py_ssize_t length = 0;
        string = PyUnicode_DecodeUTF8(value.begin, value.end - value.begin, "replace");
        value.begin = string ? PyUnicode_AsUTF8AndSize(string, &length) : NULL;
        failed = !value.begin;
        if (!failed)
            value.end = value.begin + length;
    }
    if (!failed)
        failed = join_bytes(joined, value.begin, (size_t)(value.end - value.begin)) < 0;
    Py_XDECREF(string);
    PyMem_Free(value.large);
    return failed ? -1 : 0;
}

static PyObject *attributes_of(const Scan *s, const Found *f, PyObject *entities)
{
    PyObject *attributes = PyDict_New();
    if (!attributes)
        return NULL;
    const Span *span = &s->spans[f->first];
    uint32_t left = f->attributes;
    for (int i = 0; left; i++, left >>= 1)
        if (left & 1) {
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

static int is_plain(const Scan *s, const Found *f)
{
    int bare = f->tag == T_A || (f->tag == T_AREA && !(s->flags & WITH_AREAS));
    return bare && f->attributes == BIT(HREF);
}

static void let_others_run(size_t made)
{
    if (made % MADE_AT_ONCE == MADE_AT_ONCE - 1) {
        Py_BEGIN_ALLOW_THREADS
        Py_END_ALLOW_THREADS
    }
}

static PyObject *other(const Found *f, size_t before, PyObject *attributes)
{
    return Py_BuildValue("nOOOO", (Py_ssize_t)before, tag_strings[f->tag], attributes,
                         f->in_template ? Py_True : Py_False, f->in_head ? Py_True : Py_False);
}

/* Make what scan() returns of a page without copied links. */
static PyObject *make_joined(const Scan *s, PyObject *entities)
{
    Joined joined = {NULL, 0, 0, 0};
    PyObject *others = PyList_New(0), *hrefs = NULL;
    int failed = !others;
    for (size_t i = 0; i < s->found_count && !failed; i++) {
        const Found *f = &s->found[i];
        if (is_plain(s, f))
            failed = join_value(s, s->spans[f->first], entities, &joined) < 0;
        else {
            PyObject *attributes = attributes_of(s, f, entities);
            PyObject *item = attributes ? other(f, joined.count, attributes) : NULL;
            failed = !item || PyList_Append(others, item) < 0;
            Py_XDECREF(attributes);
            Py_XDECREF(item);
        }
        let_others_run(i);
    }
    if (!failed)
        hrefs = PyBytes_FromStringAndSize(joined.bytes, (Py_ssize_t)joined.size);
    PyMem_RawFree(joined.bytes);
    if (!hrefs) {
        Py_XDECREF(others);
        return NULL;
    }
    return Py_BuildValue("NnNO", hrefs, (Py_ssize_t)joined.count, others, s->deep ? Py_True : Py_False);
}

/* The same with copies. These have the string of the first: a long one may be copied often. */
static PyObject *make_list(const Scan *s, PyObject *entities)
{
    PyObject *hrefs = PyList_New(0), *others = PyList_New(0);
    PyObject **made = PyMem_Calloc(s->span_count + 1, sizeof(PyObject *)); /* the lists own them */
    int failed = !hrefs || !others;
    if (!made) {
        PyErr_NoMemory();
        failed = 1;
    }
    for (size_t i = 0; i < s->found_count && !failed; i++) {
        const Found *f = &s->found[i];
        int plain = is_plain(s, f);
        PyObject *item = Py_XNewRef(made[f->first]);
        if (!item)
            item = plain ? value_string(s, s->spans[f->first], entities) : attributes_of(s, f, entities);
        made[f->first] = item;
        if (item && !plain)
            Py_SETREF(item, other(f, (size_t)PyList_GET_SIZE(hrefs), item));
        failed = !item || PyList_Append(plain ? hrefs : others, item) < 0;
        Py_XDECREF(item);
        let_others_run(i);
    }
    PyMem_Free(made);
    if (failed) {
        Py_XDECREF(hrefs);
        Py_XDECREF(others);
        return NULL;
    }
    return Py_BuildValue("NnNO", hrefs, PyList_GET_SIZE(hrefs), others, s->deep ? Py_True : Py_False);
}

static PyObject *make_result(const Scan *s, PyObject *entities)
{
    return s->has_copies ? make_list(s, entities) : make_joined(s, entities);
}
