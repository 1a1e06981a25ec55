/* Which URLs were met: of each a print is kept, so many bits of its hash, in a table with linear probing.
 *
 * A URL is taken for another one if their prints are the same: among ten million that happens to one in 28 million. A
 * print's place follows from its upper bits, so that a larger table is filled from its begin to its end.
 */
#ifndef SCRAWLER_SEEN_H
#define SCRAWLER_SEEN_H

enum { PRINT_BYTES = 6, FIRST_PRINTS = 32 };
#define PRINT_MASK ((1ULL << 8 * PRINT_BYTES) - 1)

typedef struct {
    unsigned char *slots; /* each has PRINT_BYTES; 0 is a free one */
    size_t slot_count, count;
} Prints;

static inline uint64_t print_of(uint64_t hash)
{
    uint64_t print = hash & PRINT_MASK;
    return print ? print : 1;
}

static inline uint64_t print_at(const Prints *p, size_t at)
{
    uint32_t low;
    uint16_t high;
    memcpy(&low, p->slots + at * PRINT_BYTES, sizeof low);
    memcpy(&high, p->slots + at * PRINT_BYTES + sizeof low, sizeof high);
    return low | (uint64_t)high << 32;
}

static inline void put_print(Prints *p, size_t at, uint64_t print)
{
    uint32_t low = (uint32_t)print;
    uint16_t high = (uint16_t)(print >> 32);
    memcpy(p->slots + at * PRINT_BYTES, &low, sizeof low);
    memcpy(p->slots + at * PRINT_BYTES + sizeof low, &high, sizeof high);
}

/* Return the slot of a print, or the free one that it would get; there is a free one. */
static inline size_t place_of(const Prints *p, uint64_t print)
{
    size_t at = (size_t)((print >> 16) * p->slot_count >> 32);
    for (uint64_t there; (there = print_at(p, at)) && there != print;)
        at = at + 1 < p->slot_count ? at + 1 : 0;
    return at;
}

static inline int has_print(const Prints *p, uint64_t hash)
{
    return p->slot_count && print_at(p, place_of(p, print_of(hash)));
}

/* Return how many slots there are to be for so many prints: a seventh of them at least is free. */
static size_t slots_for(const Prints *p, size_t count)
{
    size_t slots = p->slot_count ? p->slot_count : FIRST_PRINTS;
    while (slots * 6 < count * 7)
        slots += slots / 2;
    return slots;
}

/* Let there be so many slots, as `slots_for` said. */
static int resize_prints(Prints *p, size_t slots)
{
    Prints larger = {slots < UINT32_MAX ? PyMem_Calloc(slots, PRINT_BYTES) : NULL, slots, p->count};
    if (!larger.slots) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t at = 0; at < p->slot_count; at++) {
        uint64_t print = print_at(p, at);
        if (print)
            put_print(&larger, place_of(&larger, print), print);
    }
    PyMem_Free(p->slots);
    *p = larger;
    return 0;
}

/* Add a print for which there is room; returns whether it is new. */
static int add_print(Prints *p, uint64_t hash)
{
    uint64_t print = print_of(hash);
    size_t at = place_of(p, print);
    if (print_at(p, at))
        return 0;
    put_print(p, at, print);
    p->count++;
    return 1;
}

#endif
