/* Where a byte stands next. Texts and values are short, so that a call of memchr costs more than the search itself: the
 * first bytes are looked at here.
 */

#define EACH(byte) ((uint64_t)0x0101010101010101u * (byte)) /* a number of eight such bytes */

#if defined(__SSE2__) && defined(__GNUC__)
#include <emmintrin.h>
#define LOOKED_AT 32 /* so many bytes, in steps of 16 */

static inline const uint8_t *find_byte(const uint8_t *p, const uint8_t *end, int byte)
{
    const __m128i wanted = _mm_set1_epi8((char)byte);
    if (end - p >= LOOKED_AT) {
        for (int at = 0; at < LOOKED_AT; at += 16) {
            __m128i there = _mm_loadu_si128((const __m128i *)(p + at));
            unsigned found = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(there, wanted));
            if (found)
                return p + at + __builtin_ctz(found);
        }
        p += LOOKED_AT;
    }
    return memchr(p, byte, (size_t)(end - p));
}
#else
static inline const uint8_t *find_byte(const uint8_t *p, const uint8_t *end, int byte)
{
    return memchr(p, byte, (size_t)(end - p));
}
#endif
