/* The request record and the response record of an exchange, in one pass: what `record.py` makes of one that is as
 * nearly all are. Of any other one nothing is made here, and Python makes its records.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string.h>
#include <time.h>

#define INTERFACE 1 /* see scrawler/compiled.py */

enum { RANDOM = 32, DIGEST = 20, UUID = 36, DATE = 24, LONGEST_TEXT = 1 << 16 }; /* all are in bytes */

static const char HEX[] = "0123456789abcdef";
static const char BASE32[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/* Bytes are written to `to`; where that is NULL, they are only counted. */
typedef struct { char *to; size_t size; } Out;

static void put(Out *out, const char *text, size_t length)
{
    if (out->to)
        memcpy(out->to + out->size, text, length);
    out->size += length;
}

#define PUT(out, literal) put(out, literal, sizeof(literal) - 1)

typedef struct { const char *text; size_t length; } Text;

/* What goes into the records, each as it is written. */
typedef struct {
    Text url, address, spoken, kind, extra, request, head, body;
    int marked; /* whether fields of the head get another name */
    char date[DATE + 8], ids[2][UUID], digest[32], request_length[24], answer_length[24];
} Parts;

/* Write 16 random bytes as a UUID of version 4 (RFC 9562). */
static void write_uuid(char *to, const unsigned char *random)
{
    for (int i = 0; i < 16; i++) {
        unsigned char byte = random[i];
        if (i == 6)
            byte = (unsigned char)((byte & 0x0f) | 0x40);
        if (i == 8)
            byte = (unsigned char)((byte & 0x3f) | 0x80);
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *to++ = '-';
        *to++ = HEX[byte >> 4];
        *to++ = HEX[byte & 15];
    }
}

/* Write the 20 bytes of a digest in base 32 (RFC 4648): five of them are eight digits. */
static void write_base32(char *to, const unsigned char *digest)
{
    for (int group = 0; group < DIGEST; group += 5) {
        unsigned long long bits = 0;
        for (int i = 0; i < 5; i++)
            bits = bits << 8 | digest[group + i];
        for (int shift = 35; shift >= 0; shift -= 5)
            *to++ = BASE32[bits >> shift & 31];
    }
}

/* Write a time as WARC-Date; returns 0 where it is out of the years that have four digits. */
static int write_date(char *to, long long date_ms)
{
    static time_t known = -1;
    static char second[24];
    if (date_ms < 0 || date_ms >= 253402300800000)
        return 0;
    time_t seconds = (time_t)(date_ms / 1000);
    if (seconds != known) {
        struct tm parts;
#ifdef _WIN32
        if (gmtime_s(&parts, &seconds))
            return 0;
#else
        if (!gmtime_r(&seconds, &parts))
            return 0;
#endif
        if (strftime(second, sizeof second, "%Y-%m-%dT%H:%M:%S", &parts) != 19)
            return 0;
        known = seconds;
    }
    memcpy(to, second, 19);
    snprintf(to + 19, 8, ".%03dZ", (int)(date_ms % 1000));
    return 1;
}

/* Tell whether a line begins with the name of a field, in letters of any case, and a colon. */
static int is_field(const char *at, const char *end, Text name)
{
    if ((size_t)(end - at) <= name.length)
        return 0;
    for (size_t i = 0; i < name.length; i++)
        if (((unsigned char)at[i] | (name.text[i] == '-' ? 0 : 0x20)) != (unsigned char)name.text[i])
            return 0;
    for (at += name.length; at < end && (*at == ' ' || *at == '\t');)
        at++;
    return at < end && *at == ':';
}

static const Text CODING = {"transfer-encoding", 17}, LENGTH = {"content-length", 14};
enum { BEFORE_HYPHEN = 8, BEHIND_HYPHEN = 9 }; /* letters of the first of them */

/* Tell how a head goes into the archive: 0 as it came, 1 with the fields of its transfer marked, -1: Python is to say so.
 * The latter is where a line may begin as white ones do, or where a coding is named but by a field of its own. */
static int how_archived(Text head)
{
    const char *at = head.text, *end = head.text + head.length;
    int marked = 0;
    while ((at = memchr(at, '\n', (size_t)(end - at))) != NULL && ++at < end) {
        unsigned char c = (unsigned char)*at;
        if (c == '\r' ? end - at < 2 || at[1] != '\n' : c < '!' || c > '~')
            return -1;
    }
    for (at = head.text; (at = memchr(at, '-', (size_t)(end - at))) != NULL; at++) {
        if (at - head.text < BEFORE_HYPHEN || end - at < BEHIND_HYPHEN)
            continue;
        const char *begin = at - BEFORE_HYPHEN;
        int i = 0;
        while (i < (int)CODING.length
               && ((unsigned char)begin[i] | (CODING.text[i] == '-' ? 0 : 0x20)) == (unsigned char)CODING.text[i])
            i++;
        if (i < (int)CODING.length)
            continue;
        if (begin == head.text || begin[-1] != '\n' || !is_field(begin, end, CODING))
            return -1;
        marked = 1;
    }
    return marked && is_field(head.text, end, LENGTH) ? -1 : marked;
}

static void write_head(Out *out, Text head, int marked)
{
    const char *line = head.text, *end = head.text + head.length;
    while (marked && line < end) {
        const char *line_end = memchr(line, '\n', (size_t)(end - line)), *next = line_end ? line_end + 1 : end;
        if (line > head.text && (is_field(line, end, CODING) || is_field(line, end, LENGTH)))
            PUT(out, "X-Archive-Orig-");
        put(out, line, (size_t)(next - line));
        line = next;
    }
    put(out, line, (size_t)(end - line));
}

static void write_common(Out *out, const Parts *p)
{
    PUT(out, "WARC-Date: ");
    put(out, p->date, DATE);
    PUT(out, "\r\nWARC-Target-URI: ");
    put(out, p->url.text, p->url.length);
    PUT(out, "\r\n");
    if (p->address.length) {
        PUT(out, "WARC-IP-Address: ");
        put(out, p->address.text, p->address.length);
        PUT(out, "\r\n");
    }
    put(out, p->spoken.text, p->spoken.length);
}

static void write_id(Out *out, const char *name, const char *id)
{
    put(out, name, strlen(name));
    PUT(out, ": <urn:uuid:");
    put(out, id, UUID);
    PUT(out, ">\r\n");
}

static void write_request(Out *out, const Parts *p)
{
    PUT(out, "WARC/1.1\r\nWARC-Type: request\r\n");
    write_id(out, "WARC-Record-ID", p->ids[0]);
    write_common(out, p);
    write_id(out, "WARC-Concurrent-To", p->ids[1]);
    PUT(out, "Content-Type: application/http;msgtype=request\r\nContent-Length: ");
    put(out, p->request_length, strlen(p->request_length));
    PUT(out, "\r\n\r\n");
    put(out, p->request.text, p->request.length);
    PUT(out, "\r\n\r\n");
}

static void write_answer(Out *out, const Parts *p)
{
    PUT(out, "WARC/1.1\r\nWARC-Type: ");
    put(out, p->kind.text, p->kind.length);
    PUT(out, "\r\n");
    write_id(out, "WARC-Record-ID", p->ids[1]);
    write_common(out, p);
    put(out, p->extra.text, p->extra.length);
    PUT(out, "WARC-Payload-Digest: sha1:");
    put(out, p->digest, sizeof p->digest);
    PUT(out, "\r\nContent-Type: application/http;msgtype=response\r\nContent-Length: ");
    put(out, p->answer_length, strlen(p->answer_length));
    PUT(out, "\r\n\r\n");
    write_head(out, p->head, p->marked);
    put(out, p->body.text, p->body.length);
    PUT(out, "\r\n\r\n");
}

static PyObject *written(void (*write)(Out *, const Parts *), const Parts *parts)
{
    Out counted = {NULL, 0};
    write(&counted, parts);
    PyObject *record = counted.size > PY_SSIZE_T_MAX ? PyErr_NoMemory()
                                                     : PyBytes_FromStringAndSize(NULL, (Py_ssize_t)counted.size);
    if (record) {
        Out out = {PyBytes_AS_STRING(record), 0};
        write(&out, parts);
    }
    return record;
}

/* Take a text; returns 0 where it is not short ASCII. */
static int take_text(Text *text, PyObject *from)
{
    if (!PyUnicode_IS_ASCII(from) || PyUnicode_GET_LENGTH(from) > LONGEST_TEXT)
        return 0;
    *text = (Text){PyUnicode_DATA(from), (size_t)PyUnicode_GET_LENGTH(from)};
    return 1;
}

static Text bytes_of(PyObject *from)
{
    return (Text){PyBytes_AS_STRING(from), (size_t)PyBytes_GET_SIZE(from)};
}

PyDoc_STRVAR(pair_doc, "pair(url, address, date_ms, spoken, random, kind, extra, request_head, response_head, body,\n\
     payload_digest) -> (request record, response record) | None\n\n\
`random` is 32 random bytes; the other names are those of record.py. None: they are not as usual.");

static PyObject *pair(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *url, *address, *spoken, *random, *kind, *extra, *request, *head, *body, *digest;
    long long date_ms;
    if (!PyArg_ParseTuple(args, "UULUSUUOOOS:pair", &url, &address, &date_ms, &spoken, &random, &kind, &extra, &request,
                          &head, &body, &digest))
        return NULL;
    if (PyBytes_GET_SIZE(random) != RANDOM || PyBytes_GET_SIZE(digest) != DIGEST)
        return PyErr_Format(PyExc_ValueError, "32 random bytes and a digest of 20 are wanted");
    if (!PyBytes_CheckExact(request) || !PyBytes_CheckExact(head) || !PyBytes_CheckExact(body))
        Py_RETURN_NONE;
    Parts p = {.request = bytes_of(request), .head = bytes_of(head), .body = bytes_of(body)};
    if (!take_text(&p.url, url) || !take_text(&p.address, address) || !take_text(&p.spoken, spoken)
        || !take_text(&p.kind, kind) || !take_text(&p.extra, extra) || !write_date(p.date, date_ms)
        || (p.marked = how_archived(p.head)) < 0)
        Py_RETURN_NONE;
    Out archived = {NULL, 0};
    write_head(&archived, p.head, p.marked);
    write_uuid(p.ids[0], (const unsigned char *)PyBytes_AS_STRING(random));
    write_uuid(p.ids[1], (const unsigned char *)PyBytes_AS_STRING(random) + RANDOM / 2);
    write_base32(p.digest, (const unsigned char *)PyBytes_AS_STRING(digest));
    snprintf(p.request_length, sizeof p.request_length, "%zu", p.request.length);
    snprintf(p.answer_length, sizeof p.answer_length, "%zu", archived.size + p.body.length);
    PyObject *result = NULL, *asked = written(write_request, &p), *answer = asked ? written(write_answer, &p) : NULL;
    if (answer)
        result = PyTuple_Pack(2, asked, answer);
    Py_XDECREF(asked);
    Py_XDECREF(answer);
    return result;
}

static PyMethodDef methods[] = {
    {"pair", pair, METH_VARARGS, pair_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_records", "The compiled form of record.records_of.", -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__records(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module && PyModule_AddIntMacro(module, INTERFACE) < 0)
        Py_CLEAR(module);
    return module;
}
