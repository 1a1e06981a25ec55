/* Sums of all rows of a table in one pass, as functions of SQLite's own: what `sqlite_sums.py` says.
 *
 * SQLite groups rows by sorting them, or in a table that it looks each row's group up in; here a group is found in a
 * table in memory, which costs a quarter. What does not fit there (numbers out of all bounds, very many groups, a text
 * of another form) makes the whole sum NULL, and it is made by SQL then. Functions run without Python's lock, and know
 * nothing of Python. The functions of SQLite are those of the library that Python's module has loaded.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INTERFACE 1 /* see scrawler/compiled.py */

/* Those of page_sums.py and reports.py: upper bounds, exclusive, and the depth as of which pages count alike. */
static const int64_t SIZES[] = {1000, 10000, 100000, 1000000, 10000000, 100000000};
static const int64_t TIMES[] = {10, 30, 100, 300, 1000, 3000, 10000, 30000};
static const int64_t PARTIES[] = {1, 2, 10, 100, 1000, 10000, 100000};
#define COUNT(bounds) ((int)(sizeof(bounds) / sizeof(bounds)[0]))
enum {
    DEEPEST = 100,
    SIZE_CLASSES = COUNT(SIZES) + 1,
    TIME_CLASSES = COUNT(TIMES) + 1,
    PARTY_CLASSES = COUNT(PARTIES) + 1,
    TOP = 10, /* sites that are told by name */
    MOST_DIGITS = 18, /* so many always fit a number */
    UTF8 = 1, /* what SQLite's header calls SQLITE_UTF8, SQLITE_DETERMINISTIC, SQLITE_DIRECTONLY */
    DETERMINISTIC = 0x800,
    DIRECT_ONLY = 0x80000,
};
/* More than these are left to SQL, which can write to a file: some 100 MB at most are taken here. */
enum { MOST_NAMES = 1 << 14, MOST_GROUPS = 1 << 18, MOST_SITES = 3 << 19 };

typedef struct sqlite3 Connection;
typedef struct sqlite3_context Context;
typedef struct sqlite3_value Value;
typedef void Step(Context *, int, Value **);
typedef void Final(Context *);
typedef int Entry(Connection *, char **, const void *);

static struct {
    int (*auto_extension)(Entry *);
    int (*create_function_v2)(Connection *, const char *, int, int, void *, Step *, Step *, Final *, void (*)(void *));
    void *(*aggregate_context)(Context *, int);
    int64_t (*value_int64)(Value *);
    const unsigned char *(*value_text)(Value *);
    int (*value_bytes)(Value *);
    void (*result_text)(Context *, const char *, int, void (*)(void *));
    void (*result_null)(Context *);
} sqlite;

static int class_of(int64_t value, const int64_t *bounds, int count)
{
    int class = 0;
    while (class < count && value >= bounds[class])
        class++;
    return class;
}

/* Add to a sum; returns 0 where it would be too large for a number. */
static int add(int64_t *sum, int64_t value)
{
    return !__builtin_add_overflow(*sum, value, sum);
}

static size_t mixed(uint64_t key)
{
    key *= 0x9e3779b97f4a7c15u;
    return (size_t)(key ^ key >> 32);
}

/* A text that grows, as the result of a function; `failed` where there was no memory for it. */
typedef struct { char *text; size_t length, room; int failed; } Out;

static char *more(Out *out, size_t bytes)
{
    if (out->length + bytes > out->room) {
        size_t room = 2 * (out->length + bytes);
        char *text = out->failed || room > INT32_MAX ? NULL : realloc(out->text, room);
        if (!text) {
            out->failed = 1;
            return NULL;
        }
        out->text = text;
        out->room = room;
    }
    return out->text + out->length;
}

static void put(Out *out, char mark)
{
    char *to = more(out, 1);
    if (to)
        *to = mark, out->length++;
}

static void put_number(Out *out, int64_t number)
{
    char *to = more(out, 24);
    if (to)
        out->length += (size_t)snprintf(to, 24, "%lld,", (long long)number);
}

static void put_hex(Out *out, const char *text, size_t length)
{
    char *to = more(out, 2 * length + 3);
    if (!to)
        return;
    *to++ = '"';
    for (size_t i = 0; i < length; i++, to += 2) {
        to[0] = "0123456789abcdef"[(unsigned char)text[i] >> 4];
        to[1] = "0123456789abcdef"[text[i] & 15];
    }
    *to++ = '"';
    *to = ',';
    out->length += 2 * length + 3;
}

/* End a list: in the place of the comma behind its last item. */
static void put_end(Out *out)
{
    if (!out->failed && out->length && out->text[out->length - 1] == ',')
        out->length--;
    put(out, ']');
    put(out, ',');
}

static void give(Context *context, Out *out)
{
    if (out->failed || !out->length) {
        sqlite.result_null(context);
        free(out->text);
    } else {
        sqlite.result_text(context, out->text, (int)out->length - 1, free); /* without the last comma */
    }
}

/* Names are numbered as they come first. The last one that was asked for is often the next one. */
typedef struct {
    char *text;
    int length;
    int64_t pages, bytes, longest;
    int64_t (*cells)[2]; /* pages and bytes, by classes of size and time */
} Name;
typedef struct { Name *names; int *places, count, size, last; } Names; /* places: 1 + the number of a name, or 0 */

static size_t hash_of(const char *text, int length)
{
    uint64_t hash = (uint64_t)length;
    for (int i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    return mixed(hash);
}

static int is_name(const Name *name, const char *text, int length)
{
    return name->length == length && !memcmp(name->text, text, (size_t)length);
}

static int *place_of_name(const Names *names, const char *text, int length)
{
    size_t at = hash_of(text, length) & (size_t)(names->size - 1);
    while (names->places[at] && !is_name(&names->names[names->places[at] - 1], text, length))
        at = (at + 1) & (size_t)(names->size - 1);
    return &names->places[at];
}

static int grow_names(Names *names)
{
    int size = names->size ? 2 * names->size : 64;
    Name *moved = realloc(names->names, sizeof(Name) * (size_t)size / 2);
    if (moved)
        names->names = moved;
    int *places = moved ? calloc((size_t)size, sizeof(int)) : NULL;
    if (!places)
        return 0;
    free(names->places);
    names->places = places;
    names->size = size;
    for (int i = 0; i < names->count; i++)
        *place_of_name(names, moved[i].text, moved[i].length) = i + 1;
    return 1;
}

/* Return the number of a name, or -1 where there is no room for it. */
static int number_of(Names *names, const char *text, int length)
{
    if (names->count && is_name(&names->names[names->last], text, length))
        return names->last;
    if (names->count >= MOST_NAMES || (2 * names->count >= names->size && !grow_names(names)))
        return -1;
    int *place = place_of_name(names, text, length);
    if (!*place) {
        char *kept = malloc((size_t)length + 1);
        if (!kept)
            return -1;
        memcpy(kept, text, (size_t)length);
        names->names[names->count] = (Name){.text = kept, .length = length};
        *place = ++names->count;
    }
    return names->last = *place - 1;
}

static int number_of_value(Names *names, Value *value)
{
    const char *text = (const char *)sqlite.value_text(value);
    return text ? number_of(names, text, sqlite.value_bytes(value)) : -1;
}

static void put_names(Out *out, const Names *names)
{
    put(out, '[');
    for (int i = 0; i < names->count; i++)
        put_hex(out, names->names[i].text, (size_t)names->names[i].length);
    put_end(out);
}

static void free_names(Names *names)
{
    for (int i = 0; i < names->count; i++) {
        free(names->names[i].text);
        free(names->names[i].cells);
    }
    free(names->names);
    free(names->places);
}

/* Pages that have these in common, and their sums: PageSum of page_sums.py. */
typedef struct {
    int32_t status, flags, period;
    int16_t result, depth;
    int64_t pages, bytes, retried, first_at, last_at, first_id; /* of no pages: an empty place */
} Group;
typedef struct { Group *groups; size_t size, count; Names results, types; int failed; } Pages;

static Group *place_of_group(const Pages *pages, const Group *like)
{
    uint64_t own = (uint64_t)like->result << 48 ^ (uint64_t)like->depth << 40 ^ (uint64_t)like->status << 24;
    size_t at = mixed(own ^ (uint64_t)like->flags ^ mixed((uint64_t)like->period)) & (pages->size - 1);
    for (Group *one;; at = (at + 1) & (pages->size - 1)) {
        one = &pages->groups[at];
        if (!one->pages
            || (one->status == like->status && one->flags == like->flags && one->period == like->period
                && one->result == like->result && one->depth == like->depth))
            return one;
    }
}

static int grow_pages(Pages *pages)
{
    Pages grown = *pages;
    grown.size = pages->size ? 2 * pages->size : 1024;
    if (grown.size > 2 * MOST_GROUPS || !(grown.groups = calloc(grown.size, sizeof(Group))))
        return 0;
    for (size_t i = 0; i < pages->size; i++)
        if (pages->groups[i].pages)
            *place_of_group(&grown, &pages->groups[i]) = pages->groups[i];
    free(pages->groups);
    *pages = grown;
    return 1;
}

static int add_to_group(Pages *pages, const Group *like, int64_t length, int retried, int64_t at, int64_t id)
{
    if (2 * pages->count >= pages->size && !grow_pages(pages))
        return 0;
    Group *group = place_of_group(pages, like);
    if (!group->pages) {
        *group = *like;
        group->first_at = group->last_at = at;
        group->first_id = id;
        pages->count++;
    }
    group->pages++;
    group->retried += retried;
    if (at < group->first_at)
        group->first_at = at;
    if (at > group->last_at)
        group->last_at = at;
    if (id < group->first_id)
        group->first_id = id;
    return add(&group->bytes, length);
}

static int add_to_type(Name *type, int64_t length, int64_t elapsed)
{
    if (!type->cells && !(type->cells = calloc(SIZE_CLASSES * TIME_CLASSES, sizeof *type->cells)))
        return 0;
    int size = class_of(length, SIZES, COUNT(SIZES)), time = class_of(elapsed, TIMES, COUNT(TIMES));
    int64_t *cell = type->cells[size * TIME_CLASSES + time];
    cell[0]++;
    type->pages++;
    if (length > type->longest)
        type->longest = length;
    return add(&cell[1], length) && add(&type->bytes, length);
}

static int is_within(int64_t number)
{
    return number >= 0 && number <= INT32_MAX;
}

/* The arguments are columns of a page's row, and the length of a period. */
enum { ID, RESULT, STATUS, DEPTH, FLAGS, TYPE, LENGTH, ELAPSED, ATTEMPTS, FETCHED_AT, PERIOD, PAGE_ARGUMENTS };

static int add_page(Pages *pages, Value **values)
{
    int64_t status = sqlite.value_int64(values[STATUS]), depth = sqlite.value_int64(values[DEPTH]);
    int64_t flags = sqlite.value_int64(values[FLAGS]), length = sqlite.value_int64(values[LENGTH]);
    int64_t at = sqlite.value_int64(values[FETCHED_AT]), period = sqlite.value_int64(values[PERIOD]);
    int result = number_of_value(&pages->results, values[RESULT]);
    if (period < 1 || at < 0 || !is_within(at / period) || !is_within(status) || !is_within(flags) || depth < 0
        || result < 0 || result > INT16_MAX)
        return 0;
    Group like = {
        .status = (int32_t)status,
        .flags = (int32_t)flags,
        .period = (int32_t)(at / period),
        .result = (int16_t)result,
        .depth = (int16_t)(depth < DEEPEST ? depth : DEEPEST),
    };
    int retried = sqlite.value_int64(values[ATTEMPTS]) > 1;
    if (!add_to_group(pages, &like, length, retried, at, sqlite.value_int64(values[ID])))
        return 0;
    if (!is_name(&pages->results.names[result], "fetched", 7))
        return 1;
    int type = number_of_value(&pages->types, values[TYPE]);
    return type >= 0 && add_to_type(&pages->types.names[type], length, sqlite.value_int64(values[ELAPSED]));
}

static void step_pages(Context *context, int count, Value **values)
{
    (void)count;
    Pages *pages = sqlite.aggregate_context(context, sizeof(Pages));
    if (pages && !pages->failed)
        pages->failed = !add_page(pages, values);
}

static void put_groups(Out *out, const Pages *pages)
{
    put(out, '[');
    for (size_t i = 0; i < pages->size; i++) {
        const Group *one = &pages->groups[i];
        if (!one->pages)
            continue;
        const int64_t row[] = {one->result, one->status, one->depth, one->flags, one->period, one->pages, one->bytes,
            one->retried, one->first_at, one->last_at, one->first_id};
        put(out, '[');
        for (int column = 0; column < COUNT(row); column++)
            put_number(out, row[column]);
        put_end(out);
    }
    put_end(out);
}

/* Each media type: pages, bytes, the longest, and a list of its cells that are not empty. */
static void put_types(Out *out, const Names *types)
{
    put(out, '[');
    for (int i = 0; i < types->count; i++) {
        const Name *type = &types->names[i];
        put(out, '[');
        put_number(out, type->pages);
        put_number(out, type->bytes);
        put_number(out, type->longest);
        put(out, '[');
        for (int cell = 0; type->cells && cell < SIZE_CLASSES * TIME_CLASSES; cell++) {
            if (!type->cells[cell][0])
                continue;
            put(out, '[');
            put_number(out, cell / TIME_CLASSES);
            put_number(out, cell % TIME_CLASSES);
            put_number(out, type->cells[cell][0]);
            put_number(out, type->cells[cell][1]);
            put_end(out);
        }
        put_end(out);
        put_end(out);
    }
    put_end(out);
}

static void end_pages(Context *context)
{
    Out out = {0};
    Pages *pages = sqlite.aggregate_context(context, 0);
    if (pages) {
        if (!pages->failed) {
            put(&out, '[');
            put_names(&out, &pages->results);
            put_groups(&out, pages);
            put_names(&out, &pages->types);
            put_types(&out, &pages->types);
            put_end(&out);
        }
        free_names(&pages->results);
        free_names(&pages->types);
        free(pages->groups);
    }
    give(context, &out);
}

/* Sites, and the sums of their seeds: pages, requests, milliseconds in work. The number 0 is an empty place. */
typedef struct { int64_t id, pages, requests, busy; } Site;
typedef struct { Site *sites; size_t size, count; int failed; } Sites;

static Site *place_of_site(const Sites *sites, int64_t id)
{
    size_t at = mixed((uint64_t)id) & (sites->size - 1);
    while (sites->sites[at].id && sites->sites[at].id != id)
        at = (at + 1) & (sites->size - 1);
    return &sites->sites[at];
}

static int grow_sites(Sites *sites)
{
    Sites grown = *sites;
    grown.size = sites->size ? 2 * sites->size : 1024;
    if (sites->count >= MOST_SITES || !(grown.sites = calloc(grown.size, sizeof(Site))))
        return 0;
    for (size_t i = 0; i < sites->size; i++)
        if (sites->sites[i].id)
            *place_of_site(&grown, sites->sites[i].id) = sites->sites[i];
    free(sites->sites);
    *sites = grown;
    return 1;
}

static void step_sites(Context *context, int count, Value **values)
{
    (void)count;
    Sites *sites = sqlite.aggregate_context(context, sizeof(Sites));
    if (!sites || sites->failed)
        return;
    int64_t id = sqlite.value_int64(values[0]);
    sites->failed = !id || (4 * sites->count >= 3 * sites->size && !grow_sites(sites));
    if (sites->failed)
        return;
    Site *site = place_of_site(sites, id);
    sites->count += !site->id;
    site->id = id;
    sites->failed = !add(&site->pages, sqlite.value_int64(values[1]))
        || !add(&site->requests, sqlite.value_int64(values[2])) || !add(&site->busy, sqlite.value_int64(values[3]));
}

/* Keep the sites with the highest values (counts of pages are exact as doubles), of equal ones those with the lowest
 * numbers, in this order. */
typedef struct { int64_t id; double value; } Ranked;

static void rank(Ranked *top, int *count, int64_t id, double value)
{
    int at = *count;
    while (at > 0 && (top[at - 1].value < value || (top[at - 1].value == value && top[at - 1].id > id)))
        at--;
    if (at == TOP)
        return;
    *count += *count < TOP;
    memmove(&top[at + 1], &top[at], sizeof(Ranked) * (size_t)(*count - 1 - at));
    top[at] = (Ranked){id, value};
}

static void put_ranked(Out *out, const Ranked *top, int count)
{
    put(out, '[');
    for (int i = 0; i < count; i++) {
        put(out, '[');
        put_number(out, top[i].id);
        put_number(out, (int64_t)top[i].value);
        put_end(out);
    }
    put_end(out);
}

/* Sites by class of pages, those of most pages, and the slowest ones. */
static void put_sites(Out *out, const Sites *sites)
{
    int64_t classes[PARTY_CLASSES] = {0};
    Ranked largest[TOP], slowest[TOP];
    int large = 0, slow = 0;
    for (size_t i = 0; i < sites->size; i++) {
        const Site *site = &sites->sites[i];
        if (!site->id)
            continue;
        classes[class_of(site->pages, PARTIES, COUNT(PARTIES))]++;
        rank(largest, &large, site->id, (double)site->pages);
        if (site->pages > 0 && site->requests > 0 && site->busy > 0)
            rank(slowest, &slow, site->id, (double)site->busy / (double)site->requests);
    }
    put(out, '[');
    put(out, '[');
    for (int class = 0; class < PARTY_CLASSES; class++)
        put_number(out, classes[class]);
    put_end(out);
    put_ranked(out, largest, large);
    put_ranked(out, slowest, slow);
    put_end(out);
}

static void end_sites(Context *context)
{
    Out out = {0};
    Sites *sites = sqlite.aggregate_context(context, 0);
    if (sites) {
        if (!sites->failed)
            put_sites(&out, sites);
        free(sites->sites);
    }
    give(context, &out);
}

/* Numbers of JSON objects as {"internal": 12, "external": 3}, added up by name. */
typedef struct { Names names; int failed; } Verdicts;

static const char *after_blanks(const char *at)
{
    while (*at == ' ')
        at++;
    return at;
}

/* Read such a text, which ends with a NUL; returns 0 where it has another form. */
static int add_numbers(Names *names, const char *at)
{
    if (*(at = after_blanks(at)) != '{')
        return 0;
    for (at = after_blanks(at + 1); *at == '"'; at = after_blanks(at + 1)) {
        const char *name = ++at;
        while (*at != '"' && *at != '\\' && *at)
            at++;
        int number = *at == '"' && at - name < 256 ? number_of(names, name, (int)(at - name)) : -1;
        if (number < 0 || *(at = after_blanks(at + 1)) != ':')
            return 0;
        at = after_blanks(at + 1);
        int64_t value = 0;
        const char *digits = at;
        for (; at - digits < MOST_DIGITS && *at >= '0' && *at <= '9'; at++)
            value = 10 * value + *at - '0';
        if (at == digits || !add(&names->names[number].pages, value))
            return 0;
        if (*(at = after_blanks(at)) != ',')
            break;
    }
    return *at == '}' && !*after_blanks(at + 1);
}

static void step_verdicts(Context *context, int count, Value **values)
{
    (void)count;
    Verdicts *verdicts = sqlite.aggregate_context(context, sizeof(Verdicts));
    if (!verdicts || verdicts->failed)
        return;
    const char *text = (const char *)sqlite.value_text(values[0]);
    verdicts->failed = !text || !add_numbers(&verdicts->names, text);
}

static void end_verdicts(Context *context)
{
    Out out = {0};
    Verdicts *verdicts = sqlite.aggregate_context(context, 0);
    if (verdicts) {
        if (!verdicts->failed) {
            put(&out, '[');
            put_names(&out, &verdicts->names);
            put(&out, '[');
            for (int i = 0; i < verdicts->names.count; i++)
                put_number(&out, verdicts->names.names[i].pages);
            put_end(&out);
            put_end(&out);
        }
        free_names(&verdicts->names);
    }
    give(context, &out);
}

static int add_function(Connection *to, const char *name, int arguments, Step *step, Final *final)
{
    return sqlite.create_function_v2(
        to, name, arguments, UTF8 | DETERMINISTIC | DIRECT_ONLY, NULL, NULL, step, final, NULL);
}

/* Called by SQLite for each connection that is opened. */
static int add_functions(Connection *to, char **error, const void *routines)
{
    (void)error;
    (void)routines;
    int failed = add_function(to, "scrawler_page_sums", PAGE_ARGUMENTS, step_pages, end_pages);
    failed = failed ? failed : add_function(to, "scrawler_site_sums", 4, step_sites, end_sites);
    return failed ? failed : add_function(to, "scrawler_verdict_sums", 1, step_verdicts, end_verdicts);
}

static int find_functions(void *library)
{
    const struct { const char *name; void *at; } wanted[] = {
        {"sqlite3_auto_extension", &sqlite.auto_extension},
        {"sqlite3_create_function_v2", &sqlite.create_function_v2},
        {"sqlite3_aggregate_context", &sqlite.aggregate_context},
        {"sqlite3_value_int64", &sqlite.value_int64},
        {"sqlite3_value_text", &sqlite.value_text},
        {"sqlite3_value_bytes", &sqlite.value_bytes},
        {"sqlite3_result_text", &sqlite.result_text},
        {"sqlite3_result_null", &sqlite.result_null},
    };
    for (int i = 0; i < COUNT(wanted); i++) {
        void *found = dlsym(library, wanted[i].name);
        if (!found)
            return 0;
        memcpy(wanted[i].at, &found, sizeof found);
    }
    return 1;
}

PyDoc_STRVAR(
    attach_doc, "attach(file) -> bool: whether connections that are opened from now on have the functions. The file is "
                "the one of Python's own module of SQLite, None where that is a part of Python.");

static PyObject *attach(PyObject *module, PyObject *args)
{
    (void)module;
    const char *file;
    if (!PyArg_ParseTuple(args, "z:attach", &file))
        return NULL;
    /* It is loaded already; asked for its functions, it looks in the libraries that it has loaded as well. SQLite itself
     * leaves out what it has been given before. */
    void *library = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
    return PyBool_FromLong(library && find_functions(library) && !sqlite.auto_extension(add_functions));
}

static PyMethodDef methods[] = {
    {"attach", attach, METH_VARARGS, attach_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_sums", "The compiled part of sqlite_sums.py.", -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__sums(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module && PyModule_AddIntMacro(module, INTERFACE) < 0)
        Py_CLEAR(module);
    return module;
}
