/* The compiled form of the class `Generation` of `archived.py`, which says what it is for.
 *
 * A page that is new asks for one key and gives one record. Between two pages the caches of the processor forget so much
 * of the interpreter that this takes 18 us compiled by mypyc, and 10 in C, the look into packed records of known payloads
 * among it.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <string.h>

#define INTERFACE 1 /* see scrawler/compiled.py */

enum {
    KEY = 6,             /* so many first bytes of a digest are its key; the others are compared */
    NUMBER_BITS = 16,    /* they hold a record's number, beside its key; a number is one more there, for 0 is a free slot */
    MOST = 0xffff,       /* records */
    PACKED = 32,         /* records that are compressed together */
    HEADER = 1 + 4 + 8,  /* bytes: how long the rest of a digest is, and the text, both of which follow; the date */
    FIRST_SLOTS = 8,
    FIRST_BYTES = 256
};

typedef struct {
    PyObject_HEAD
    PyObject *pack, *unpack; /* they compress bytes, and decompress them */
    uint64_t *slots;         /* the numbers with their keys: a slot follows from the key, or is the next free one */
    size_t slot_count, taken;
    PyObject **blocks; /* PACKED records each, compressed */
    size_t block_count;
    char *open; /* the records behind those */
    size_t size, room;
    size_t count; /* of records, those that are found no more among them: they take memory as well */
} Generation;

typedef struct {
    const char *rest, *text;
    size_t rest_length, text_length, length; /* `length` is of all */
    int64_t date;
} Record;

static uint64_t key_of(const char *digest, Py_ssize_t length)
{
    uint64_t key = 0;
    for (int i = 0; i < KEY && i < length; i++)
        key |= (uint64_t)(unsigned char)digest[i] << 8 * i;
    return key;
}

/* Return the slot of a key, or the free one that it would get; there is a free one. */
static size_t place_of(const uint64_t *slots, size_t slot_count, uint64_t key)
{
    size_t at = (size_t)((key & UINT32_MAX) * slot_count >> 32);
    while (slots[at] && slots[at] >> NUMBER_BITS != key)
        at = at + 1 < slot_count ? at + 1 : 0;
    return at;
}

/* See that there is a free slot when one more is taken: a seventh of them at least is free. */
static int make_slots(Generation *self)
{
    size_t wanted = self->slot_count ? self->slot_count : FIRST_SLOTS;
    while (wanted * 6 < (self->taken + 1) * 7)
        wanted += wanted / 2;
    if (wanted == self->slot_count)
        return 0;
    uint64_t *slots = PyMem_Calloc(wanted, sizeof *slots);
    if (!slots) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < self->slot_count; i++)
        if (self->slots[i])
            slots[place_of(slots, wanted, self->slots[i] >> NUMBER_BITS)] = self->slots[i];
    PyMem_Free(self->slots);
    self->slots = slots;
    self->slot_count = wanted;
    return 0;
}

static void write_record(char *to, const Record *record)
{
    uint32_t text = (uint32_t)record->text_length;
    *to = (char)record->rest_length;
    memcpy(to + 1, &text, sizeof text);
    memcpy(to + 5, &record->date, sizeof record->date);
    memcpy(to + HEADER, record->rest, record->rest_length);
    memcpy(to + HEADER + record->rest_length, record->text, record->text_length);
}

/* Read the record that stands `behind` so many others; returns 0 where there is none. */
static int read_record(Record *record, const char *from, size_t length, size_t behind)
{
    for (const char *end = from + length; end - from >= HEADER; from += record->length) {
        uint32_t text;
        memcpy(&text, from + 1, sizeof text);
        memcpy(&record->date, from + 5, sizeof record->date);
        record->rest_length = (unsigned char)*from;
        record->text_length = text;
        record->length = HEADER + record->rest_length + record->text_length;
        if (record->length > (size_t)(end - from))
            return 0;
        record->rest = from + HEADER;
        record->text = record->rest + record->rest_length;
        if (!behind--)
            return 1;
    }
    return 0;
}

static PyObject *get(Generation *self, PyObject *digest)
{
    if (!PyBytes_Check(digest))
        return PyErr_Format(PyExc_TypeError, "a digest must be bytes");
    const char *bytes = PyBytes_AS_STRING(digest);
    Py_ssize_t length = PyBytes_GET_SIZE(digest);
    uint64_t key = key_of(bytes, length);
    uint64_t found = self->slot_count ? self->slots[place_of(self->slots, self->slot_count, key)] : 0;
    if (!found)
        Py_RETURN_NONE;
    size_t number = (size_t)(found & MOST) - 1, block = number / PACKED;
    const char *records = self->open;
    size_t size = self->size;
    PyObject *unpacked = NULL, *result = NULL;
    if (block < self->block_count) { /* other threads may run meanwhile: nothing of `self` is looked at behind that */
        PyObject *packed = Py_NewRef(self->blocks[block]);
        unpacked = PyObject_CallOneArg(self->unpack, packed);
        Py_DECREF(packed);
        if (!unpacked)
            return NULL;
        records = PyBytes_Check(unpacked) ? PyBytes_AS_STRING(unpacked) : NULL;
        size = records ? (size_t)PyBytes_GET_SIZE(unpacked) : 0;
    }
    Record record;
    size_t rest = length > KEY ? (size_t)length - KEY : 0;
    if (!read_record(&record, records, size, number % PACKED))
        PyErr_SetString(PyExc_ValueError, "no record is where its number says");
    else if (record.rest_length != rest || memcmp(record.rest, bytes + length - rest, rest))
        result = Py_NewRef(Py_None);
    else { /* the text first: what is made after it may let others run, who move what it is read from */
        PyObject *text = PyUnicode_DecodeUTF8(record.text, (Py_ssize_t)record.text_length, NULL);
        result = text ? Py_BuildValue("(NL)", text, (long long)record.date) : NULL;
    }
    Py_XDECREF(unpacked);
    return result;
}

/* Let there be room for a record that stays open. */
static int make_room(Generation *self, size_t length)
{
    if (self->size + length <= self->room)
        return 0;
    size_t wanted = self->size + length + (self->size ? self->size / 8 : FIRST_BYTES);
    char *moved = PyMem_Realloc(self->open, wanted);
    if (!moved) {
        PyErr_NoMemory();
        return -1;
    }
    self->open = moved;
    self->room = wanted;
    return 0;
}

/* Compress the open records and one more, which makes them full; nothing has changed where that fails. */
static int close_block(Generation *self, const Record *last)
{
    size_t count = self->count;
    PyObject *whole = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(self->size + last->length));
    if (!whole)
        return -1;
    if (self->size)
        memcpy(PyBytes_AS_STRING(whole), self->open, self->size);
    write_record(PyBytes_AS_STRING(whole) + self->size, last);
    PyObject *packed = PyObject_CallOneArg(self->pack, whole); /* other threads may run meanwhile */
    Py_DECREF(whole);
    if (!packed)
        return -1;
    PyObject **blocks = NULL;
    if (count != self->count)
        PyErr_SetString(PyExc_RuntimeError, "two threads remember payloads of one site at once");
    else if (!(blocks = PyMem_Realloc(self->blocks, (self->block_count + 1) * sizeof *blocks)))
        PyErr_NoMemory();
    if (!blocks) {
        Py_DECREF(packed);
        return -1;
    }
    self->blocks = blocks;
    blocks[self->block_count++] = packed;
    PyMem_Free(self->open);
    self->open = NULL;
    self->size = self->room = 0;
    return 0;
}

static PyObject *remember(Generation *self, PyObject *const *given, Py_ssize_t count)
{
    if (count != 3 || !PyBytes_Check(given[0]) || !PyUnicode_Check(given[1]))
        return PyErr_Format(PyExc_TypeError, "remember() takes a digest (bytes), a text and a date");
    const char *digest = PyBytes_AS_STRING(given[0]);
    Py_ssize_t length = PyBytes_GET_SIZE(given[0]), text_length;
    Record record = {.rest_length = length > KEY ? (size_t)length - KEY : 0};
    record.rest = digest + length - record.rest_length;
    if (!(record.text = PyUnicode_AsUTF8AndSize(given[1], &text_length)))
        return NULL;
    record.date = PyLong_AsLongLong(given[2]);
    if (record.date == -1 && PyErr_Occurred())
        return NULL;
    if (record.rest_length > UINT8_MAX || (uint64_t)text_length > INT32_MAX || self->count == MOST)
        return PyErr_Format(PyExc_OverflowError, "a digest or a text is too long, or there are too many of them");
    record.text_length = (size_t)text_length;
    record.length = HEADER + record.rest_length + record.text_length;
    uint64_t key = key_of(digest, length);
    if (make_slots(self) < 0)
        return NULL;
    if (self->count % PACKED == PACKED - 1) {
        if (close_block(self, &record) < 0)
            return NULL;
    }
    else {
        if (make_room(self, record.length) < 0)
            return NULL;
        write_record(self->open + self->size, &record);
        self->size += record.length;
    }
    size_t at = place_of(self->slots, self->slot_count, key);
    self->taken += !self->slots[at];
    self->slots[at] = key << NUMBER_BITS | ++self->count;
    Py_RETURN_NONE;
}

static Py_ssize_t size_of(Generation *self)
{
    return (Py_ssize_t)self->count;
}

static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *names)
{
    PyObject *pack, *unpack;
    if (names && PyDict_GET_SIZE(names))
        return PyErr_Format(PyExc_TypeError, "Generation() takes no names");
    if (!PyArg_ParseTuple(args, "OO:Generation", &pack, &unpack))
        return NULL;
    Generation *self = (Generation *)type->tp_alloc(type, 0);
    if (self) {
        self->pack = Py_NewRef(pack);
        self->unpack = Py_NewRef(unpack);
    }
    return (PyObject *)self;
}

static void dealloc(Generation *self)
{
    PyTypeObject *type = Py_TYPE(self);
    for (size_t i = 0; i < self->block_count; i++)
        Py_DECREF(self->blocks[i]);
    PyMem_Free(self->blocks);
    PyMem_Free(self->slots);
    PyMem_Free(self->open);
    Py_XDECREF(self->pack);
    Py_XDECREF(self->unpack);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef generation_methods[] = {
    {"get", (PyCFunction)get, METH_O, "get(digest) -> (text, date_ms) | None"},
    {"remember", (PyCFunction)(void (*)(void))remember, METH_FASTCALL, "remember(digest, text, date_ms)"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot generation_slots[] = {
    {Py_tp_doc, "Generation(pack, unpack): texts and dates by digests; what is full is packed by these two."},
    {Py_tp_new, make},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, generation_methods},
    {Py_sq_length, size_of},
    {0, NULL},
};

static PyType_Spec generation_spec = {
    "scrawler.core.party._archived.Generation", sizeof(Generation), 0, Py_TPFLAGS_DEFAULT, generation_slots,
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_archived", "The compiled form of archived.Generation.", -1, NULL, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__archived(void)
{
    PyObject *module = PyModule_Create(&definition), *type = module ? PyType_FromSpec(&generation_spec) : NULL;
    if (!module)
        return NULL;
    if (!type || PyModule_AddObjectRef(module, "Generation", type) < 0 || PyModule_AddIntMacro(module, INTERFACE) < 0)
        Py_CLEAR(module);
    Py_XDECREF(type);
    return module;
}
