/*-------------------------------------------------------------------------
 *
 * value_stats.c
 *	  What a value consists of, and how many bytes it would take compressed.
 *
 * For people who choose how to store sets; no other function calls these.
 *
 * src/type/value_stats.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/toast_compression.h"
#include "access/toast_internals.h"
#include "funcapi.h"
#include "utils/builtins.h"

#include "roaring64.h"

/*
 * roaring64_stats(roaring64) returns a row (cardinality, bytes, buckets,
 * array_containers, bitset_containers, run_containers), all bigint.  Bytes
 * are those of the portable form: before compression, without the header
 * that the server adds.
 */
PG_FUNCTION_INFO_V1(roaring64_stats);
Datum
roaring64_stats(PG_FUNCTION_ARGS)
{
	r64_set    *s = PG_GETARG_ROARING64(0);
	r64_stats	stats = r64_get_stats(s);
	TupleDesc	tupdesc;
	Datum		values[6];
	bool		nulls[6] = {false};

	if (get_call_result_type(fcinfo, NULL, &tupdesc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");

	values[0] = Int64GetDatum((int64) stats.cardinality);
	values[1] = Int64GetDatum((int64) s->size);
	values[2] = Int64GetDatum((int64) stats.buckets);
	values[3] = Int64GetDatum((int64) stats.arrays);
	values[4] = Int64GetDatum((int64) stats.bitsets);
	values[5] = Int64GetDatum((int64) stats.runs);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(tupdesc),
													  values, nulls)));
}

/* The server compresses values in rows longer than about this. */
#define LONG_VALUE	2000

/*
 * roaring64_compressed_size(roaring64, method text) returns bigint: the bytes
 * that pg_column_size would give for the set in a column that is compressed
 * with the method, "pglz" or "lz4", where nothing else makes the row long.  The
 * server stores a set as it is if it does not become smaller.  The server's
 * own error for a method that it was built without.
 */
PG_FUNCTION_INFO_V1(roaring64_compressed_size);
Datum
roaring64_compressed_size(PG_FUNCTION_ARGS)
{
	struct varlena *set = PG_DETOAST_DATUM(PG_GETARG_DATUM(0));
	char		method = CompressionNameToMethod(text_to_cstring(PG_GETARG_TEXT_PP(1)));
	Size		size = VARSIZE(set);
	Datum		compressed = (Datum) 0;

	if (VARATT_CAN_MAKE_SHORT(set))
		size = VARATT_CONVERTED_SHORT_SIZE(set);
	if (size > LONG_VALUE)
		compressed = toast_compress_datum(PointerGetDatum(set), method);
	if (DatumGetPointer(compressed) != NULL)
		size = VARSIZE(DatumGetPointer(compressed));
	PG_RETURN_INT64((int64) size);
}
