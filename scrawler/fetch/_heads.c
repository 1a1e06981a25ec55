/* The head of an answer, read in one pass: what `wire.py` does with a head that is as nearly all are.
 *
 * That is one head with nothing behind it, whose fields stand on a line each and have names in ASCII. Of any other one
 * nothing is said here, and Python reads it.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string.h>

#define INTERFACE 1 /* see scrawler/compiled.py */

enum { LONGEST_NAME = 128, LONGEST_HEAD = 1 << 20 }; /* both are in bytes */

/* Tell what Python takes for white space among the characters of Latin-1. */
static int is_space(unsigned char c)
{
    return c == ' ' || (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x1f) || c == 0x85 || c == 0xa0;
}

/* Tell of a field that says one thing, so that its first value counts. */
static int is_single(const char *name, size_t length)
{
    return (length == 8 && !memcmp(name, "location", 8)) || (length == 7 && !memcmp(name, "refresh", 7))
        || (length == 11 && !memcmp(name, "retry-after", 11));
}

/* Put a field into a dictionary, behind the value that is there; returns -1 where there is an error. */
static int add(PyObject *fields, const char *name, size_t length, const unsigned char *value, Py_ssize_t value_length)
{
    int done = -1;
    PyObject *found, *joined = NULL, *key = PyUnicode_FromStringAndSize(name, (Py_ssize_t)length);
    PyObject *text = key ? PyUnicode_DecodeLatin1((const char *)value, value_length, NULL) : NULL;
    if (!text)
        goto done;
    found = PyDict_GetItemWithError(fields, key);
    if (!found) {
        done = PyErr_Occurred() ? -1 : PyDict_SetItem(fields, key, text);
    } else if (is_single(name, length)) {
        done = 0;
    } else if ((joined = PyUnicode_FromFormat("%U, %U", found, text)) != NULL) {
        done = PyDict_SetItem(fields, key, joined);
    }
done:
    Py_XDECREF(key);
    Py_XDECREF(text);
    Py_XDECREF(joined);
    return done;
}

/* Read a line of a head; returns 1 where it is as usual, 0 where it is not, -1 where there is an error. */
static int read_line(PyObject *fields, const unsigned char *line, Py_ssize_t length)
{
    char name[LONGEST_NAME];
    if (length < 2 || memchr(line, '\n', (size_t)length) != line + length - 1)
        return 0;
    if (line[0] == ' ' || line[0] == '\t' || (length == 2 && line[0] == '\r'))
        return 0; /* it goes on with the line before, or ends the head before its end */
    const unsigned char *colon = memchr(line, ':', (size_t)length), *end = line + length;
    if (!colon)
        return 1;
    const unsigned char *behind = colon;
    while (behind > line && is_space(behind[-1]))
        behind--;
    size_t name_length = (size_t)(behind - line);
    if (name_length > LONGEST_NAME)
        return 0;
    for (size_t i = 0; i < name_length; i++) {
        if (line[i] > 127)
            return 0;
        name[i] = (char)(line[i] >= 'A' && line[i] <= 'Z' ? line[i] | 0x20 : line[i]);
    }
    const unsigned char *value = colon + 1;
    while (value < end && is_space(*value))
        value++;
    while (end > value && is_space(end[-1]))
        end--;
    return add(fields, name, name_length, value, end - value) < 0 ? -1 : 1;
}

PyDoc_STRVAR(read_doc, "read(lines) -> (head, fields) | None\n\n\
Return the lines of a head in one piece, and its fields as `parse_headers` does; None: it is not as usual.");

static PyObject *read_head(PyObject *module, PyObject *lines)
{
    (void)module;
    if (!PyList_CheckExact(lines))
        return PyErr_Format(PyExc_TypeError, "lines must be a list");
    Py_ssize_t count = PyList_GET_SIZE(lines), size = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *line = PyList_GET_ITEM(lines, i);
        if (!PyBytes_CheckExact(line))
            return PyErr_Format(PyExc_TypeError, "a line must be bytes");
        size += PyBytes_GET_SIZE(line);
        if (size > LONGEST_HEAD)
            Py_RETURN_NONE;
    }
    PyObject *last = count < 2 ? NULL : PyList_GET_ITEM(lines, count - 1);
    if (!last || PyBytes_GET_SIZE(last) != 2 || memcmp(PyBytes_AS_STRING(last), "\r\n", 2))
        Py_RETURN_NONE;
    PyObject *result = NULL, *fields = PyDict_New(), *head = fields ? PyBytes_FromStringAndSize(NULL, size) : NULL;
    if (!head)
        goto done;
    char *to = PyBytes_AS_STRING(head);
    int usual = 1;
    for (Py_ssize_t i = 0; i < count && usual == 1; i++) {
        const char *line = PyBytes_AS_STRING(PyList_GET_ITEM(lines, i));
        Py_ssize_t length = PyBytes_GET_SIZE(PyList_GET_ITEM(lines, i));
        if (!i) /* it is the status line, which Python reads */
            usual = length > 2 && memchr(line, '\n', (size_t)length) == line + length - 1;
        else if (i < count - 1)
            usual = read_line(fields, (const unsigned char *)line, length);
        memcpy(to, line, (size_t)length);
        to += length;
    }
    if (usual >= 0)
        result = usual ? PyTuple_Pack(2, head, fields) : Py_NewRef(Py_None);
done:
    Py_XDECREF(fields);
    Py_XDECREF(head);
    return result;
}

static PyMethodDef methods[] = {
    {"read", read_head, METH_O, read_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_heads", "The compiled form of what wire.py does with heads.", -1, methods, NULL, NULL,
    NULL, NULL,
};

PyMODINIT_FUNC PyInit__heads(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module && PyModule_AddIntMacro(module, INTERFACE) < 0)
        Py_CLEAR(module);
    return module;
}
