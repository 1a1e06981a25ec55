/* SipHash-1-3 of texts, with a key that is drawn in each process: nobody outside can choose texts that collide. */
#ifndef SCRAWLER_SIPHASH_H
#define SCRAWLER_SIPHASH_H

enum { IN_FOLDER, IN_ORIGIN, A_URL, WHERES }; /* the hash of a text says as well what the text is */

typedef struct { uint64_t v0, v1, v2, v3; } Sip;

static uint64_t secret[2];

#define ROTATED(x, by) ((x) << (by) | (x) >> (64 - (by)))

static inline void sip_round(Sip *s)
{
    s->v0 += s->v1; s->v2 += s->v3;
    s->v1 = ROTATED(s->v1, 13) ^ s->v0; s->v3 = ROTATED(s->v3, 16) ^ s->v2;
    s->v0 = ROTATED(s->v0, 32);
    s->v2 += s->v1; s->v0 += s->v3;
    s->v1 = ROTATED(s->v1, 17) ^ s->v2; s->v3 = ROTATED(s->v3, 21) ^ s->v0;
    s->v2 = ROTATED(s->v2, 32);
}

static inline void sip_word(Sip *s, uint64_t word)
{
    s->v3 ^= word;
    sip_round(s);
    s->v0 ^= word;
}

/* SipHash-1-3 of what a text is, and of its bytes; nothing depends on the order of bytes in a word. */
static inline Sip sip_begin(uint32_t where)
{
    Sip s = {secret[0] ^ 0x736f6d6570736575u, secret[1] ^ 0x646f72616e646f6du,
             secret[0] ^ 0x6c7967656e657261u, secret[1] ^ 0x7465646279746573u};
    sip_word(&s, where);
    return s;
}

/* Take the whole words of a text; returns how many bytes that are. */
static inline size_t sip_words(Sip *s, const char *text, size_t length)
{
    size_t done = 0;
    for (; length - done >= 8; done += 8) {
        uint64_t word;
        memcpy(&word, text + done, 8);
        sip_word(s, word);
    }
    return done;
}

/* Take the last bytes of a text, fewer than a word, and its length; returns its hash. */
static inline uint64_t sip_last(Sip s, uint64_t word, size_t length)
{
    sip_word(&s, word ^ (uint64_t)length << 56);
    s.v2 ^= 0xff;
    sip_round(&s);
    sip_round(&s);
    sip_round(&s);
    uint64_t hash = s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
    return hash ? hash : 1;
}

/* Take the rest of a text of which so many bytes have been taken, and return its hash. */
static inline uint64_t sip_end(Sip s, const char *text, size_t done, size_t length)
{
    uint64_t word = 0;
    done += sip_words(&s, text + done, length - done);
    memcpy(&word, text + done, length - done);
    return sip_last(s, word, length);
}

#if PY_LITTLE_ENDIAN
/* Return the last bytes of a text, fewer than a word, as one. */
static inline uint64_t last_bytes(const char *begin, const char *end, size_t count)
{
    uint64_t word = 0;
    if (!count)
        return 0;
    if (end - begin < 8)
        memcpy(&word, end - count, count);
    else { /* with what stands before them, they are read at once */
        memcpy(&word, end - 8, 8);
        word >>= 8 * (8 - count);
    }
    return word;
}

/* The same of a text that has so many bytes in all, of which `rest`, less than a word, and those between `text` and `end`
 * have not been taken; `begin` may stand before them. They need not be put together for that. */
static inline uint64_t sip_end_of_both(Sip s, uint64_t rest, size_t whole, const char *begin, const char *text,
                                       const char *end)
{
    size_t left = (size_t)(end - text), taken = (whole - left) % 8;
    unsigned shift = (unsigned)taken * 8;
    uint64_t word;
    for (; left >= 8; text += 8, left -= 8) {
        memcpy(&word, text, 8);
        sip_word(&s, rest | word << shift);
        rest = shift ? word >> (64 - shift) : 0;
    }
    word = last_bytes(begin, end, left);
    rest |= word << shift;
    if (taken + left >= 8) {
        sip_word(&s, rest);
        rest = word >> (64 - shift);
    }
    return sip_last(s, rest, whole);
}
#endif

static uint64_t hash_of(uint32_t where, const char *text, size_t length)
{
    return sip_end(sip_begin(where), text, 0, length);
}

static uint64_t hash_of_url(PyObject *url)
{
    if (!PyUnicode_IS_ASCII(url)) /* no URL is so */
        return (uint64_t)PyObject_Hash(url) | 1;
    return hash_of(A_URL, PyUnicode_DATA(url), (size_t)PyUnicode_GET_LENGTH(url));
}

/* Draw the key of the hash. */
static int draw_secret(void)
{
    PyObject *os = PyImport_ImportModule("os");
    PyObject *drawn = os ? PyObject_CallMethod(os, "urandom", "i", (int)sizeof secret) : NULL;
    int failed = !drawn || !PyBytes_Check(drawn) || PyBytes_GET_SIZE(drawn) != sizeof secret;
    if (!failed)
        memcpy(secret, PyBytes_AS_STRING(drawn), sizeof secret);
    else if (!PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError, "os.urandom returned something else than bytes");
    Py_XDECREF(drawn);
    Py_XDECREF(os);
    return failed ? -1 : 0;
}

#endif
