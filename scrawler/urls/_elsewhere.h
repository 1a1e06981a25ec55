/* Links to other sites, as most of them are: URLs in which neither the standard nor a step beyond it finds anything to
 * do. What is not surely one of them is left to Python, `UrlAnalyzer`, whose rules these are.
 */
#ifndef SCRAWLER_ELSEWHERE_H
#define SCRAWLER_ELSEWHERE_H

enum { MOST_SEGMENTS = 32 }; /* a URL with more of them is left to Python */

typedef struct { /* `lookup.ElsewhereRules` says what these are; the objects are borrowed */
    PyObject *prefixes, *aliases, *marks; /* the first is NULL where all is left to Python */
    Py_ssize_t segments, repeats, parameters;
    int sorts; /* whether parameters are put in the order of their names */
} Elsewhere;

static inline int is_in_name(char c) /* and may begin one */
{
    return Py_ISALNUM(c) || c == '_' || c == '-' || c == '~';
}

static inline int is_in_query(char c)
{
    switch (c) {
    case '.': case '=': case '&': case ';': case '%': case '+': case '/': case ':': case ',': case '*': case '!':
    case '@': case '$': case '(': case ')':
        return 1;
    default:
        return is_in_name(c);
    }
}

/* Return where the host ends that begins there, if it has several labels, the last of letters alone; else 0. */
static Py_ssize_t end_of_host(const char *url, Py_ssize_t begin, Py_ssize_t length)
{
    Py_ssize_t label = begin, labels = 0, at = begin;
    int is_of_letters = 1;
    for (; at < length && url[at] != '/'; at++) {
        if (url[at] == '.') {
            if (at == label || ++labels > 100 || (at - label >= 4 && !memcmp(url + label, "xn--", 4)))
                return 0;
            label = at + 1;
            is_of_letters = 1;
        }
        else if (Py_ISDIGIT(url[at]) || url[at] == '-')
            is_of_letters = 0;
        else if (!Py_ISLOWER(url[at]))
            return 0;
    }
    return at < length && labels && at > label && is_of_letters ? at : 0;
}

/* Whether so many segments, each between two of these slashes, have two equal ones. */
static int have_equal(const char *url, const Py_ssize_t *slashes, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++)
        for (Py_ssize_t j = i + 1; j < count; j++) {
            Py_ssize_t length = slashes[i + 1] - slashes[i];
            if (length == slashes[j + 1] - slashes[j] && !memcmp(url + slashes[i], url + slashes[j], (size_t)length))
                return 1;
        }
    return 0;
}

/* Return where the path ends that begins there, if it is plain and surely within the limits; else 0. */
static Py_ssize_t end_of_path(const Elsewhere *e, const char *url, Py_ssize_t begin, Py_ssize_t length)
{
    Py_ssize_t slashes[MOST_SEGMENTS + 2] = {begin}, count = 0, at = begin + 1;
    for (; at < length && url[at] != '?'; at++) {
        if (url[at] == '/') {
            if (url[at - 1] == '/' || ++count > MOST_SEGMENTS)
                return 0;
            slashes[count] = at;
        }
        else if (!is_in_name(url[at]) && (url[at] != '.' || url[at - 1] == '/'))
            return 0;
    }
    if (url[at - 1] != '/' && ++count > MOST_SEGMENTS)
        return 0;
    slashes[count] = url[at - 1] == '/' ? at - 1 : at;
    return count > e->segments || (count > e->repeats && have_equal(url, slashes, count)) ? 0 : at;
}

static inline int is_capital_digit(char c)
{
    return Py_ISDIGIT(c) || (c >= 'A' && c <= 'F');
}

/* Whether an escape stays as it is: it is no whole one, or in capitals, and of a character that has to be escaped. */
static int is_spelt_escape(const char *text, Py_ssize_t length)
{
    if (length < 3 || !Py_ISXDIGIT(text[1]) || !Py_ISXDIGIT(text[2]))
        return 1;
    if (!is_capital_digit(text[1]) || !is_capital_digit(text[2]))
        return 0;
    int high = Py_ISDIGIT(text[1]) ? text[1] - '0' : text[1] - 'A' + 10;
    char c = (char)(high << 4 | (Py_ISDIGIT(text[2]) ? text[2] - '0' : text[2] - 'A' + 10));
    return !is_in_name(c) && c != '.';
}

/* Whether a parameter begins with one of the marks, in capitals or not. */
static int is_marked(const Elsewhere *e, const char *text, Py_ssize_t length)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(e->marks); i++) {
        PyObject *mark = PyTuple_GET_ITEM(e->marks, i);
        if (!PyUnicode_Check(mark) || !PyUnicode_IS_ASCII(mark))
            return 1;
        const char *of = PyUnicode_DATA(mark);
        Py_ssize_t at = 0, end = PyUnicode_GET_LENGTH(mark);
        while (at < end && at < length && Py_TOLOWER(text[at]) == of[at])
            at++;
        if (at == end)
            return 1;
    }
    return 0;
}

/* Whether a query is surely within the limits, and no step changes it. */
static int is_plain_query(const Elsewhere *e, const char *query, Py_ssize_t length)
{
    Py_ssize_t count = 0, begin = 0;
    for (Py_ssize_t at = 0; at <= length; at++) {
        if (at < length && query[at] != '&') {
            if (!is_in_query(query[at]) || (query[at] == '%' && !is_spelt_escape(query + at, length - at)))
                return 0;
            continue;
        }
        if (is_marked(e, query + begin, at - begin))
            return 0;
        count++;
        begin = at + 1;
    }
    return length && count <= e->parameters && (count == 1 || !e->sorts);
}

/* Whether a URL begins as internal ones do; as well where that cannot be told. */
static int may_be_internal(const Elsewhere *e, const char *url, Py_ssize_t length)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(e->prefixes); i++) {
        PyObject *prefix = PyTuple_GET_ITEM(e->prefixes, i);
        if (!PyUnicode_Check(prefix) || !PyUnicode_IS_ASCII(prefix))
            return 1;
        Py_ssize_t size = PyUnicode_GET_LENGTH(prefix);
        if (size <= length && !memcmp(PyUnicode_DATA(prefix), url, (size_t)size))
            return 1;
    }
    return 0;
}

/* Whether a host is another name of a known one; -1 on failure. */
static int is_alias(const Elsewhere *e, const char *host, Py_ssize_t length)
{
    if (!PyDict_GET_SIZE(e->aliases))
        return 0;
    PyObject *name = PyUnicode_FromStringAndSize(host, length);
    int found = name ? PyDict_Contains(e->aliases, name) : -1;
    Py_XDECREF(name);
    return found;
}

/* Whether a URL is surely one of another site, and stays as it is; `path_end` gets where its path ends. -1 on failure. */
static int is_elsewhere(const Elsewhere *e, const char *url, Py_ssize_t length, Py_ssize_t *path_end)
{
    Py_ssize_t host = length > 8 && !memcmp(url, "https://", 8) ? 8 : 7;
    if (!e->prefixes || length <= 8 || (host == 7 && memcmp(url, "http://", 7)))
        return 0;
    Py_ssize_t slash = end_of_host(url, host, length);
    *path_end = slash ? end_of_path(e, url, slash, length) : 0;
    if (!*path_end || may_be_internal(e, url, length))
        return 0;
    if (*path_end < length && !is_plain_query(e, url + *path_end + 1, length - *path_end - 1))
        return 0;
    int alias = is_alias(e, url + host, slash - host);
    return alias < 0 ? -1 : !alias;
}

#endif
