/* External hrefs that were met once, of all parties together: what is in here saves work alone. */
#ifndef SCRAWLER_ONCE_H
#define SCRAWLER_ONCE_H

/* Hrefs that were met once have so many places, by hash, and the newest so many bytes; a place is a word of 16 bits. */
enum { ONCE = 1 << 16, ONCE_BYTES = 1 << 16, LONGEST_ONCE = 256 };

typedef struct {              /* external hrefs that were met once stand at the places that their hashes say */
    uint16_t bits[ONCE];      /* these are some bits of their hashes */
    uint16_t begins[ONCE];    /* so they begin in `text` */
    size_t end;               /* the newest ends here in `text`, and the oldest follow */
    char text[ONCE_BYTES];    /* it has of each its hash, its length, and the href, where that is the URL itself */
} Once;

/* All parties have one: in tables of their own, of 3 KB, thousands of small sites would have hardly anything. What is
 * in it saves work alone. Their hashes differ by the party, for what one takes for external is internal to another. */
static Once once;

/* Tell whether an href was met before, as far as is known, and note that it was. */
static int met_before(uint64_t hash)
{
    uint16_t bits = (uint16_t)(hash >> 48 | 1), *place = &once.bits[hash % ONCE];
    int met = *place == bits;
    *place = bits;
    return met;
}

/* Keep an href that comes to itself, so that it need not be learned once more if it comes soon. */
static void keep_for_once(uint64_t hash, const char *href, size_t length, PyObject *url)
{
    size_t size = sizeof hash + sizeof(uint16_t) + length;
    uint16_t long_as = (uint16_t)length;
    if (size > LONGEST_ONCE || !PyUnicode_IS_ASCII(url) || (size_t)PyUnicode_GET_LENGTH(url) != length
        || memcmp(PyUnicode_DATA(url), href, length))
        return;
    if (once.end + size > ONCE_BYTES)
        once.end = 0;
    char *to = once.text + once.end;
    once.begins[hash % ONCE] = (uint16_t)once.end;
    once.end += size;
    memcpy(to, &hash, sizeof hash);
    memcpy(to + sizeof hash, &long_as, sizeof long_as);
    memcpy(to + sizeof hash + sizeof long_as, href, length);
}

/* Tell whether an href was kept by `keep_for_once`, and is still there; nobody outside can feign a hash. */
static int is_kept_for_once(uint64_t hash, const char *href, size_t length)
{
    size_t begin = once.begins[hash % ONCE];
    uint64_t kept;
    uint16_t long_as;
    if (begin + sizeof kept + sizeof long_as + length > ONCE_BYTES)
        return 0;
    const char *at = once.text + begin;
    memcpy(&kept, at, sizeof kept);
    memcpy(&long_as, at + sizeof kept, sizeof long_as);
    return kept == hash && long_as == length && !memcmp(at + sizeof kept + sizeof long_as, href, length);
}

#endif
