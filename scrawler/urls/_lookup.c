/* The links that a party knows: the compiled form of `lookup.PlainLinks`, which says what all of this means; tests hold
 * the two together.
 *
 * Hrefs come as bytes, and most of them are known: they cost a hash and a look into a table, and no string is made.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "_elsewhere.h"
#include "_known.h"
#include "_once.h"
#include "_seen_urls.h"

#define INTERFACE 3 /* see scrawler/compiled.py */

enum { CACHED_HREF = 256, LONGEST_KNOWN = CACHED_HREF * 4, LONGEST_TYPE = 16 }; /* the second is in bytes */
enum { LONGEST_PUT_TOGETHER = 1024 }; /* a URL that is put together here has no more bytes */
enum { USUAL_URLS = 128 }; /* so many URLs of a page need no memory of their own */

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

static uint64_t parties; /* so many `Links` have been made */
static unsigned char in_names[256]; /* whether such a byte may stand in a plain name, and begin one */

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
    PyObject *limits;
    return PyArg_ParseTuple(rules, "O!O!O!O!p", &PyTuple_Type, &e->prefixes, &PyDict_Type, &e->aliases, &PyTuple_Type,
                            &e->marks, &PyTuple_Type, &limits, &e->sorts)
        && PyArg_ParseTuple(limits, "nnn", &e->segments, &e->repeats, &e->parameters) ? 0 : -1;
}

PyDoc_STRVAR(look_up_doc, "look_up(hrefs, is_page, folder, rules, room, learn, seen): see `lookup.KnownLinks`.");

static PyObject *look_up(Links *k, PyObject *args)
{
    Page p; /* all but `url`, which is long, is set to zero */
    PyObject *hrefs, *result = NULL, *folder, *root, *rules, *elsewhere, *seen;
    int is_page, is_plain;
    unsigned int folder_number, origin_number;
    memset(&p, 0, offsetof(Page, url));
    memset(p.usual, 0, sizeof p.usual);
    p.good_length = p.above_length = -1;
    /* Named tuples are parsed apart: within another one the items of these are asked for by a method of Python's. */
    if (!PyArg_ParseTuple(args, "O!p(OOpII)O!nOO:look_up", &PyBytes_Type, &hrefs, &is_page, &folder, &root, &is_plain,
                          &folder_number, &origin_number, &PyTuple_Type, &rules, &p.room, &p.learn, &seen)
        || !PyArg_ParseTuple(rules, "OnO!O", &p.refused_types, &p.max_length, &PySet_Type, &p.sure, &elsewhere))
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
