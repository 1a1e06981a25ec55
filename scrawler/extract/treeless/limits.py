"""The bounds of a scan; also in `linkscan_c/limits.h`."""

DEEPEST = 5_000  # open elements that are followed; hazards.MAX_DEPTH
MOST_ATTRIBUTES = 1_000  # of one tag of a page that is not called deep
STEPS_A_BYTE, STEPS_AT_LEAST = 64, 1_000_000  # over the stack and the list of active formatting elements
MOST_OTHERS = 100_000  # elements of one page that say something and are neither <a> nor <area>
COMPARED_A_STEP = 16  # bytes of the attributes of two formatting elements
