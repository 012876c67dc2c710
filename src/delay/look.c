/*-------------------------------------------------------------------------
 *
 * look.c
 *	  What is there to be delivered, and when.
 *
 * src/delay/look.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/spi.h"
#include "utils/timestamp.h"

#include "delay/delay.h"

/* See delay.h. */
bool
delay_result(int64 *result)
{
	bool		isnull;
	Datum		value = SPI_getbinval(SPI_tuptable->vals[0],
									  SPI_tuptable->tupdesc, 1, &isnull);

	*result = isnull ? 0 : DatumGetInt64(value);
	return !isnull;
}

/*
 * Runs a statement that gives one bigint, with the snapshot of the statement
 * that has called us: the functions here are STABLE.  False if it is NULL.
 */
static bool
look(FunctionCallInfo fcinfo, DelayStatement statement, Datum *values,
	 int64 *result)
{
	DelayTable *delay;
	bool		found;

	SPI_connect();
	delay = delay_table(fcinfo);
	state_read(&delay->owner, statement, values, NULL);
	found = delay_result(result);
	SPI_finish();
	return found;
}

/* How many messages are due until then. */
static int64
count_due(FunctionCallInfo fcinfo, int64 until)
{
	Datum		value = Int64GetDatum(until);
	int64		count;

	look(fcinfo, DELAY_COUNT, &value, &count);
	return count;
}

/*
 * roaring64_delay_next_due(regclass) returns bigint: when the first message
 * is due, in milliseconds after 1970 and rounded down to its bucket; NULL if
 * there is none.  Errors if the table is not one of delayed messages.
 */
PG_FUNCTION_INFO_V1(roaring64_delay_next_due);
Datum
roaring64_delay_next_due(PG_FUNCTION_ARGS)
{
	int64		due;

	if (!look(fcinfo, DELAY_NEXT_DUE, NULL, &due))
		PG_RETURN_NULL();
	PG_RETURN_INT64(due);
}

/* roaring64_delay_count(regclass) returns bigint: how many messages wait. */
PG_FUNCTION_INFO_V1(roaring64_delay_count);
Datum
roaring64_delay_count(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(count_due(fcinfo, PG_INT64_MAX));
}

/*
 * roaring64_delay_count(regclass, until bigint) returns bigint: how many of
 * them are due by then, which is how many roaring64_delay_take would give.
 */
PG_FUNCTION_INFO_V1(roaring64_delay_count_until);
Datum
roaring64_delay_count_until(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(count_due(fcinfo, PG_GETARG_INT64(1)));
}

/*
 * roaring64_delay_count(regclass, until timestamptz) returns bigint: the
 * same.
 */
PG_FUNCTION_INFO_V1(roaring64_delay_count_timestamp);
Datum
roaring64_delay_count_timestamp(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(count_due(fcinfo,
							  delay_milliseconds(PG_GETARG_TIMESTAMPTZ(1))));
}
