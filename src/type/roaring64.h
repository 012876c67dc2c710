/*-------------------------------------------------------------------------
 *
 * roaring64.h
 *	  The roaring64 type as the server sees it.
 *
 * A roaring64 is a varlena whose payload is the portable form of the set,
 * nothing before or after it.  Functions get their arguments as views on the
 * detoasted bytes and return what the engine made; the engine leaves room for
 * the varlena header, so nothing is copied between them.
 *
 * src/type/roaring64.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ROARING64_TYPE_H
#define ROARING64_TYPE_H

#include "postgres.h"

#include "fmgr.h"
#include "utils/array.h"
#include "utils/typcache.h"

#include "compat.h"
#include "engine/r64.h"

/*
 * Memory from CurrentMemoryContext, failures as ereport(ERROR).  In a copy of
 * it, arg may name the memory context to use instead.
 */
extern const r64_env roaring64_env;

/* The same for sets that are only counted, which may be larger than a value. */
extern const r64_env roaring64_count_env;

/* A view on a detoasted value; short varlena headers are fine. */
static inline r64_set
roaring64_view(struct varlena *value)
{
	return r64_open(&roaring64_env, VARDATA_ANY(value),
					VARSIZE_ANY_EXHDR(value));
}

/* Makes the engine's result a datum, in place. */
static inline Datum
roaring64_datum(r64_buf buf)
{
	SET_VARSIZE(buf.base, VARHDRSZ + buf.size);
	return PointerGetDatum(buf.base);
}

/* variable.c: a view on the set of an expanded object, without flattening. */
extern r64_set roaring64_expanded_view(Datum value);

/* Any datum as a set. */
static inline r64_set
DatumGetRoaring64(Datum value)
{
	if (VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(value)))
		return roaring64_expanded_view(value);
	return roaring64_view(PG_DETOAST_DATUM_PACKED(value));
}

/*
 * argument.c: an argument as a set.  A value that comes call after call is
 * detoasted and indexed once; else the set is in *local.  Not for functions
 * that keep something of their own in fn_extra.
 */
extern r64_set *roaring64_getarg(FunctionCallInfo fcinfo, int argno,
								 r64_set *local);

/*
 * argument.c: whether an argument is the variable of a procedural language,
 * or what may be one: a parameter that can change from call to call.
 */
extern bool roaring64_argument_is_variable(FmgrInfo *flinfo, int argno);

/*
 * variable.c: what a support function says about changes in place; NULL if
 * that is not what it is asked.
 */
extern Node *roaring64_support_in_place(Node *request);

/*
 * argument.c: a value that is better read in parts: stored out of line, not
 * compressed, large but of few buckets.  An argument must also be seen for
 * the first time.
 */
typedef struct ToastSource
{
	r64_source	source;
	struct varlena *pointer;	/* to the TOAST value */
	struct varlena *part;		/* fetched last: size bytes from offset on */
	size_t		offset;
	size_t		size;
} ToastSource;
extern bool roaring64_toast_source(Datum datum, ToastSource *source);
extern bool roaring64_getarg_source(FunctionCallInfo fcinfo, int argno,
									ToastSource *source);

/* The set is good until the calling block is left. */
#define PG_GETARG_ROARING64(n)	roaring64_getarg(fcinfo, n, &(r64_set) {0})
#define PG_RETURN_ROARING64(b)	return roaring64_datum(b)

/*
 * env.c: the one wording for a value, array or text that would not fit.  hint
 * is a full sentence that says what to do instead.
 */
extern void roaring64_too_large(const char *what,
								const char *hint) R64_NORETURN;

/*
 * io.c: defines roaring64.output_format; once, when the library is loaded.
 */
extern void roaring64_define_settings(void);

/*
 * io.c: whether a type is ours.  It may be in any schema, and others may have
 * types of the same name, so it is known by its input function.
 */
extern bool roaring64_is_type(Oid type);

/*
 * bytes.c: bytes that are not ours.  Gives their canonical form as a datum,
 * or reports with ERRCODE_INVALID_BINARY_REPRESENTATION what is wrong with
 * them (softly, if context is an ErrorSaveContext; then returns (Datum) 0).
 */
extern Datum roaring64_from_bytes(const void *bytes, Size size, Node *context);

/*
 * array.c: the elements of a bigint[], integer[] or smallint[] argument.
 * Errors out on a NULL element; any number of dimensions is fine.  The result
 * is palloc'd, and the caller may reorder it.
 */
extern int64 *roaring64_array_values(ArrayType *array, int *n);

/*
 * array.c: a bigint[] to fill in place.  make_array gives one with room for n
 * elements, to be written to ROARING64_ARRAY_DATA, or reports that so many do
 * not fit; array_datum declares how many were written, n <= room, and makes
 * it a datum (the canonical empty array if none).
 */
#define ROARING64_ARRAY_DATA(array) \
	((int64 *) ((char *) (array) + ARR_OVERHEAD_NONULLS(1)))
extern ArrayType *roaring64_make_array(uint64 n);
extern Datum roaring64_array_datum(ArrayType *array, int n);

/* array.c: values as a bigint[]. */
extern Datum roaring64_bigint_array(const int64 *values, int n);

/*
 * range.c: an int8range argument as inclusive bounds.  An infinite bound is
 * the first or last bigint.  An empty range gives false and bounds with
 * lo > hi, which the engine takes for an empty range too.
 */
extern bool roaring64_range_bounds(FunctionCallInfo fcinfo, int argno,
								   int64 *lo, int64 *hi);

/*
 * range.c: the same of a range whose integers all become elements.  Reports one
 * that has no bound and is too large.
 */
extern void roaring64_filled_bounds(FunctionCallInfo fcinfo, int argno,
									int64 *lo, int64 *hi);

/* range.c: the same of an int8range that is no argument. */
extern bool roaring64_datum_bounds(Datum range, int64 *lo, int64 *hi);

/* range.c: what the functions below need to know of int8range. */
extern TypeCacheEntry *roaring64_range_typcache(void);

/*
 * range.c: the int8range [lo, hi]; without upper bound if hi is the last
 * bigint, as int8range has no other way to say so.
 */
extern Datum roaring64_make_range(TypeCacheEntry *typcache, int64 lo, int64 hi);

#endif							/* ROARING64_TYPE_H */
