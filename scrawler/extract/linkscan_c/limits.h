/* The bounds of a scan. */

#define DEEPEST 5000             /* open elements that are followed; also hazards.MAX_DEPTH */
#define MOST_ATTRIBUTES 1000     /* of one tag of a page that is not called deep */
#define STEPS_A_BYTE 64          /* that may be gone over the stack and the list of formatting elements */
#define STEPS_AT_LEAST 1000000   /* the same, on a short page */
#define COMPARED_A_STEP 16       /* bytes of the attributes of two formatting elements that count as a step */
#define MOST_OTHERS 100000       /* elements of one page that say something and are neither a nor area */
#define FIRST_OPEN 64            /* open elements for which there is room from the start */
#define UNLOCKED_FROM 262144     /* bytes of a page during whose scan other threads may run Python */
#define MADE_AT_ONCE 8192        /* elements whose strings are made before others may run */
