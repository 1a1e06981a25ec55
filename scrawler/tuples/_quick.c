/* Named tuples that are made without Python's help: what `quick.py` says.
 *
 * A class made by `typing.NamedTuple` is called through a function in Python, whose arguments are put into a tuple that
 * is copied then. Here the values are put where they belong at once. Whatever is not as usual (too many values, too
 * few, a name that there is not) is left to that function, which says what is wrong. `_replace`, which Python has as a
 * function as well, is answered in the same way.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

#define INTERFACE 2 /* see scrawler/compiled.py */

enum { PLACES = 256, MOST_KINDS = PLACES / 2, MOST_FIELDS = 64 }; /* the first is a power of two */

typedef struct {
    PyTypeObject *type;
    PyObject *fields, *defaults; /* these are tuples; the defaults are those of the last fields */
    PyObject *replace;           /* the function that does it in Python */
} Kind;

/* They stand where the address of their class says, or behind that; one that is there stays for ever. */
static Kind kinds[PLACES];
static int count;

static Kind *place_of(const PyTypeObject *type)
{
    size_t at = (size_t)((uint64_t)(uintptr_t)type * 0x9e3779b97f4a7c15u >> 40) & (PLACES - 1);
    while (kinds[at].type && kinds[at].type != type)
        at = (at + 1) & (PLACES - 1);
    return &kinds[at];
}

/* Do what a call of any class does. */
static PyObject *make_usually(PyObject *type, PyObject *const *values, Py_ssize_t given, PyObject *names)
{
    PyObject *made = NULL, *named = NULL, *unnamed = PyTuple_New(given);
    if (!unnamed)
        return NULL;
    for (Py_ssize_t i = 0; i < given; i++)
        PyTuple_SET_ITEM(unnamed, i, Py_NewRef(values[i]));
    if (names && !(named = PyDict_New()))
        goto done;
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++)
        if (PyDict_SetItem(named, PyTuple_GET_ITEM(names, i), values[given + i]) < 0)
            goto done;
    made = PyType_Type.tp_call(type, unnamed, named);
done:
    Py_DECREF(unnamed);
    Py_XDECREF(named);
    return made;
}

/* Put values that have names, and defaults, where they belong; returns 0 where that is not as usual. */
static int arrange(const Kind *kind, PyObject **all, PyObject *const *values, Py_ssize_t given, PyObject *names)
{
    Py_ssize_t size = PyTuple_GET_SIZE(kind->fields), first = size - PyTuple_GET_SIZE(kind->defaults);
    for (Py_ssize_t i = 0; i < size; i++)
        all[i] = i < given ? values[i] : NULL;
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++) {
        Py_ssize_t at = given; /* all names in a program are held once, as are those of fields */
        while (at < size && PyTuple_GET_ITEM(kind->fields, at) != PyTuple_GET_ITEM(names, i))
            at++;
        if (at == size || all[at])
            return 0;
        all[at] = values[given + i];
    }
    for (Py_ssize_t i = given; i < size; i++) {
        if (!all[i] && i < first)
            return 0;
        if (!all[i])
            all[i] = PyTuple_GET_ITEM(kind->defaults, i - first);
    }
    return 1;
}

static PyObject *make(PyObject *type, PyObject *const *values, size_t flagged, PyObject *names)
{
    const Kind *kind = place_of((PyTypeObject *)type);
    Py_ssize_t given = PyVectorcall_NARGS(flagged), size = kind->type ? PyTuple_GET_SIZE(kind->fields) : 0;
    PyObject *all[MOST_FIELDS];
    if (!kind->type || given > size)
        return make_usually(type, values, given, names);
    if (given != size || names) {
        if (!arrange(kind, all, values, given, names))
            return make_usually(type, values, given, names);
        values = all;
    }
    PyObject *made = PyType_GenericAlloc((PyTypeObject *)type, size);
    if (made)
        for (Py_ssize_t i = 0; i < size; i++)
            PyTuple_SET_ITEM(made, i, Py_NewRef(values[i]));
    return made;
}

/* Copy one with some of its values replaced; `type` is the class that has this method. */
static PyObject *
replace(PyObject *one, PyTypeObject *type, PyObject *const *values, Py_ssize_t given, PyObject *names)
{
    const Kind *kind = place_of(type);
    Py_ssize_t size = PyTuple_GET_SIZE(kind->fields), named = names ? PyTuple_GET_SIZE(names) : 0;
    PyObject *all[MOST_FIELDS];
    int usual = Py_IS_TYPE(one, type) && !given && PyTuple_GET_SIZE(one) == size;
    for (Py_ssize_t i = 0; usual && i < size; i++)
        all[i] = PyTuple_GET_ITEM(one, i);
    for (Py_ssize_t i = 0, at; usual && i < named; i++) {
        for (at = 0; at < size && PyTuple_GET_ITEM(kind->fields, at) != PyTuple_GET_ITEM(names, i); at++) {
        }
        if (at < size)
            all[at] = values[i];
        else
            usual = 0;
    }
    if (usual)
        return make((PyObject *)type, all, (size_t)size, NULL);
    PyObject *bound = PyMethod_New(kind->replace, one), *made = NULL;
    if (bound)
        made = PyObject_Vectorcall(bound, values, (size_t)given, names);
    Py_XDECREF(bound);
    return made;
}

static PyMethodDef replacing = {
    "_replace", (PyCFunction)(void (*)(void))replace, METH_METHOD | METH_FASTCALL | METH_KEYWORDS,
    "Return a new object with new values for the fields that are named.",
};

/* Let a class have `_replace` from here; its own is kept for what is not as usual. */
static int lend_replace(Kind *kind, PyTypeObject *type)
{
    PyObject *method = PyDescr_NewMethod(type, &replacing);
    kind->replace = method ? PyObject_GetAttrString((PyObject *)type, "_replace") : NULL;
    int result = kind->replace ? PyObject_SetAttrString((PyObject *)type, "_replace", method) : -1;
    Py_XDECREF(method);
    return result;
}

PyDoc_STRVAR(quicken_doc, "quicken(kind, fields, defaults) -> bool: whether calls of a class are answered here now.");

static PyObject *quicken(PyObject *module, PyObject *args)
{
    (void)module;
    PyTypeObject *type;
    PyObject *fields, *defaults;
    if (!PyArg_ParseTuple(args, "O!O!O!:quicken", &PyType_Type, &type, &PyTuple_Type, &fields, &PyTuple_Type, &defaults))
        return NULL;
    Py_ssize_t size = PyTuple_GET_SIZE(fields);
    int fits = Py_IS_TYPE((PyObject *)type, &PyType_Type) && type->tp_base == &PyTuple_Type && !type->tp_vectorcall
        && type->tp_flags & Py_TPFLAGS_HEAPTYPE && type->tp_basicsize == PyTuple_Type.tp_basicsize
        && type->tp_init == PyBaseObject_Type.tp_init && size <= MOST_FIELDS && PyTuple_GET_SIZE(defaults) <= size;
#if PY_VERSION_HEX >= 0x030e0000 || defined(Py_GIL_DISABLED) || defined(PYPY_VERSION)
    fits = 0; /* there a tuple has more in it than its items, or is made in another way */
#endif
    if (fits && count < MOST_KINDS) {
        Kind *kind = place_of(type);
        if (lend_replace(kind, type) < 0)
            return NULL;
        Py_INCREF(type);
        kind->fields = Py_NewRef(fields);
        kind->defaults = Py_NewRef(defaults);
        kind->type = type;
        count++;
        type->tp_vectorcall = make;
        Py_RETURN_TRUE;
    }
    Py_RETURN_FALSE;
}

static PyMethodDef methods[] = {
    {"quicken", quicken, METH_VARARGS, quicken_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_quick", "The compiled form of quick.py.", -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__quick(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module && PyModule_AddIntMacro(module, INTERFACE) < 0)
        Py_CLEAR(module);
    return module;
}
