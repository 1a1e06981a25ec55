/* The link scanner: the tree construction of HTML without a tree. `scanner.py` says where it differs from one.
 *
 * scan(page, flags, entities) -> (hrefs, others, deep)
 *
 * The page is passed over once, without a Python object. The tokenizer of the HTML Standard (13.2.5) makes tags and
 * texts of it; of the tree construction (13.2.6) is kept what later tags depend on: the stack of open elements, the
 * list of active formatting elements and the insertion mode. That decides which tags are dropped, which text is markup,
 * and what stands in the head, in a template, in SVG. Elements are noted as they are opened; no node is made, moved or
 * kept. What is found is noted as places in the page; strings are made of them at the end. References to Python objects
 * are held only by the caller's arguments during the first part, and only by the lists made in the second.
 *
 * No rule costs more than the lengths of the stack and the list, and all of them together no more than a number of
 * steps that grows with the page; a page that nests deeper, or costs more, is read flat from there on: as if each
 * element stood in the body. So time is linear in the size of a page, whatever it holds.
 *
 * All parts are one translation unit, so that the compiler sees through them. Each stands on those above it. Lexbor and
 * html5lib are what the scanner is held to (tests/unit/extract/test_extract_agree.py).
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <string.h>

#define INTERFACE 2 /* see scrawler/compiled.py */

/* names and state */
#include "limits.h"
#include "bytes.h"
#include "tags.h"
#include "state.h"

/* tree construction, without a tree */
#include "found.h"
#include "open_elements.h"
#include "formatting.h"
#include "templates.h"
#include "foreign.h"
#include "starts.h"
#include "ends.h"
#include "tables.h"
#include "modes.h"
#include "dispatcher.h"
#include "text.h"

/* the tokenizer */
#include "attributes.h"
#include "raw_text.h"
#include "tokenizer.h"

/* what Python gets */
#include "results.h"

PyDoc_STRVAR(scan_doc,
"scan(page, flags, entities) -> (hrefs, count, others, deep)\n\n"
"Scan a page, bytes in UTF-8. `flags`: 1 for assets too, 2 if links with a rel are to be judged by it, 4 if area is\n"
"to be told from a. `entities`: the named character references (html.entities.html5). `hrefs`: of a, and of area if\n"
"it is not told, in order, in UTF-8 with a NUL between two; where the page copies links, a list of strings. `count`:\n"
"how many. `others`: (number of hrefs before it, tag, attributes, is in a template, is in the head) of what else says\n"
"something. `deep`: a tree builder would have taken too long; part of the page was read without looking at what is\n"
"open.");

static PyObject *scan(PyObject *module, PyObject *args)
{
    (void)module;
    Py_buffer page;
    PyObject *entities;
    Scan s;
    memset(&s, 0, sizeof s);
    if (!PyArg_ParseTuple(args, "y*iO!:scan", &page, &s.flags, &PyDict_Type, &entities))
        return NULL;
    s.page = page.buf;
    s.end = s.page + page.len;
    s.frameset_ok = 1;
    s.quirks = 2; /* it is not known yet whether the page is in quirks mode */
    s.most_steps = STEPS_AT_LEAST + STEPS_A_BYTE * (uint64_t)page.len;
    PyObject *result = NULL;
    if (!grow((void **)&s.open, &s.open_room, sizeof(Element), FIRST_OPEN))
        s.failed = 1;
    else if (page.len >= UNLOCKED_FROM) {
        Py_BEGIN_ALLOW_THREADS
        scan_page(&s);
        Py_END_ALLOW_THREADS
    }
    else
        scan_page(&s);
    result = s.failed ? PyErr_NoMemory() : make_result(&s, entities);
    PyMem_RawFree(s.open);
    PyMem_RawFree(s.listed);
    PyMem_RawFree(s.found);
    PyMem_RawFree(s.spans);
    PyBuffer_Release(&page);
    return result;
}

static PyMethodDef methods[] = {{"scan", scan, METH_VARARGS, scan_doc}, {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_linkscan", "The link scanner.", -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__linkscan(void)
{
    PyObject *module = fill_tables() < 0 ? NULL : PyModule_Create(&definition);
    if (module && PyModule_AddIntMacro(module, INTERFACE) < 0)
        Py_CLEAR(module);
    return module;
}
