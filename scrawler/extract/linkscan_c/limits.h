/* The bounds of a scan. */

#define DEEPEST 5000             /* so many open elements are followed; hazards.MAX_DEPTH is the same */
#define MOST_ATTRIBUTES 1000     /* a page with a tag of more is called deep */
#define STEPS_A_BYTE 64          /* so many may be gone over the stack and the list of formatting elements */
#define STEPS_AT_LEAST 1000000   /* so many steps may be gone on a short page as well */
#define COMPARED_A_STEP 16       /* to compare so many bytes of attributes counts as a step */
#define MOST_OTHERS 100000       /* so many that say something, and are neither a nor area, are kept of a page */
#define FIRST_OPEN 64            /* there is room for so many open elements from the start */
#define UNLOCKED_FROM 262144     /* while a page of so many bytes is scanned, other threads may run Python */
#define MADE_AT_ONCE 8192        /* the strings of so many elements are made before others may run */
