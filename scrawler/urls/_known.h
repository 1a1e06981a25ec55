/* What a party knows of hrefs: each comes to a link, a URL or a verdict, held once however many hrefs lead to it. */
#ifndef SCRAWLER_KNOWN_H
#define SCRAWLER_KNOWN_H

#include "_siphash.h"

enum { INTERNAL, EXTERNAL, REFUSED }; /* kinds of links: URLs of two kinds, and verdicts */

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

#endif
