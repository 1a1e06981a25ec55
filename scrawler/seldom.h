/* What mypyc calls only where something has gone wrong, said again for gcc: the code that leads there is put apart from
 * the rest then, and what each page goes through lies closer together. `setup.py` lets gcc read this before each module.
 */
struct _object;
extern void CPy_AddTraceback(const char *, const char *, int, struct _object *) __attribute__((cold));
extern void CPy_TypeErrorTraceback(const char *, const char *, int, struct _object *, const char *, struct _object *)
    __attribute__((cold));
extern void CPy_TypeError(const char *, struct _object *) __attribute__((cold));
extern void CPy_AttributeError(const char *, const char *, const char *, const char *, int, struct _object *)
    __attribute__((cold));
