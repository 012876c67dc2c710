/*-------------------------------------------------------------------------
 *
 * roaring64.h
 *	  The roaring64 type as the server sees it.
 *
 * A roaring64 is a varlena whose payload is the portable form of the set,
 * nothing before or after it.  Functions get their arguments as views on the
 * detoasted bytes and return the engine's results, which begin with space for
 * the varlena header, so nothing is copied between them.  The set itself is the
 * engine's (engine/r64.h).
 *
 * src/type/roaring64.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ROARING64_TYPE_H
#define ROARING64_TYPE_H

#include "postgres.h"

#include "fmgr.h"
#include "nodes/nodes.h"
#include "utils/array.h"

#include "compat.h"
#include "engine/r64.h"

/* Memory from CurrentMemoryContext, failures as ereport(ERROR). */
extern const r64_env roaring64_env;

/* The same for sets that are only counted and may be larger than a value. */
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

/* expanded.c */
extern r64_set roaring64_expanded_set(Datum value);

/* Any datum as a set. */
static inline r64_set
DatumGetRoaring64(Datum value)
{
	if (VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(value)))
		return roaring64_expanded_set(value);
	return roaring64_view(PG_DETOAST_DATUM_PACKED(value));
}

/* toast_source.c */
extern bool roaring64_restrict(Datum datum, const r64_set *few,
							   uint64 *cardinality, r64_buf *made);

/* operators.c */
extern Datum roaring64_andnot(PG_FUNCTION_ARGS);

/* argument_cache.c */
extern bool roaring64_edits_in_place(FunctionCallInfo fcinfo, int argno);
extern bool roaring64_arg_contains(FunctionCallInfo fcinfo, int argno,
								   int64 element);
extern uint64 roaring64_arg_cardinality(FunctionCallInfo fcinfo, int argno);
extern r64_set *roaring64_getarg(FunctionCallInfo fcinfo, int argno,
								 r64_set *local);
extern r64_set *roaring64_getarg_within(FunctionCallInfo fcinfo, int argno,
										const r64_set *few,
										uint64 *cardinality, r64_set *local);
extern int	roaring64_larger_argument(FunctionCallInfo fcinfo);

/* The set is valid until the calling block is left. */
#define PG_GETARG_ROARING64(n)	roaring64_getarg(fcinfo, n, &(r64_set) {0})

/* The same; elements outside of the containers of few may be missing. */
#define PG_GETARG_ROARING64_WITHIN(n, few) \
	roaring64_getarg_within(fcinfo, n, few, NULL, &(r64_set) {0})

#define PG_RETURN_ROARING64(b)	return roaring64_datum(b)

/* Defines a function for SQL as a call of another, which returns its result. */
#define ROARING64_FUNCTION(name, call) \
	PG_FUNCTION_INFO_V1(name); \
	Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		return call; \
	}

/* engine_env.c */
extern void roaring64_too_large(const char *what,
								const char *hint) R64_NORETURN;

/* io.c */
extern void roaring64_define_settings(void);
extern bool roaring64_is_type(Oid type);

/* bytes.c */
extern Datum roaring64_from_bytes(const void *bytes, Size size, Node *context);

/* array.c */
#define ROARING64_ARRAY_DATA(array) \
	((int64 *) ((char *) (array) + ARR_OVERHEAD_NONULLS(1)))
extern int64 *roaring64_array_values(ArrayType *array, int *n);
extern ArrayType *roaring64_make_array(uint64 n);
extern Datum roaring64_array_datum(ArrayType *array, int n);
extern Datum roaring64_bigint_array(const int64 *values, int n);

/* int8range.c */
extern bool roaring64_range_bounds(Datum range, int64 *lo, int64 *hi);
extern void roaring64_filled_bounds(Datum range, int64 *lo, int64 *hi);
extern Datum roaring64_make_range(int64 lo, int64 hi);

#endif							/* ROARING64_TYPE_H */
