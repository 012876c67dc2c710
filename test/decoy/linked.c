/*-------------------------------------------------------------------------
 *
 * linked.c
 *	  A module that is linked with CRoaring as a shared library.
 *
 * It stands for any other extension that brings the same libroaring into the
 * process before roaring64 does, and does so in the usual way.
 *
 * test/decoy/linked.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <roaring/roaring.h>

#include "fmgr.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT Datum linked_cardinality(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(linked_cardinality);

/* linked_cardinality(int) returns int: the size of {0, ..., n - 1}. */
Datum
linked_cardinality(PG_FUNCTION_ARGS)
{
	roaring_bitmap_t *bitmap = roaring_bitmap_from_range(0, PG_GETARG_INT32(0), 1);
	int32		result;

	result = (int32) roaring_bitmap_get_cardinality(bitmap);
	roaring_bitmap_free(bitmap);
	PG_RETURN_INT32(result);
}
