/* The links that a party knows: the compiled form of `lookup.PlainLinks`, which says what all of this means; tests hold
 * the two together.
 *
 * Hrefs come as bytes, and most of them are known: they cost a hash and a look into a table, and no string is made. The
 * hash is SipHash-1-3 with a key that is drawn in each process: nobody outside can choose hrefs that collide. What an
 * href comes to is a link: a URL, internal or external, or a verdict, each held once however many hrefs lead to it.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "_elsewhere.h"
#include "_seen.h"

#define INTERFACE 3 /* see scrawler/compiled.py */

enum { CACHED_HREF = 256, LONGEST_KNOWN = CACHED_HREF * 4, LONGEST_TYPE = 16 }; /* the second is in bytes */
enum { LONGEST_PUT_TOGETHER = 1024 }; /* a URL that is put together here has no more bytes */
/* Hrefs that were met once have so many places, by hash, and the newest so many bytes; a place is a word of 16 bits. */
enum { ONCE = 1 << 16, ONCE_BYTES = 1 << 16, LONGEST_ONCE = 256 };
enum { USUAL_URLS = 128 }; /* so many URLs of a page need no memory of their own */
enum { INTERNAL, EXTERNAL, REFUSED };
enum { IN_FOLDER, IN_ORIGIN, A_URL, WHERES }; /* the hash of a text says as well what the text is */

typedef struct { /* it is an href, cut before its fragment, as it stands in a folder or an origin */
    uint64_t hash;
    uint32_t where, begin, length; /* `begin` is its place among the keys */
    uint32_t link;
} Entry;

typedef struct {
    PyObject *what; /* it is a URL, or says why one is refused */
    uint64_t hash;  /* it is that of the URL, or 0 */
    uint32_t times; /* so often was it met on its last page, if it is refused */
    uint32_t page;  /* on this page it was met last */
    int kind;
} Link;

typedef struct { /* `core/seen.py` says what seen filters are */
    PyObject_HEAD
    PyObject *budget;
    Prints prints;
    size_t reserved; /* so many bytes were taken from the budget */
} SeenUrls;

typedef struct {              /* external hrefs that were met once stand at the places that their hashes say */
    uint16_t bits[ONCE];      /* these are some bits of their hashes */
    uint16_t begins[ONCE];    /* so they begin in `text` */
    size_t end;               /* the newest ends here in `text`, and the oldest follow */
    char text[ONCE_BYTES];    /* it has of each its hash, its length, and the href, where that is the URL itself */
} Once;

/* All parties have one: in tables of their own, of 3 KB, thousands of small sites would have hardly anything. What is
 * in it saves work alone. Their hashes differ by the party, for what one takes for external is internal to another. */
static Once once;
static uint64_t parties; /* so many have been made */

typedef struct {
    PyObject_HEAD
    Entry *entries;
    char *keys;
    Link *links;
    uint32_t *entry_slots, *url_slots; /* they hold places in the lists above, plus one; 0 is a free slot */
    size_t entry_count, entry_room, key_size, key_room, link_count, link_room, entry_slot_count, url_slot_count;
    size_t *reasons; /* they are the places of the links that are verdicts */
    size_t reason_count, reason_room;
    uint64_t party; /* it is mixed into the hashes that stand in `once` */
    uint32_t page;
    int busy;
} Links;

typedef struct { uint64_t v0, v1, v2, v3; } Sip;

typedef struct { /* it is what is known while one page is looked up */
    PyObject *sure, *refused_types, *learn; /* these are borrowed */
    const char *base; /* this is the URL of the page's folder, and begins with that of its origin; it is borrowed */
    Py_ssize_t base_length, root_length, max_length, room;
    uint32_t folder, origin;
    Elsewhere elsewhere;
    const Prints *seen;            /* the URLs in it are left out; where it is NULL, none are */
    PyObject *internal, *external; /* these lists get distinct URLs in order */
    uint64_t *met;                 /* this table, at first `usual`, has the hashes of the page's URLs; 0 is free */
    size_t met_count, met_slot_count;
    Py_ssize_t internal_times, external_times, same_page, remembered, listed;
    const char *above;       /* this stood before the last slash of the last href that was in a sure folder */
    Py_ssize_t above_length; /* it is -1 where no such href was met */
    Py_ssize_t folder_length; /* so long is that folder's URL, with which `url` begins */
    Sip folder_hash;         /* it is that of the whole words of it; these bytes, fewer than a word, follow */
    uint64_t folder_rest;
    char url[LONGEST_PUT_TOGETHER];
    char good_type[LONGEST_TYPE]; /* this file type was met last and is not refused; it stands as written */
    Py_ssize_t good_length;
    uint64_t usual[USUAL_URLS * 2];
} Page;

static uint64_t secret[2];
static unsigned char in_names[256]; /* whether such a byte may stand in a plain name, and begin one */

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

/* Make room for so many items more. */
static int grow(void **items, size_t *room, size_t count, size_t more, size_t size)
{
    if (count + more <= *room)
        return 0;
    size_t wanted = *room ? *room : 8;
    while (wanted < count + more)
        wanted += wanted / 2;
    void *moved = wanted > UINT32_MAX / 2 ? NULL : PyMem_Realloc(*items, wanted * size);
    if (!moved) {
        PyErr_NoMemory();
        return -1;
    }
    *items = moved;
    *room = wanted;
    return 0;
}

static void put(uint32_t *slots, size_t slot_count, uint64_t hash, size_t index)
{
    size_t at = hash & (slot_count - 1);
    while (slots[at])
        at = (at + 1) & (slot_count - 1);
    slots[at] = (uint32_t)index + 1;
}

/* Return new slots, at most half of which will be taken, for one item more; NULL: those that are there will do. */
static uint32_t *more_slots(size_t count, size_t *slot_count)
{
    if (count * 2 + 2 <= *slot_count)
        return NULL;
    size_t wanted = *slot_count ? *slot_count * 2 : 16;
    uint32_t *slots = PyMem_Calloc(wanted, sizeof *slots);
    if (slots)
        *slot_count = wanted;
    else
        PyErr_NoMemory();
    return slots;
}

static const Entry *find_entry(const Links *k, uint64_t hash, uint32_t where, const char *path, size_t length)
{
    if (!k->entry_slot_count)
        return NULL;
    size_t mask = k->entry_slot_count - 1;
    for (size_t at = hash & mask; k->entry_slots[at]; at = (at + 1) & mask) {
        const Entry *e = &k->entries[k->entry_slots[at] - 1];
        if (e->hash == hash && e->length == length && e->where == where && !memcmp(k->keys + e->begin, path, length))
            return e;
    }
    return NULL;
}

static int remember(Links *k, uint64_t hash, uint32_t where, const char *path, size_t length, size_t link)
{
    if (grow((void **)&k->entries, &k->entry_room, k->entry_count, 1, sizeof(Entry)) < 0
        || grow((void **)&k->keys, &k->key_room, k->key_size, length + 1, 1) < 0) /* an empty key wants memory too */
        return -1;
    uint32_t *slots = more_slots(k->entry_count, &k->entry_slot_count);
    if (slots) {
        for (size_t i = 0; i < k->entry_count; i++)
            put(slots, k->entry_slot_count, k->entries[i].hash, i);
        PyMem_Free(k->entry_slots);
        k->entry_slots = slots;
    }
    else if (PyErr_Occurred())
        return -1;
    memcpy(k->keys + k->key_size, path, length);
    k->entries[k->entry_count] = (Entry){hash, where, (uint32_t)k->key_size, (uint32_t)length, (uint32_t)link};
    k->key_size += length;
    put(k->entry_slots, k->entry_slot_count, hash, k->entry_count++);
    return 0;
}

/* Return the link of a URL; -1: there is none, or an exception. */
static Py_ssize_t find_url(const Links *k, PyObject *url, int kind)
{
    Py_hash_t hash = PyObject_Hash(url); /* it is keyed as well, and strings that were asked before know theirs */
    if (hash == -1 || !k->url_slot_count)
        return -1;
    size_t mask = k->url_slot_count - 1;
    for (size_t at = (size_t)hash & mask; k->url_slots[at]; at = (at + 1) & mask) {
        size_t index = k->url_slots[at] - 1;
        const Link *link = &k->links[index];
        if (link->kind == kind && (link->what == url || PyUnicode_Compare(link->what, url) == 0))
            return (Py_ssize_t)index;
        if (PyErr_Occurred())
            return -1;
    }
    return -1;
}

static uint64_t hash_of_url(PyObject *url)
{
    if (!PyUnicode_IS_ASCII(url)) /* no URL is so */
        return (uint64_t)PyObject_Hash(url) | 1;
    return hash_of(A_URL, PyUnicode_DATA(url), (size_t)PyUnicode_GET_LENGTH(url));
}

static Py_ssize_t add_link(Links *k, PyObject *what, int kind)
{
    if (grow((void **)&k->links, &k->link_room, k->link_count, 1, sizeof(Link)) < 0)
        return -1;
    if (kind == REFUSED) {
        if (grow((void **)&k->reasons, &k->reason_room, k->reason_count, 1, sizeof(size_t)) < 0)
            return -1;
        k->reasons[k->reason_count++] = k->link_count;
    }
    else {
        uint32_t *slots = more_slots(k->link_count, &k->url_slot_count);
        if (slots) {
            for (size_t i = 0; i < k->link_count; i++)
                if (k->links[i].kind < REFUSED)
                    put(slots, k->url_slot_count, (uint64_t)PyObject_Hash(k->links[i].what), i);
            PyMem_Free(k->url_slots);
            k->url_slots = slots;
        }
        else if (PyErr_Occurred())
            return -1;
        put(k->url_slots, k->url_slot_count, (uint64_t)PyObject_Hash(what), k->link_count);
    }
    uint64_t hash = kind < REFUSED ? hash_of_url(what) : 0;
    k->links[k->link_count] = (Link){Py_NewRef(what), hash, 0, 0, kind};
    return (Py_ssize_t)k->link_count++;
}

static Py_ssize_t find_reason(const Links *k, PyObject *reason)
{
    for (size_t i = 0; i < k->reason_count; i++)
        if (k->links[k->reasons[i]].what == reason)
            return (Py_ssize_t)k->reasons[i];
    return -1;
}

/* Tell of what was learned what kind of link it is; `what` gets its URL, or why it is refused. -1 on failure. */
static int kind_of(PyObject *known, PyObject **what)
{
    *what = known;
    if (PyUnicode_CheckExact(known))
        return INTERNAL;
    if (!PyTuple_CheckExact(known) || PyTuple_GET_SIZE(known) != 1)
        return REFUSED;
    *what = PyTuple_GET_ITEM(known, 0);
    if (PyUnicode_CheckExact(*what))
        return EXTERNAL;
    PyErr_SetString(PyExc_TypeError, "a URL must be a string");
    return -1;
}

/* Whether a text is nothing but plain segments, each with a slash behind it. */
static int is_plain_path(const char *path, Py_ssize_t length)
{
    for (Py_ssize_t at = 0, begin = 0; at < length; at++) {
        if (path[at] == '/' && at > begin)
            begin = at + 1;
        else if (!is_in_name(path[at]) && (path[at] != '.' || at == begin))
            return 0;
    }
    return 1;
}

/* Let `url` begin with the folder of an href that has `start` bytes up to its last slash, as `resolve_plain` does it.
 * Returns its length, 0 if the href is not plain, or too long. */
static Py_ssize_t resolve_folder(Page *p, const char *path, Py_ssize_t start)
{
    Py_ssize_t above = p->base_length, at = 0;
    if (start >= p->root_length && !memcmp(path, p->base, (size_t)p->root_length))
        at = p->root_length;
    else if (start && path[0] == '/')
        at = 1;
    if (at)
        above = p->root_length;
    if (start - at >= 2 && !memcmp(path + at, "./", 2))
        at += 2;
    for (; start - at >= 3 && !memcmp(path + at, "../", 3); at += 3)
        if (above > p->root_length)
            do
                above--;
            while (p->base[above - 1] != '/');
    if (above + start - at + CACHED_HREF > LONGEST_PUT_TOGETHER || !is_plain_path(path + at, start - at))
        return 0;
    p->above_length = -1; /* what stood in `url` before is gone */
    memcpy(p->url, p->base, (size_t)above);
    memcpy(p->url + above, path + at, (size_t)(start - at));
    return above + start - at;
}

/* Find the folder of an href that has `start` bytes up to its last slash, and is not in that of the last one. Returns 0
 * if it is not sure, -1 on failure. */
static int find_folder(Links *k, Page *p, const char *path, Py_ssize_t start)
{
    Py_ssize_t length = resolve_folder(p, path, start);
    if (!length)
        return 0;
    p->folder_hash = sip_begin(A_URL);
    size_t done = sip_words(&p->folder_hash, p->url, (size_t)length);
    uint64_t hash = sip_end(p->folder_hash, p->url, done, (size_t)length);
    if (!find_entry(k, hash, A_URL, p->url, (size_t)length)) {
        PyObject *folder = PyUnicode_FromStringAndSize(p->url, length);
        int is_sure = folder ? PySet_Contains(p->sure, folder) : -1;
        Py_XDECREF(folder);
        if (is_sure <= 0 || remember(k, hash, A_URL, p->url, (size_t)length, 0) < 0)
            return is_sure ? -1 : 0;
    }
    p->above = path;
    p->above_length = start;
    p->folder_length = length;
    p->folder_rest = 0;
    memcpy(&p->folder_rest, p->url + done, (size_t)length - done);
    return 1;
}

/* Whether a text is a plain name; `type` gets where its extension begins, 0 if it has none. */
static inline int is_plain_name(const char *name, Py_ssize_t length, Py_ssize_t *type)
{
    *type = 0;
    if (length && name[0] == '.')
        return 0;
    for (Py_ssize_t i = 0; i < length; i++) {
        if (name[i] == '.')
            *type = i + 1;
        else if (!in_names[(unsigned char)name[i]])
            return 0;
    }
    return 1;
}

/* Whether a file type is refused; -1 on failure. */
static int is_refused_type(Page *p, const char *type, Py_ssize_t long_as)
{
    if (long_as == p->good_length && !memcmp(type, p->good_type, (size_t)long_as))
        return 0;
    PyObject *written = PyUnicode_FromStringAndSize(type, long_as);
    PyObject *lower = written ? PyObject_CallMethod(written, "lower", NULL) : NULL;
    int refused = lower ? PySet_Contains(p->refused_types, lower) : -1;
    Py_XDECREF(written);
    Py_XDECREF(lower);
    if (!refused && long_as <= LONGEST_TYPE) {
        memcpy(p->good_type, type, (size_t)long_as);
        p->good_length = long_as;
    }
    return refused;
}

/* Tell where the name begins of an href that has no more than that behind the folder of the last one; else -1. */
static inline Py_ssize_t name_in_same_folder(const Page *p, const char *path, Py_ssize_t length, Py_ssize_t *type)
{
    Py_ssize_t start = p->above_length;
    if (start < 0 || start > length || memcmp(p->above, path, (size_t)start))
        return -1;
    return is_plain_name(path + start, length - start, type) ? start : -1;
}

/* Find the folder of an href that is surely internal; returns where its name begins, -1 if it is not, -2 on failure. */
static Py_ssize_t in_sure_folder(Links *k, Page *p, const char *path, Py_ssize_t length)
{
    Py_ssize_t type;
    if (!length || length > CACHED_HREF || !p->root_length || !PySet_GET_SIZE(p->sure))
        return -1;
    Py_ssize_t start = name_in_same_folder(p, path, length, &type);
    if (start < 0) {
        start = length;
        while (start > 0 && path[start - 1] != '/')
            start--;
        int found = is_plain_name(path + start, length - start, &type) ? find_folder(k, p, path, start) : 0;
        if (found <= 0)
            return found - 1;
    }
    if (p->folder_length + length - start > p->max_length)
        return -1;
    int refused = type ? is_refused_type(p, path + start + type, length - start - type) : 0;
    if (refused)
        return refused < 0 ? -2 : -1;
    return start;
}

/* Let Python judge an href; returns what it comes to, a new reference, and whether that is to be remembered. */
static PyObject *learn(const Page *p, const char *href, Py_ssize_t length, Py_ssize_t path_length, int *keeps)
{
    PyObject *path = PyUnicode_DecodeUTF8(href, path_length, NULL), *known = NULL, *both = NULL;
    PyObject *whole = path && length != path_length ? PyUnicode_DecodeUTF8(href, length, NULL) : Py_XNewRef(path);
    if (whole)
        both = PyObject_CallFunctionObjArgs(p->learn, whole, path, NULL);
    if (both && !PyTuple_Check(both))
        PyErr_SetString(PyExc_TypeError, "what is learned must be a tuple");
    else if (both)
        /* `known` is set where parsing fails, too. */
        known = PyArg_ParseTuple(both, "Op", &known, keeps) ? Py_NewRef(known) : NULL;
    Py_XDECREF(both);
    Py_XDECREF(whole);
    Py_XDECREF(path);
    return known;
}

/* Whether an href is surely a URL of another site, as it stands, so that Python need not judge it; -1 on failure. */
static int is_external(Page *p, const char *href, Py_ssize_t length)
{
    Py_ssize_t path_end;
    if (length > CACHED_HREF || length > p->max_length)
        return 0;
    int elsewhere = is_elsewhere(&p->elsewhere, href, length, &path_end);
    if (elsewhere <= 0)
        return elsewhere;
    Py_ssize_t name = path_end;
    while (href[name - 1] != '/')
        name--;
    Py_ssize_t type = path_end;
    while (type > name && href[type - 1] != '.')
        type--;
    int refused = type > name ? is_refused_type(p, href + type, path_end - type) : 0;
    return refused < 0 ? -1 : !refused;
}

static int is_rooted(const char *path, Py_ssize_t length)
{
    return (length && path[0] == '/') || (length >= 7 && !memcmp(path, "http://", 7))
           || (length >= 8 && !memcmp(path, "https://", 8));
}

/* Note a URL of the page; returns whether it is the first link to it, -1 on failure. */
static int is_first(Page *p, uint64_t hash)
{
    size_t mask = p->met_slot_count - 1, at = hash & mask;
    for (; p->met[at]; at = (at + 1) & mask)
        if (p->met[at] == hash)
            return 0;
    p->met[at] = hash;
    if (++p->met_count * 2 <= p->met_slot_count)
        return 1;
    uint64_t *more = PyMem_Calloc(p->met_slot_count * 2, sizeof *more);
    if (!more) {
        PyErr_NoMemory();
        return -1;
    }
    mask = p->met_slot_count * 2 - 1;
    for (size_t i = 0; i < p->met_slot_count; i++) {
        for (at = p->met[i] & mask; more[at]; at = (at + 1) & mask)
            ;
        more[at] = p->met[i];
    }
    if (p->met != p->usual)
        PyMem_Free(p->met);
    p->met = more;
    p->met_slot_count = mask + 1;
    return 1;
}

/* Note a link to an internal URL; returns whether the URL is to be told, -1 on failure. */
static inline int is_new_internal(Page *p, uint64_t hash)
{
    p->internal_times++;
    int first = is_first(p, hash);
    if (first <= 0 || !p->seen || !has_print(p->seen, hash))
        return first;
    p->listed++;
    return 0;
}

static int count_internal(Page *p, uint64_t hash, PyObject *url)
{
    int new = is_new_internal(p, hash);
    return new <= 0 ? new : PyList_Append(p->internal, url);
}

static int count_external(Page *p, uint64_t hash, PyObject *url)
{
    p->external_times++;
    int first = is_first(p, hash);
    return first <= 0 ? first : PyList_Append(p->external, url);
}

static int count(Links *k, Page *p, size_t index)
{
    Link *link = &k->links[index];
    if (link->kind == INTERNAL)
        return count_internal(p, link->hash, link->what);
    if (link->kind == EXTERNAL)
        return count_external(p, link->hash, link->what);
    link->times = link->page == k->page ? link->times + 1 : 1;
    link->page = k->page;
    return 0;
}

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

/* Count a link of which was learned what it comes to; `e` is what to remember of its href, if it is to be. */
static int count_known(Links *k, Page *p, PyObject *known, const Entry *e, const char *path)
{
    PyObject *what;
    int kind = kind_of(known, &what);
    if (kind < 0)
        return -1;
    if (e && kind == EXTERNAL && !met_before(e->hash ^ k->party)) { /* many external links stand on one page alone */
        keep_for_once(e->hash ^ k->party, path, e->length, what);
        e = NULL;
    }
    Py_ssize_t link = kind == REFUSED ? find_reason(k, what) : find_url(k, what, kind);
    if (link < 0 && PyErr_Occurred())
        return -1;
    if (link < 0 && !e && kind == INTERNAL)
        return count_internal(p, hash_of_url(what), what);
    if (link < 0 && !e && kind == EXTERNAL)
        return count_external(p, hash_of_url(what), what);
    if (link < 0)
        link = add_link(k, what, kind);
    if (link < 0 || (e && remember(k, e->hash, e->where, path, e->length, (size_t)link) < 0))
        return -1;
    p->remembered += e != NULL;
    return count(k, p, (size_t)link);
}

/* Return the hash of the URL of a name in the folder at hand; `path` is the href, and may begin before the name. */
static inline uint64_t hash_in_folder(Page *p, const char *path, const char *name, const char *end)
{
    size_t whole = (size_t)(p->folder_length + (end - name));
#if PY_LITTLE_ENDIAN
    return sip_end_of_both(p->folder_hash, p->folder_rest, whole, path, name, end);
#else
    (void)path;
    memcpy(p->url + p->folder_length, name, (size_t)(end - name));
    return sip_end(p->folder_hash, p->url, (size_t)p->folder_length / 8 * 8, whole);
#endif
}

/* Count a link that leads into a sure folder; returns 0 if it does not, -1 on failure. */
static int count_in_sure_folder(Links *k, Page *p, const char *path, Py_ssize_t length)
{
    Py_ssize_t start = in_sure_folder(k, p, path, length);
    if (start < 0)
        return start < -1 ? -1 : 0;
    int new = is_new_internal(p, hash_in_folder(p, path, path + start, path + length));
    if (new <= 0)
        return new < 0 ? -1 : 1;
    memcpy(p->url + p->folder_length, path + start, (size_t)(length - start));
    PyObject *made = PyUnicode_FromStringAndSize(p->url, p->folder_length + length - start);
    int done = made ? PyList_Append(p->internal, made) : -1;
    Py_XDECREF(made);
    return done < 0 ? -1 : 1;
}

/* Count the link of an href. */
static int look_up_one(Links *k, Page *p, const char *href, Py_ssize_t length, Py_ssize_t path_length)
{
    int rooted = is_rooted(href, path_length), is_whole = rooted && href[0] != '/';
    if (!is_whole) { /* what names a host is mostly external, and known */
        int done = count_in_sure_folder(k, p, href, path_length);
        if (done)
            return done < 0 ? -1 : 0;
    }
    Entry e = {0, rooted ? p->origin : p->folder, 0, 0, 0};
    int keeps = path_length <= LONGEST_KNOWN, learned_keeps = 1;
    if (keeps) {
        e.length = (uint32_t)path_length;
        e.hash = hash_of(e.where, href, e.length);
        const Entry *found = find_entry(k, e.hash, e.where, href, e.length);
        if (found)
            return count(k, p, found->link);
    }
    if (is_whole) {
        int done = count_in_sure_folder(k, p, href, path_length);
        if (done)
            return done < 0 ? -1 : 0;
    }
    int external = is_whole && keeps;
    if (external && !is_kept_for_once(e.hash ^ k->party, href, e.length))
        external = is_external(p, href, path_length);
    if (external < 0)
        return -1;
    PyObject *known = external ? Py_BuildValue("(s#)", href, path_length)
                               : learn(p, href, length, path_length, &learned_keeps);
    if (!known)
        return -1;
    keeps = keeps && learned_keeps && p->remembered < p->room;
    int done = count_known(k, p, known, keeps ? &e : NULL, href);
    Py_DECREF(known);
    return done;
}

static int look_up_all(Links *k, Page *p, const char *hrefs, Py_ssize_t size, int is_page)
{
    const char *end = hrefs + size;
    for (const char *href = hrefs;;) {
        const char *next = memchr(href, 0, (size_t)(end - href));
        const char *stop = next ? next : end;
        const char *sharp = memchr(href, '#', (size_t)(stop - href));
        Py_ssize_t path_length = (sharp ? sharp : stop) - href;
        if (!path_length && is_page)
            p->same_page++;
        else if (look_up_one(k, p, href, stop - href, path_length) < 0)
            return -1;
        if (!next)
            return 0;
        href = next + 1;
    }
}

static PyObject *refused_here(const Links *k)
{
    PyObject *refused = PyDict_New();
    for (size_t i = 0; refused && i < k->reason_count; i++) {
        const Link *link = &k->links[k->reasons[i]];
        if (link->page != k->page)
            continue;
        PyObject *times = PyLong_FromUnsignedLong(link->times);
        if (!times || PyDict_SetItem(refused, link->what, times) < 0)
            Py_CLEAR(refused);
        Py_XDECREF(times);
    }
    return refused;
}

static void next_page(Links *k)
{
    if (++k->page)
        return;
    k->page = 1; /* the number has run over: nothing was met yet */
    for (size_t i = 0; i < k->link_count; i++)
        k->links[i].page = 0;
}

static PyTypeObject seen_type;

/* Note the page's folder and origin, in which plain hrefs are resolved here; of any others they are resolved by Python. */
static void take_folder(Page *p, PyObject *folder, PyObject *root)
{
    if (!PyUnicode_CheckExact(folder) || !PyUnicode_CheckExact(root) || !PyUnicode_IS_ASCII(folder)
        || !PyUnicode_IS_ASCII(root))
        return;
    const char *base = PyUnicode_DATA(folder);
    Py_ssize_t length = PyUnicode_GET_LENGTH(folder), root_length = PyUnicode_GET_LENGTH(root);
    if (!root_length || root_length > length || memcmp(base, PyUnicode_DATA(root), (size_t)root_length)
        || base[root_length - 1] != '/' || base[length - 1] != '/')
        return;
    p->base = base;
    p->base_length = length;
    p->root_length = root_length;
}

static int take_elsewhere(PyObject *rules, Elsewhere *e)
{
    if (!PyTuple_Check(rules)) {
        PyErr_SetString(PyExc_TypeError, "rules must be a tuple");
        return -1;
    }
    return PyArg_ParseTuple(rules, "O!O!O!(nnn)p", &PyTuple_Type, &e->prefixes, &PyDict_Type, &e->aliases, &PyTuple_Type,
                            &e->marks, &e->segments, &e->repeats, &e->parameters, &e->sorts) ? 0 : -1;
}

PyDoc_STRVAR(look_up_doc, "look_up(hrefs, is_page, folder, rules, room, learn, seen): see `lookup.KnownLinks`.");

static PyObject *look_up(Links *k, PyObject *args)
{
    Page p; /* all but `url`, which is long, is set to zero */
    PyObject *hrefs, *result = NULL, *folder, *root, *elsewhere, *seen;
    int is_page, is_plain;
    unsigned int folder_number, origin_number;
    memset(&p, 0, offsetof(Page, url));
    memset(p.usual, 0, sizeof p.usual);
    p.good_length = p.above_length = -1;
    if (!PyArg_ParseTuple(args, "O!p(OOpII)(OnO!O)nOO:look_up", &PyBytes_Type, &hrefs, &is_page, &folder, &root, &is_plain,
                          &folder_number, &origin_number, &p.refused_types, &p.max_length, &PySet_Type, &p.sure,
                          &elsewhere, &p.room, &p.learn, &seen))
        return NULL;
    if (elsewhere != Py_None && take_elsewhere(elsewhere, &p.elsewhere) < 0)
        return NULL;
    if (is_plain)
        take_folder(&p, folder, root);
    if (k->busy) {
        PyErr_SetString(PyExc_RuntimeError, "links are looked up already");
        return NULL;
    }
    p.folder = folder_number * WHERES + IN_FOLDER;
    p.origin = origin_number * WHERES + IN_ORIGIN;
    p.seen = PyObject_TypeCheck(seen, &seen_type) ? &((SeenUrls *)seen)->prints : NULL;
    p.met = p.usual;
    p.met_slot_count = USUAL_URLS * 2;
    k->busy = 1;
    next_page(k);
    p.internal = PyList_New(0);
    p.external = PyList_New(0);
    if (p.internal && p.external && look_up_all(k, &p, PyBytes_AS_STRING(hrefs), PyBytes_GET_SIZE(hrefs), is_page) == 0) {
        PyObject *refused = refused_here(k);
        if (refused)
            result = Py_BuildValue("OnOnnNnn", p.internal, p.internal_times, p.external, p.external_times, p.same_page,
                                   refused, p.remembered, p.listed);
    }
    k->busy = 0;
    if (p.met != p.usual)
        PyMem_Free(p.met);
    Py_XDECREF(p.internal);
    Py_XDECREF(p.external);
    return result;
}

static PyObject *links_new(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(named))
{
    Links *k = (Links *)type->tp_alloc(type, 0);
    if (k)
        k->party = ++parties * 0x9e3779b97f4a7c15u; /* an odd number: no two products are the same */
    return (PyObject *)k;
}

static void dealloc(Links *k)
{
    for (size_t i = 0; i < k->link_count; i++)
        Py_DECREF(k->links[i].what);
    PyMem_Free(k->entries);
    PyMem_Free(k->keys);
    PyMem_Free(k->links);
    PyMem_Free(k->entry_slots);
    PyMem_Free(k->url_slots);
    PyMem_Free(k->reasons);
    Py_TYPE(k)->tp_free((PyObject *)k);
}

static PyMethodDef links_methods[] = {
    {"look_up", (PyCFunction)look_up, METH_VARARGS, look_up_doc},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject links_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "scrawler.urls._lookup.KnownLinks",
    .tp_basicsize = sizeof(Links),
    .tp_dealloc = (destructor)dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "The links that a party knows.",
    .tp_methods = links_methods,
    .tp_new = links_new,
};

/* Make room for so many URLs more, and reserve the memory for it; an exception of the budget's leaves all as it was. */
static int make_room(SeenUrls *s, size_t more)
{
    size_t slots = slots_for(&s->prints, s->prints.count + more), size = slots * PRINT_BYTES;
    if (slots == s->prints.slot_count)
        return 0;
    if (size > s->reserved) {
        PyObject *taken = PyObject_CallMethod(s->budget, "take", "n", (Py_ssize_t)(size - s->reserved));
        if (!taken)
            return -1;
        Py_DECREF(taken);
        s->reserved = size;
    }
    /* Python has run meanwhile, and may have added some: what is needed is told anew. */
    return resize_prints(&s->prints, slots_for(&s->prints, s->prints.count + more));
}

/* Add those of the URLs to a list that are not in; some may be there twice. */
static int find_new(const SeenUrls *s, PyObject *urls, PyObject *new)
{
    PyObject *all = PySequence_Fast(urls, "the URLs must be iterable");
    if (!all)
        return -1;
    int done = 0;
    for (Py_ssize_t i = 0; !done && i < PySequence_Fast_GET_SIZE(all); i++) {
        PyObject *url = PySequence_Fast_GET_ITEM(all, i);
        if (!PyUnicode_Check(url)) {
            PyErr_SetString(PyExc_TypeError, "a URL must be a string");
            done = -1;
        }
        else if (!has_print(&s->prints, hash_of_url(url)))
            done = PyList_Append(new, url);
    }
    Py_DECREF(all);
    return done;
}

/* Leave each URL of a list in it once. */
static int leave_once(PyObject *urls)
{
    Py_ssize_t kept = 0, count = PyList_GET_SIZE(urls);
    Prints met = {NULL, 0, 0};
    if (count < 2)
        return 0;
    if (resize_prints(&met, slots_for(&met, (size_t)count)) < 0)
        return -1;
    for (Py_ssize_t i = 0; i < count; i++) { /* those that came before go behind the others */
        PyObject *url = PyList_GET_ITEM(urls, i);
        if (!add_print(&met, hash_of_url(url)))
            continue;
        PyList_SET_ITEM(urls, i, PyList_GET_ITEM(urls, kept));
        PyList_SET_ITEM(urls, kept++, url);
    }
    PyMem_Free(met.slots);
    return kept == count ? 0 : PyList_SetSlice(urls, kept, count, NULL);
}

PyDoc_STRVAR(unseen_doc, "unseen(urls): see `core.seen.SeenFilter`.");

static PyObject *unseen(SeenUrls *s, PyObject *urls)
{
    PyObject *new = PyList_New(0);
    if (new && (find_new(s, urls, new) < 0 || leave_once(new) < 0 || make_room(s, (size_t)PyList_GET_SIZE(new)) < 0))
        Py_CLEAR(new);
    return new;
}

PyDoc_STRVAR(add_doc, "add(urls): see `core.seen.SeenFilter`.");

static PyObject *seen_add(SeenUrls *s, PyObject *urls)
{
    if (!PyList_Check(urls)) {
        PyErr_SetString(PyExc_TypeError, "the URLs must be a list");
        return NULL;
    }
    if (make_room(s, (size_t)PyList_GET_SIZE(urls)) < 0) /* it is made here where `unseen` has not made it */
        return NULL;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(urls); i++)
        if (PyUnicode_Check(PyList_GET_ITEM(urls, i)))
            add_print(&s->prints, hash_of_url(PyList_GET_ITEM(urls, i)));
    Py_RETURN_NONE;
}

static int seen_contains(SeenUrls *s, PyObject *url)
{
    return PyUnicode_Check(url) && has_print(&s->prints, hash_of_url(url));
}

PyDoc_STRVAR(close_doc, "close(): see `core.seen.SeenFilter`.");

static PyObject *seen_close(SeenUrls *s, PyObject *Py_UNUSED(nothing))
{
    PyMem_Free(s->prints.slots);
    s->prints = (Prints){NULL, 0, 0};
    size_t size = s->reserved;
    s->reserved = 0;
    return PyObject_CallMethod(s->budget, "give_back", "n", (Py_ssize_t)size);
}

static PyObject *seen_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    PyObject *budget;
    static char *names[] = {"budget", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, named, "O:SeenUrls", names, &budget))
        return NULL;
    SeenUrls *s = (SeenUrls *)type->tp_alloc(type, 0);
    if (s)
        s->budget = Py_NewRef(budget);
    return (PyObject *)s;
}

static void seen_dealloc(SeenUrls *s)
{
    Py_XDECREF(s->budget);
    PyMem_Free(s->prints.slots);
    Py_TYPE(s)->tp_free((PyObject *)s);
}

static PyMethodDef seen_methods[] = {
    {"unseen", (PyCFunction)unseen, METH_O, unseen_doc},
    {"add", (PyCFunction)seen_add, METH_O, add_doc},
    {"close", (PyCFunction)seen_close, METH_NOARGS, close_doc},
    {NULL, NULL, 0, NULL},
};

static PySequenceMethods seen_as_sequence = {.sq_contains = (objobjproc)seen_contains};

static PyTypeObject seen_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "scrawler.urls._lookup.SeenUrls",
    .tp_basicsize = sizeof(SeenUrls),
    .tp_dealloc = (destructor)seen_dealloc,
    .tp_as_sequence = &seen_as_sequence,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "A seen filter: see `core.seen`.",
    .tp_methods = seen_methods,
    .tp_new = seen_new,
};

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

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_lookup", "The compiled form of the look-up of known links.", -1, NULL, NULL, NULL, NULL,
    NULL,
};

PyMODINIT_FUNC PyInit__lookup(void)
{
    for (int c = 0; c < 256; c++)
        in_names[c] = (unsigned char)is_in_name((char)c);
    PyObject *module = draw_secret() < 0 ? NULL : PyModule_Create(&definition);
    if (module && (PyModule_AddIntMacro(module, INTERFACE) < 0 || PyModule_AddType(module, &links_type) < 0
                   || PyModule_AddType(module, &seen_type) < 0))
        Py_CLEAR(module);
    return module;
}
