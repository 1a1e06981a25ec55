/* A seen filter as Python has it: prints of URLs, whose memory is taken from a budget. */
#ifndef SCRAWLER_SEEN_URLS_H
#define SCRAWLER_SEEN_URLS_H

#include "_seen.h"
#include "_siphash.h"

typedef struct { /* `core/seen.py` says what seen filters are */
    PyObject_HEAD
    PyObject *budget;
    Prints prints;
    size_t reserved; /* so many bytes were taken from the budget */
} SeenUrls;

/* Make room for so many URLs more, and reserve the memory for it; an exception of the budget's leaves all as it was. */
static int make_room(SeenUrls *s, size_t more)
{
    size_t slots = slots_for(&s->prints, s->prints.count + more), size = slots * PRINT_BYTES;
    if (slots == s->prints.slot_count)
        return 0;
    if (size > s->reserved) {
        PyObject *taken = PyObject_CallMethod(s->budget, "take", "n", (Py_ssize_t)(size - s->reserved));
        if (!taken)
            return -1;
        Py_DECREF(taken);
        s->reserved = size;
    }
    /* Python has run meanwhile, and may have added some: what is needed is told anew. */
    return resize_prints(&s->prints, slots_for(&s->prints, s->prints.count + more));
}

/* Add those of the URLs to a list that are not in; some may be there twice. */
static int find_new(const SeenUrls *s, PyObject *urls, PyObject *new)
{
    PyObject *all = PySequence_Fast(urls, "the URLs must be iterable");
    if (!all)
        return -1;
    int done = 0;
    for (Py_ssize_t i = 0; !done && i < PySequence_Fast_GET_SIZE(all); i++) {
        PyObject *url = PySequence_Fast_GET_ITEM(all, i);
        if (!PyUnicode_Check(url)) {
            PyErr_SetString(PyExc_TypeError, "a URL must be a string");
            done = -1;
        }
        else if (!has_print(&s->prints, hash_of_url(url)))
            done = PyList_Append(new, url);
    }
    Py_DECREF(all);
    return done;
}

/* Leave each URL of a list in it once. */
static int leave_once(PyObject *urls)
{
    Py_ssize_t kept = 0, count = PyList_GET_SIZE(urls);
    Prints met = {NULL, 0, 0};
    if (count < 2)
        return 0;
    if (resize_prints(&met, slots_for(&met, (size_t)count)) < 0)
        return -1;
    for (Py_ssize_t i = 0; i < count; i++) { /* those that came before go behind the others */
        PyObject *url = PyList_GET_ITEM(urls, i);
        if (!add_print(&met, hash_of_url(url)))
            continue;
        PyList_SET_ITEM(urls, i, PyList_GET_ITEM(urls, kept));
        PyList_SET_ITEM(urls, kept++, url);
    }
    PyMem_Free(met.slots);
    return kept == count ? 0 : PyList_SetSlice(urls, kept, count, NULL);
}

PyDoc_STRVAR(unseen_doc, "unseen(urls): see `core.seen.SeenFilter`.");

static PyObject *unseen(SeenUrls *s, PyObject *urls)
{
    PyObject *new = PyList_New(0);
    if (new && (find_new(s, urls, new) < 0 || leave_once(new) < 0 || make_room(s, (size_t)PyList_GET_SIZE(new)) < 0))
        Py_CLEAR(new);
    return new;
}

PyDoc_STRVAR(add_doc, "add(urls): see `core.seen.SeenFilter`.");

static PyObject *seen_add(SeenUrls *s, PyObject *urls)
{
    if (!PyList_Check(urls)) {
        PyErr_SetString(PyExc_TypeError, "the URLs must be a list");
        return NULL;
    }
    if (make_room(s, (size_t)PyList_GET_SIZE(urls)) < 0) /* it is made here where `unseen` has not made it */
        return NULL;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(urls); i++)
        if (PyUnicode_Check(PyList_GET_ITEM(urls, i)))
            add_print(&s->prints, hash_of_url(PyList_GET_ITEM(urls, i)));
    Py_RETURN_NONE;
}

static int seen_contains(SeenUrls *s, PyObject *url)
{
    return PyUnicode_Check(url) && has_print(&s->prints, hash_of_url(url));
}

PyDoc_STRVAR(close_doc, "close(): see `core.seen.SeenFilter`.");

static PyObject *seen_close(SeenUrls *s, PyObject *Py_UNUSED(nothing))
{
    PyMem_Free(s->prints.slots);
    s->prints = (Prints){NULL, 0, 0};
    size_t size = s->reserved;
    s->reserved = 0;
    return PyObject_CallMethod(s->budget, "give_back", "n", (Py_ssize_t)size);
}

static PyObject *seen_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    PyObject *budget;
    static char *names[] = {"budget", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, named, "O:SeenUrls", names, &budget))
        return NULL;
    SeenUrls *s = (SeenUrls *)type->tp_alloc(type, 0);
    if (s)
        s->budget = Py_NewRef(budget);
    return (PyObject *)s;
}

static void seen_dealloc(SeenUrls *s)
{
    Py_XDECREF(s->budget);
    PyMem_Free(s->prints.slots);
    Py_TYPE(s)->tp_free((PyObject *)s);
}

static PyMethodDef seen_methods[] = {
    {"unseen", (PyCFunction)unseen, METH_O, unseen_doc},
    {"add", (PyCFunction)seen_add, METH_O, add_doc},
    {"close", (PyCFunction)seen_close, METH_NOARGS, close_doc},
    {NULL, NULL, 0, NULL},
};

static PySequenceMethods seen_as_sequence = {.sq_contains = (objobjproc)seen_contains};

static PyTypeObject seen_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "scrawler.urls._lookup.SeenUrls",
    .tp_basicsize = sizeof(SeenUrls),
    .tp_dealloc = (destructor)seen_dealloc,
    .tp_as_sequence = &seen_as_sequence,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "A seen filter: see `core.seen`.",
    .tp_methods = seen_methods,
    .tp_new = seen_new,
};

#endif
