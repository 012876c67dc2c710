/*-------------------------------------------------------------------------
 *
 * add.c
 *	  Messages for later: one, or a batch in one statement.
 *
 * src/delay/add.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/spi.h"
#include "utils/array.h"
#include "utils/timestamp.h"

#include "delay/delay.h"
#include "type/roaring64.h"

/* Adds one message; whether it was not there. */
static bool
add_one(FunctionCallInfo fcinfo, int64 due)
{
	Datum		message[3];
	DelayTable *delay = delay_begin(fcinfo, due, message);
	uint64		added;

	added = state_run(&delay->owner, DELAY_ADD, SPI_OK_INSERT, message, NULL);
	SPI_finish();
	return added > 0;
}

/*
 * roaring64_delay_add(regclass, ledger bigint, entry bigint, due bigint)
 * returns boolean: adds a message that is due so many milliseconds after
 * 1970.  False if it was there already.  Errors if the table is not one of
 * delayed messages, and as INSERT has.
 */
PG_FUNCTION_INFO_V1(roaring64_delay_add);
Datum
roaring64_delay_add(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(add_one(fcinfo, PG_GETARG_INT64(3)));
}

/*
 * roaring64_delay_add(regclass, ledger bigint, entry bigint, due timestamptz)
 * returns boolean: the same.  An infinite time is an error.
 */
PG_FUNCTION_INFO_V1(roaring64_delay_add_timestamp);
Datum
roaring64_delay_add_timestamp(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(add_one(fcinfo, delay_due(PG_GETARG_TIMESTAMPTZ(3))));
}

/*
 * The three arrays of a batch.  Errors if one has nulls, or if they have not
 * the same number of elements, which is returned.
 */
static int
batch_arrays(FunctionCallInfo fcinfo, ArrayType *arrays[3])
{
	int			n[3];

	for (int i = 0; i < 3; i++)
	{
		ArrayType  *array = PG_GETARG_ARRAYTYPE_P(i + 1);

		if (array_contains_nulls(array))
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("array must not contain nulls")));
		n[i] = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
		arrays[i] = array;
	}
	if (n[0] != n[1] || n[0] != n[2])
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("arrays must have the same number of elements"),
				 errdetail("The numbers of ledgers, entries and due times are %d, %d and %d.",
						   n[0], n[1], n[2])));
	return n[0];
}

/*
 * Adds a batch.  The due times are timestamps or milliseconds, which are 8
 * bytes as well.
 */
static void
add_batch(FunctionCallInfo fcinfo, bool timestamps)
{
	ArrayType  *arrays[3];
	int			n = batch_arrays(fcinfo, arrays);
	int64	   *due = (int64 *) ARR_DATA_PTR(arrays[2]);
	ArrayType  *buckets = roaring64_make_array(n);
	int64	   *bucket = ROARING64_ARRAY_DATA(buckets);
	DelayTable *delay;
	Datum		values[3];

	SPI_connect();
	delay = delay_table(fcinfo);
	for (int i = 0; i < n; i++)
		bucket[i] = delay_bucket(delay,
								 timestamps ? delay_due(due[i]) : due[i]);
	values[0] = roaring64_array_datum(buckets, n);
	values[1] = PointerGetDatum(arrays[0]);
	values[2] = PointerGetDatum(arrays[1]);
	state_run(&delay->owner, DELAY_ADD_BATCH, SPI_OK_INSERT, values, NULL);
	SPI_finish();
}

/*
 * roaring64_delay_add(regclass, ledgers bigint[], entries bigint[], due
 * bigint[]) returns void: adds messages, the nth of which is the nth of each
 * array.  What is there already does no harm, nor do repeats.  Errors as for
 * one, if an array has nulls, and if the arrays differ in length.
 */
PG_FUNCTION_INFO_V1(roaring64_delay_add_batch);
Datum
roaring64_delay_add_batch(PG_FUNCTION_ARGS)
{
	add_batch(fcinfo, false);
	PG_RETURN_VOID();
}

/*
 * roaring64_delay_add(regclass, ledgers bigint[], entries bigint[], due
 * timestamptz[]) returns void: the same.
 */
PG_FUNCTION_INFO_V1(roaring64_delay_add_batch_timestamp);
Datum
roaring64_delay_add_batch_timestamp(PG_FUNCTION_ARGS)
{
	add_batch(fcinfo, true);
	PG_RETURN_VOID();
}
