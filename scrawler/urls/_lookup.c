/* The compiled form of `lookup.look_up`, which says what all of this means; tests hold the two together. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

enum { CACHED_HREF = 256, LONGEST_TYPE = 16 };

typedef struct {
    PyObject *sure, *in_folder, *in_origin;     /* dicts of the cache, borrowed */
    PyObject *refused_types, *learn;            /* borrowed */
    Py_ssize_t max_length, room;
    PyObject *internal, *external;              /* dicts: distinct URLs in order */
    PyObject *refused;                          /* list of verdicts */
    Py_ssize_t internal_times, external_times, same_page, remembered;
    PyObject *cut;                              /* what the last fragment was cut from; its string knows its hash */
    PyObject *above, *folder;                   /* a key of `sure` that was met last, and its value */
    char good_type[LONGEST_TYPE];               /* a file type that was met last and is not refused, as written */
    Py_ssize_t good_length;
} Lookup;

static int begins_with(PyObject *text, PyObject *start)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(start);
    return PyUnicode_GET_LENGTH(text) >= length && PyUnicode_KIND(text) == PyUnicode_KIND(start)
           && !memcmp(PyUnicode_DATA(text), PyUnicode_DATA(start), (size_t)length * PyUnicode_KIND(start));
}

/* Return a new reference to the part of an href before its fragment. Links to several places of one page often follow
   each other. */
static PyObject *cut_fragment(Lookup *l, PyObject *href)
{
    Py_ssize_t sharp = PyUnicode_FindChar(href, '#', 0, PyUnicode_GET_LENGTH(href), 1);
    if (sharp == -1)
        return Py_NewRef(href);
    if (sharp < 0)
        return NULL;
    if (!l->cut || PyUnicode_GET_LENGTH(l->cut) != sharp || !begins_with(href, l->cut)) {
        PyObject *path = PyUnicode_Substring(href, 0, sharp);
        if (!path)
            return NULL;
        Py_XSETREF(l->cut, path);
    }
    return Py_NewRef(l->cut);
}

/* Find the folder of an href in ASCII that has `start` characters up to its last slash. Returns -1 on failure. */
static int find_folder(Lookup *l, PyObject *path, Py_ssize_t start)
{
    if (l->above && PyUnicode_GET_LENGTH(l->above) == start && begins_with(path, l->above))
        return 1;
    PyObject *above = PyUnicode_Substring(path, 0, start);
    if (!above)
        return -1;
    PyObject *folder = PyDict_GetItemWithError(l->sure, above);
    if (!folder) {
        Py_DECREF(above);
        return PyErr_Occurred() ? -1 : 0;
    }
    Py_XSETREF(l->above, above);
    Py_XSETREF(l->folder, Py_NewRef(folder));
    return 1;
}

static int is_plain_name(const char *name, Py_ssize_t length)
{
    for (Py_ssize_t i = 0; i < length; i++)
        if (!Py_ISALNUM(name[i]) && name[i] != '_' && name[i] != '-' && name[i] != '~' && (name[i] != '.' || !i))
            return 0;
    return 1;
}

/* Whether the extension of a plain name is refused; -1 on failure. */
static int is_refused_type(Lookup *l, const char *name, Py_ssize_t length)
{
    Py_ssize_t dot = length;
    while (dot > 0 && name[dot - 1] != '.')
        dot--;
    const char *type = name + dot;
    Py_ssize_t long_as = length - dot;
    if (!dot || (long_as == l->good_length && !memcmp(type, l->good_type, (size_t)long_as)))
        return 0;
    PyObject *written = PyUnicode_FromStringAndSize(type, long_as);
    PyObject *lower = written ? PyObject_CallMethod(written, "lower", NULL) : NULL;
    int refused = lower ? PySet_Contains(l->refused_types, lower) : -1;
    Py_XDECREF(written);
    Py_XDECREF(lower);
    if (!refused && long_as <= LONGEST_TYPE) {
        memcpy(l->good_type, type, (size_t)long_as);
        l->good_length = long_as;
    }
    return refused;
}

/* Return a new reference to the URL of an href if it is surely internal; NULL if not, or with an exception. */
static PyObject *in_sure_folder(Lookup *l, PyObject *path)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(path), start = length;
    if (!length || length > CACHED_HREF || !PyUnicode_IS_ASCII(path) || !PyDict_GET_SIZE(l->sure))
        return NULL;
    const char *text = PyUnicode_DATA(path);
    while (start > 0 && text[start - 1] != '/')
        start--;
    if (!is_plain_name(text + start, length - start) || find_folder(l, path, start) <= 0)
        return NULL;
    Py_ssize_t above = PyUnicode_GET_LENGTH(l->folder), whole = above + length - start;
    if (whole > l->max_length || !PyUnicode_IS_ASCII(l->folder) || is_refused_type(l, text + start, length - start))
        return NULL;
    PyObject *url = PyUnicode_New(whole, 127);
    if (url) {
        memcpy(PyUnicode_DATA(url), PyUnicode_DATA(l->folder), (size_t)above);
        memcpy((char *)PyUnicode_DATA(url) + above, text + start, (size_t)(length - start));
    }
    return url;
}

static int is_rooted(PyObject *path)
{
    if (!PyUnicode_GET_LENGTH(path))
        return 0;
    if (PyUnicode_READ_CHAR(path, 0) == '/')
        return 1;
    const char *text = PyUnicode_DATA(path);
    Py_ssize_t length = PyUnicode_GET_LENGTH(path);
    if (PyUnicode_KIND(path) != PyUnicode_1BYTE_KIND)
        return PyUnicode_READ_CHAR(path, 0) == 'h' ? -1 : 0;
    return (length >= 7 && !memcmp(text, "http://", 7)) || (length >= 8 && !memcmp(text, "https://", 8));
}

static int remember(Lookup *l, PyObject *path, PyObject *known)
{
    if (l->remembered >= l->room)
        return 0;
    int rooted = is_rooted(path);
    if (rooted < 0) { /* with characters beyond Latin-1: rare enough to ask Python */
        PyObject *is = PyObject_CallMethod(path, "startswith", "((ss))", "http://", "https://");
        rooted = is ? PyObject_IsTrue(is) : -1;
        Py_XDECREF(is);
        if (rooted < 0)
            return -1;
    }
    l->remembered++;
    return PyDict_SetItem(rooted ? l->in_origin : l->in_folder, path, known);
}

static PyObject *learn(Lookup *l, PyObject *href, PyObject *path)
{
    PyObject *both = PyObject_CallFunctionObjArgs(l->learn, href, path, NULL), *known;
    int keeps;
    if (both && !PyTuple_Check(both))
        PyErr_SetString(PyExc_TypeError, "what is learned must be a tuple");
    if (PyErr_Occurred() || !PyArg_ParseTuple(both, "Op", &known, &keeps) || (keeps && remember(l, path, known) < 0)) {
        Py_XDECREF(both);
        return NULL;
    }
    Py_INCREF(known);
    Py_DECREF(both);
    return known;
}

/* Return a new reference to what an href comes to, or NULL with an exception. */
static PyObject *look_up_one(Lookup *l, PyObject *href, PyObject *path)
{
    PyObject *url = in_sure_folder(l, path);
    if (url || PyErr_Occurred())
        return url;
    PyObject *known = PyDict_GetItemWithError(l->in_folder, path);
    if (!known && !PyErr_Occurred())
        known = PyDict_GetItemWithError(l->in_origin, path);
    if (known)
        return Py_NewRef(known);
    return PyErr_Occurred() ? NULL : learn(l, href, path);
}

static int count(Lookup *l, PyObject *known)
{
    if (PyUnicode_CheckExact(known)) {
        l->internal_times++;
        return PyDict_SetItem(l->internal, known, Py_None);
    }
    if (PyTuple_CheckExact(known) && PyTuple_GET_SIZE(known) == 1) {
        l->external_times++;
        return PyDict_SetItem(l->external, PyTuple_GET_ITEM(known, 0), Py_None);
    }
    return PyList_Append(l->refused, known);
}

static int look_up_all(Lookup *l, PyObject *hrefs, int is_page)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(hrefs); i++) {
        PyObject *href = Py_NewRef(PyList_GET_ITEM(hrefs, i)); /* learning may do anything to the list */
        PyObject *path = PyUnicode_Check(href) ? cut_fragment(l, href) : NULL, *known = NULL;
        int done = 0;
        if (!PyUnicode_Check(href))
            PyErr_SetString(PyExc_TypeError, "an href must be a string");
        else if (path && !PyUnicode_GET_LENGTH(path) && is_page) {
            l->same_page++;
            done = 1;
        }
        else if (path && (known = look_up_one(l, href, path)))
            done = count(l, known) == 0;
        Py_XDECREF(known);
        Py_XDECREF(path);
        Py_DECREF(href);
        if (!done)
            return -1;
    }
    return 0;
}

static PyObject *make_result(Lookup *l)
{
    PyObject *internal = PyDict_Keys(l->internal), *external = PyDict_Keys(l->external), *result = NULL;
    if (internal && external)
        result = Py_BuildValue("OnOnnOn", internal, l->internal_times, external, l->external_times, l->same_page,
                               l->refused, l->remembered);
    Py_XDECREF(internal);
    Py_XDECREF(external);
    return result;
}

PyDoc_STRVAR(look_up_doc, "look_up(hrefs, is_page, cache, rules, room, learn): see `scrawler.urls.lookup`.");

static PyObject *look_up(PyObject *module, PyObject *args)
{
    (void)module;
    Lookup l;
    PyObject *hrefs, *folder, *root, *is_plain, *result = NULL;
    int is_page;
    memset(&l, 0, sizeof l);
    l.good_length = -1;
    if (!PyArg_ParseTuple(args, "O!p(OOOO!O!O!)(On)nO:look_up", &PyList_Type, &hrefs, &is_page, &folder, &root, &is_plain,
                          &PyDict_Type, &l.sure, &PyDict_Type, &l.in_folder, &PyDict_Type, &l.in_origin,
                          &l.refused_types, &l.max_length, &l.room, &l.learn))
        return NULL;
    l.internal = PyDict_New();
    l.external = PyDict_New();
    l.refused = PyList_New(0);
    if (l.internal && l.external && l.refused && look_up_all(&l, hrefs, is_page) == 0)
        result = make_result(&l);
    Py_XDECREF(l.internal);
    Py_XDECREF(l.external);
    Py_XDECREF(l.refused);
    Py_XDECREF(l.cut);
    Py_XDECREF(l.above);
    Py_XDECREF(l.folder);
    return result;
}

static PyMethodDef methods[] = {{"look_up", look_up, METH_VARARGS, look_up_doc}, {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_lookup", "The compiled form of the look-up of known links.", -1, methods, NULL, NULL, NULL,
    NULL,
};

PyMODINIT_FUNC PyInit__lookup(void) { return PyModule_Create(&definition); }
