/* The compiled form of `plain_simhash.py`, which says what each function does and why.
 *
 * fingerprint(page, is_xml) -> (simhash, digest, words)
 * skeleton(page) -> int
 * unknown(words, vocabulary, most) -> words
 * learn(words, vocabulary) -> int
 *
 * A page is passed over once. Markup is read as roughly as `markup.py` reads it, for all that matters is that two copies
 * of a page are read alike; every byte is looked at a bounded number of times, whatever the page holds. No Python object
 * is touched meanwhile.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <string.h>

#define INTERFACE 1 /* see scrawler/compiled.py */

/* Those up to PROBES stand in plain_simhash.py too, and a test compares them. */
#define MOST_WORDS 30000      /* so many words of a page are read */
#define MOST_IMAGES 200       /* so many images of a page are read */
#define LONGEST_REFERENCE 31  /* so many characters may stand between "&" or "&#", and ";" */
#define SHORTEST_RUN 25       /* a text of so many bytes is a part of the skeleton */
#define SAMPLED_EVERY 256     /* of a longer text one part in so many bytes is taken */
#define PROBES 4              /* so many bits of a vocabulary stand for a word */
#define UNLOCKED_FROM 262144  /* while a page of so many bytes is read, other threads may run Python */
#define FIRST_SLOTS 4096      /* so many has the table of distinct words at first; it is a power of two */
#define PLANES 15             /* a counter has so many bits, for it counts up to MOST_WORDS and MOST_IMAGES */

#define EACH(byte) (0x0101010101010101u * (byte))

typedef struct {
    const uint8_t *end;
    uint64_t *slots;          /* they hold the distinct words by their hash; 0 is a free one */
    size_t mask;
    uint64_t *words;          /* it holds the same words in the order of their coming */
    size_t count, room;
    size_t read;              /* so many words were read, those that came again among them */
    size_t images;
    uint64_t digest;
    int failed;               /* it says that there was no memory */
} Text;

enum { GAP, WORD, BRACKET, AMPERSAND };

static uint8_t CLASS[256];

static int is_space(int c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static int is_letter(int c)
{
    return (c | 32) >= 'a' && (c | 32) <= 'z';
}

/* -- hashes ------------------------------------------------------------------------------------------------------- */

static inline uint64_t mixed(uint64_t h)
{
    h ^= h >> 30;
    h *= 0xBF58476D1CE4E5B9u;
    h ^= h >> 27;
    h *= 0x94D049BB133111EBu;
    return h ^ h >> 31;
}

/* Up to eight bytes from `p` on, the first of them lowest; `end` is that of the page. */
static inline uint64_t chunk_at(const uint8_t *p, size_t length, const uint8_t *end)
{
    uint64_t chunk = 0;
#if PY_LITTLE_ENDIAN
    if (end - p >= 8) {
        memcpy(&chunk, p, 8);
        return length >= 8 ? chunk : chunk & (((uint64_t)1 << 8 * length) - 1);
    }
#endif
    for (size_t i = 0; i < length && i < 8; i++)
        chunk |= (uint64_t)p[i] << 8 * i;
    return chunk;
}

/* The hash of a word, in lower case, whose lowest bit says whether it holds a digit; `has_reference`: what stands in its
 * character references is no digit. */
static inline uint64_t word_hash(const uint8_t *p, size_t length, const uint8_t *end, int has_reference)
{
    uint64_t h = length, digits = 0;
    for (size_t left = length;; left -= 8, p += 8) {
        uint64_t chunk = chunk_at(p, left, end);
        /* Of the bytes of words, digits are those below 64, and capital or small letters those from 64 to 127. */
        if (!has_reference) {
            uint64_t bytes = left >= 8 ? ~(uint64_t)0 : ((uint64_t)1 << 8 * left) - 1;
            digits |= ~(chunk | chunk >> 1) & EACH(0x40) & bytes;
        }
        chunk |= (chunk >> 1 & ~(chunk >> 2)) & EACH(0x20);
        h = (h ^ chunk) * 0x9E3779B97F4A7C15u;
        h ^= h >> 32;
        if (left <= 8)
            break;
    }
    h = mixed(h) & ~(uint64_t)1;
    return h | (digits != 0);
}

static uint64_t image_hash(const uint8_t *p, size_t length, const uint8_t *end)
{
    uint64_t h = ~(uint64_t)length;
    for (size_t left = length;; left -= 8, p += 8) {
        h = (h ^ chunk_at(p, left, end)) * 0x9E3779B97F4A7C15u;
        h ^= h >> 32;
        if (left <= 8)
            break;
    }
    return mixed(h) & ~(uint64_t)1;
}

/* -- distinct words ----------------------------------------------------------------------------------------------- */

static int widen(Text *t)
{
    size_t slots = t->slots ? 2 * (t->mask + 1) : FIRST_SLOTS;
    uint64_t *table = PyMem_RawCalloc(slots, sizeof *table);
    uint64_t *words = PyMem_RawRealloc(t->words, slots / 2 * sizeof *words);
    if (words)
        t->words = words;
    if (!table || !words) {
        PyMem_RawFree(table);
        t->failed = 1;
        return 0;
    }
    t->room = slots / 2;
    t->mask = slots - 1;
    for (size_t i = 0; i < t->count; i++) {
        size_t slot = words[i] >> 16 & t->mask;
        while (table[slot])
            slot = (slot + 1) & t->mask;
        table[slot] = words[i];
    }
    PyMem_RawFree(t->slots);
    t->slots = table;
    return 1;
}

static inline void add(Text *t, uint64_t h)
{
    h += !h << 1; /* 0 is a free slot */
    size_t slot = h >> 16 & t->mask;
    while (t->slots[slot]) {
        if (t->slots[slot] == h)
            return;
        slot = (slot + 1) & t->mask;
    }
    if (t->count == t->room) {
        if (!widen(t))
            return;
        slot = h >> 16 & t->mask;
        while (t->slots[slot])
            slot = (slot + 1) & t->mask;
    }
    t->slots[slot] = h;
    t->words[t->count++] = h;
    t->digest += h;
}

/* -- 64 counters at once: bit n of all of them stands in plane n -------------------------------------------------- */

/* Add the bits of `h` to the counters from a plane on, as one adds by hand. */
static inline void count_up(uint64_t *planes, int plane, uint64_t h)
{
    for (; h; plane++) {
        uint64_t carried = planes[plane] & h;
        planes[plane] ^= h;
        h = carried;
    }
}

/* Add the bits of two numbers to a plane; returns what is carried into the next one. */
static inline uint64_t two_up(uint64_t *plane, uint64_t one, uint64_t other)
{
    uint64_t differ = *plane ^ one, carried = (*plane & one) | (differ & other);
    *plane = differ ^ other;
    return carried;
}

static int64_t simhash_of(const Text *t)
{
    uint64_t planes[PLANES] = {0};
    size_t i = 0;
    for (; i + 8 <= t->count; i += 8) { /* eight words carry once beyond the third plane, and not each on its own */
        const uint64_t *w = t->words + i;
        uint64_t one = two_up(planes, w[0], w[1]), two = two_up(planes, w[2], w[3]);
        uint64_t three = two_up(planes, w[4], w[5]), four = two_up(planes, w[6], w[7]);
        uint64_t first = two_up(planes + 1, one, two), second = two_up(planes + 1, three, four);
        count_up(planes, 3, two_up(planes + 2, first, second));
    }
    for (; i < t->count; i++)
        count_up(planes, 0, t->words[i]);
    uint64_t found = 0, equal = ~(uint64_t)0; /* counters above half of all words, and those that may yet be */
    for (int plane = PLANES - 1; plane >= 0; plane--) {
        uint64_t is_half = t->count / 2 >> plane & 1 ? ~(uint64_t)0 : 0;
        found |= equal & planes[plane] & ~is_half;
        equal &= ~(planes[plane] ^ is_half);
    }
    int64_t simhash;
    memcpy(&simhash, &found, sizeof simhash);
    return simhash || !t->count ? simhash : 1;
}

/* -- text --------------------------------------------------------------------------------------------------------- */

/* Return the place after a character reference, or NULL if there is none; `joins`: it is a part of a word. */
static const uint8_t *reference(const uint8_t *p, const uint8_t *end, int *joins)
{
    static const char *const separators[] = {"amp", "lt", "gt", "quot", "apos", "nbsp"};
    int is_number = end - ++p > 0 && *p == '#';
    p += is_number;
    const uint8_t *name = p;
    while (p < end && p - name <= LONGEST_REFERENCE && *p < 128 && CLASS[*p] == WORD)
        p++;
    size_t length = (size_t)(p - name);
    if (!length || length > LONGEST_REFERENCE || p >= end || *p != ';')
        return NULL;
    *joins = 1;
    if (!is_number) {
        for (size_t i = 0; i < sizeof separators / sizeof *separators; i++)
            if (strlen(separators[i]) == length && !memcmp(separators[i], name, length))
                *joins = 0;
        return p + 1;
    }
    int is_hex = (*name | 32) == 'x';
    name += is_hex;
    uint32_t code = 0;
    for (const uint8_t *q = name; q < p; q++) {
        int c = *q | 32;
        uint32_t digit = c <= '9' ? (uint32_t)(*q - '0') : is_hex && c <= 'f' ? (uint32_t)(c - 'a' + 10) : 99;
        if (digit == 99)
            return NULL;
        if (code < 0x110000)
            code = code * (is_hex ? 16 : 10) + digit;
    }
    *joins = code >= 128 && code != 160;
    return name == p ? NULL : p + 1;
}

/* Return the place of the first byte from `p` on that is no letter or digit, or the end. */
static inline const uint8_t *letters_end(const uint8_t *p, const uint8_t *end)
{
#if PY_LITTLE_ENDIAN && defined(__GNUC__)
    for (; end - p >= 8; p += 8) { /* eight at once: the top bit of a byte says what it is */
        uint64_t chunk;
        memcpy(&chunk, p, 8);
        uint64_t low = chunk & EACH(0x7F), small = low | EACH(0x20);
        uint64_t letters = (small + EACH(0x80 - 'a')) & ~(small + EACH(0x7F - 'z'));
        uint64_t digits = (low + EACH(0x80 - '0')) & ~(low + EACH(0x7F - '9'));
        uint64_t others = ~(letters | digits | chunk) & EACH(0x80);
        if (others)
            return p + (__builtin_ctzll(others) >> 3);
    }
#endif
    while (p < end && CLASS[*p] == WORD)
        p++;
    return p;
}

/* Read the text from `p` on; returns the place of the next "<", or the end. */
static const uint8_t *read_text(Text *t, const uint8_t *p)
{
    const uint8_t *end = t->end;
    while (p < end) {
        int class = CLASS[*p];
        if (class == GAP) {
            p++;
            continue;
        }
        if (class == BRACKET)
            return p;
        const uint8_t *word = p, *after = NULL;
        int has_reference = 0, joins = 0;
        for (;;) {
            p = letters_end(p, end);
            after = p < end && *p == '&' ? reference(p, end, &joins) : NULL;
            if (!after || !joins)
                break;
            has_reference = 1;
            p = after;
        }
        if (p == word) { /* here stands an "&" that separates words */
            p = after ? after : p + 1;
            continue;
        }
        uint64_t h = word_hash(word, (size_t)(p - word), end, has_reference);
        if (has_reference) {
            int in_reference = 0;
            for (const uint8_t *q = word; q < p; q++) {
                in_reference = *q == '&' ? 1 : *q == ';' ? 0 : in_reference;
                if (!in_reference && *q >= '0' && *q <= '9')
                    h |= 1;
            }
        }
        add(t, h);
        if (t->failed || ++t->read == MOST_WORDS)
            return end;
    }
    return end;
}

/* -- markup ------------------------------------------------------------------------------------------------------- */

/* Return the place of the ">" that ends a tag, or the end; `p` is behind the tag's name. */
static const uint8_t *tag_end(const uint8_t *p, const uint8_t *end)
{
    for (;;) {
        while (p < end && *p != '>' && *p != '=')
            p++;
        if (p >= end || *p == '>')
            return p;
        p++;
        while (p < end && is_space(*p))
            p++;
        if (p < end && (*p == '"' || *p == '\'')) {
            p = memchr(p + 1, *p, (size_t)(end - p - 1));
            if (!p)
                return end;
            p++;
        }
    }
}

static int is_name(const uint8_t *p, size_t length, const char *name)
{
    return length == strlen(name) && !PyOS_strnicmp((const char *)p, name, (Py_ssize_t)length);
}

/* Take the image whose attributes stand between `p` and `end`. */
static void read_image(Text *t, const uint8_t *p, const uint8_t *end)
{
    while (p < end) {
        if (is_space(*p) || *p == '/' || *p == '>' || *p == '=') {
            p++;
            continue;
        }
        const uint8_t *name = p, *value = NULL, *value_end = NULL;
        while (p < end && !(is_space(*p) || *p == '/' || *p == '>' || *p == '='))
            p++;
        size_t length = (size_t)(p - name);
        const uint8_t *q = p;
        while (q < end && is_space(*q))
            q++;
        if (q < end && *q == '=') {
            q++;
            while (q < end && is_space(*q))
                q++;
            if (q < end && (*q == '"' || *q == '\'')) {
                value = q + 1;
                value_end = memchr(value, *q, (size_t)(end - value));
                p = value_end ? value_end + 1 : end;
                value_end = value_end ? value_end : end;
            }
            else {
                value = q;
                while (q < end && !is_space(*q) && *q != '>')
                    q++;
                p = value_end = q;
            }
        }
        if (!is_name(name, length, "src"))
            continue;
        if (!value)
            return;
        while (value < value_end && is_space(*value))
            value++;
        const uint8_t *query = memchr(value, '?', (size_t)(value_end - value));
        value_end = query ? query : value_end;
        while (value < value_end && is_space(value_end[-1]))
            value_end--;
        size_t shown = (size_t)(value_end - value);
        if (shown && !(shown >= 5 && is_name(value, 5, "data:")) && t->images++ < MOST_IMAGES)
            add(t, image_hash(value, shown, t->end));
        return;
    }
}

/* Return the place of the next "</name" from `p` on, or the end. */
static const uint8_t *raw_end(const uint8_t *p, const uint8_t *end, const char *name)
{
    size_t length = strlen(name);
    while ((p = memchr(p, '<', (size_t)(end - p)))) {
        if ((size_t)(end - p) > length + 2 && p[1] == '/' && is_name(p + 2, length, name)
            && (is_space(p[2 + length]) || p[2 + length] == '/' || p[2 + length] == '>'))
            return p;
        p++;
    }
    return end;
}

static const uint8_t *skip_to(const uint8_t *p, const uint8_t *end, const char *what)
{
    size_t length = strlen(what);
    while ((p = memchr(p, *what, (size_t)(end - p)))) {
        if ((size_t)(end - p) >= length && !memcmp(p, what, length))
            return p + length;
        p++;
    }
    return end;
}

/* Read what begins with the "<" at `p`; returns the place after it. */
static const uint8_t *read_markup(Text *t, const uint8_t *p, int is_xml)
{
    const uint8_t *end = t->end;
    size_t left = (size_t)(end - ++p);
    if (left && (is_letter(*p) || (left > 1 && *p == '/' && is_letter(p[1])))) {
        int is_end = *p == '/';
        const uint8_t *name = p += is_end;
        while (p < end && !is_space(*p) && *p != '/' && *p != '>')
            p++;
        size_t length = (size_t)(p - name);
        const uint8_t *rest = p;
        p = tag_end(p, end);
        if (p == end)
            return end;
        if (!is_end) {
            int is_script = is_name(name, length, "script");
            if (is_name(name, length, "img"))
                read_image(t, rest, p);
            else if ((is_script || is_name(name, length, "style")) && !(is_xml && p[-1] == '/'))
                return raw_end(p + 1, end, is_script ? "script" : "style");
        }
        return p + 1;
    }
    if (left && *p == '!') {
        if (left >= 3 && p[1] == '-' && p[2] == '-')
            return skip_to(p + 1, end, "-->");
        if (is_xml && left >= 8 && !memcmp(p, "![CDATA[", 8))
            return p + 8; /* what is in it is text, and its end is one more gap */
    }
    if (left && (*p == '!' || *p == '?' || *p == '/'))
        return skip_to(p, end, ">");
    return p;
}

static void read_page(Text *t, const uint8_t *p, int is_xml)
{
    if (!widen(t))
        return;
    while ((p = read_text(t, p)) < t->end)
        p = read_markup(t, p, is_xml);
}

PyDoc_STRVAR(fingerprint_doc, "fingerprint(page, is_xml) -> (simhash, digest, words); see plain_simhash.fingerprint.");

static PyObject *fingerprint(PyObject *module, PyObject *args)
{
    (void)module;
    Py_buffer page;
    int is_xml;
    if (!PyArg_ParseTuple(args, "y*p:fingerprint", &page, &is_xml))
        return NULL;
    Text t;
    memset(&t, 0, sizeof t);
    const uint8_t *begin = page.buf;
    t.end = begin + page.len;
    if (page.len >= UNLOCKED_FROM) {
        Py_BEGIN_ALLOW_THREADS
        read_page(&t, begin, is_xml);
        Py_END_ALLOW_THREADS
    }
    else
        read_page(&t, begin, is_xml);
    PyObject *result = t.failed
        ? PyErr_NoMemory()
        : Py_BuildValue("LKy#", (long long)simhash_of(&t), (unsigned long long)t.digest, (const char *)t.words,
                        (Py_ssize_t)(t.count * sizeof *t.words));
    PyMem_RawFree(t.slots);
    PyMem_RawFree(t.words);
    PyBuffer_Release(&page);
    return result;
}

/* The hash of a text's length and of a part of it: what stands in the middle, and every so many bytes before and behind.
 * Of a text so short that this is one place alone, only letters count. */
static uint64_t run_hash(const uint8_t *p, size_t length, const uint8_t *end)
{
    uint64_t h = length;
    for (size_t at = length / 2 % SAMPLED_EVERY; at + 8 <= length; at += SAMPLED_EVERY) {
        uint64_t chunk = chunk_at(p + at, 8, end);
        if (length < 2 * SAMPLED_EVERY)
            chunk &= ((chunk | chunk >> 1) & EACH(0x40)) / 0x40 * 0xFF;
        h = (h ^ chunk) * 0x9E3779B97F4A7C15u;
        h ^= h >> 32;
    }
    return mixed(h);
}

PyDoc_STRVAR(skeleton_doc, "skeleton(page) -> int; see plain_simhash.skeleton.");

static PyObject *skeleton(PyObject *module, PyObject *arg)
{
    (void)module;
    Py_buffer page;
    if (PyObject_GetBuffer(arg, &page, PyBUF_SIMPLE) < 0)
        return NULL;
    const uint8_t *p = page.buf, *end = p + page.len;
    uint64_t sum = 0;
    while (p < end) {
        const uint8_t *bracket = memchr(p, '<', (size_t)(end - p));
        size_t run = (size_t)((bracket ? bracket : end) - p);
        if (run >= SHORTEST_RUN)
            sum += run_hash(p, run, end);
        if (!bracket || !(p = memchr(bracket, '>', (size_t)(end - bracket))))
            break;
        p++;
    }
    PyBuffer_Release(&page);
    return PyLong_FromUnsignedLongLong(sum);
}

/* -- vocabularies ------------------------------------------------------------------------------------------------- */

static inline uint32_t probe(uint64_t word, uint32_t number, uint64_t bits)
{
    uint32_t at = (uint32_t)word + number * ((uint32_t)(word >> 32) | 1);
    return (uint32_t)(at * bits >> 32);
}

static int is_vocabulary(const Py_buffer *vocabulary)
{
    if (vocabulary->len > 0 && vocabulary->len < UINT32_MAX / 8)
        return 1;
    PyErr_SetString(PyExc_ValueError, "a vocabulary has at least one byte, and less than 512 MB");
    return 0;
}

static uint64_t word_at(const Py_buffer *words, Py_ssize_t number)
{
    uint64_t word;
    memcpy(&word, (const char *)words->buf + number * (Py_ssize_t)sizeof word, sizeof word);
    return word;
}

PyDoc_STRVAR(unknown_doc, "unknown(words, vocabulary, most) -> words; see plain_simhash.unknown.");

static PyObject *unknown(PyObject *module, PyObject *args)
{
    (void)module;
    Py_buffer words, vocabulary;
    Py_ssize_t most, found = 0;
    if (!PyArg_ParseTuple(args, "y*y*n:unknown", &words, &vocabulary, &most))
        return NULL;
    Py_ssize_t count = words.len / (Py_ssize_t)sizeof(uint64_t);
    most = most < 0 ? 0 : most < count ? most : count;
    PyObject *result = NULL;
    if (is_vocabulary(&vocabulary))
        result = PyBytes_FromStringAndSize(NULL, most * (Py_ssize_t)sizeof(uint64_t));
    if (result) {
        const uint8_t *set = vocabulary.buf;
        char *to = PyBytes_AS_STRING(result);
        uint64_t bits = 8 * (uint64_t)vocabulary.len;
        for (Py_ssize_t i = 0; i < count && found < most; i++) {
            uint64_t word = word_at(&words, i);
            for (uint32_t number = 0; number < PROBES; number++) {
                uint32_t at = probe(word, number, bits);
                if (!(set[at >> 3] >> (at & 7) & 1)) {
                    memcpy(to + found++ * (Py_ssize_t)sizeof word, &word, sizeof word);
                    break;
                }
            }
        }
        _PyBytes_Resize(&result, found * (Py_ssize_t)sizeof(uint64_t));
    }
    PyBuffer_Release(&words);
    PyBuffer_Release(&vocabulary);
    return result;
}

PyDoc_STRVAR(learn_doc, "learn(words, vocabulary) -> int; see plain_simhash.learn.");

static PyObject *learn(PyObject *module, PyObject *args)
{
    (void)module;
    Py_buffer words, vocabulary;
    if (!PyArg_ParseTuple(args, "y*w*:learn", &words, &vocabulary))
        return NULL;
    long learned = 0;
    int valid = is_vocabulary(&vocabulary);
    if (valid) {
        uint8_t *set = vocabulary.buf;
        uint64_t bits = 8 * (uint64_t)vocabulary.len;
        for (Py_ssize_t i = 0; i < words.len / (Py_ssize_t)sizeof(uint64_t); i++) {
            uint64_t word = word_at(&words, i);
            int is_new = 0;
            for (uint32_t number = 0; number < PROBES; number++) {
                uint32_t at = probe(word, number, bits);
                is_new |= !(set[at >> 3] >> (at & 7) & 1);
                set[at >> 3] |= (uint8_t)(1 << (at & 7));
            }
            learned += is_new;
        }
    }
    PyBuffer_Release(&words);
    PyBuffer_Release(&vocabulary);
    return valid ? PyLong_FromLong(learned) : NULL;
}

static PyMethodDef methods[] = {
    {"fingerprint", fingerprint, METH_VARARGS, fingerprint_doc},
    {"skeleton", skeleton, METH_O, skeleton_doc},
    {"unknown", unknown, METH_VARARGS, unknown_doc},
    {"learn", learn, METH_VARARGS, learn_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_simhash", "The compiled form of plain_simhash.py.", -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__simhash(void)
{
    for (int c = 0; c < 256; c++)
        CLASS[c] = c > 127 || is_letter(c) || (c >= '0' && c <= '9') ? WORD : GAP;
    CLASS['<'] = BRACKET;
    CLASS['&'] = AMPERSAND;
    PyObject *module = PyModule_Create(&definition);
    if (module && PyModule_AddIntMacro(module, INTERFACE) < 0)
        Py_CLEAR(module);
    return module;
}
