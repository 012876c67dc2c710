/*-------------------------------------------------------------------------
 *
 * cancel.c
 *	  Messages that are not to be delivered after all.
 *
 * src/delay/cancel.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/spi.h"
#include "utils/timestamp.h"

#include "delay/delay.h"

/*
 * Cancels one message; whether it was there.  Waits for a transaction that
 * has taken or added messages of the same bucket and ledger.  Updated first,
 * since only then the row is locked, and whether it has become empty is
 * certain.
 */
static bool
cancel_one(FunctionCallInfo fcinfo, int64 due)
{
	Datum		message[3];
	DelayTable *delay = delay_begin(fcinfo, due, message);
	uint64		found;

	found = state_run(&delay->owner, DELAY_CANCEL, SPI_OK_UPDATE, message,
					  NULL);
	if (found > 0)
		state_run(&delay->owner, DELAY_REMOVE_IF_EMPTY, SPI_OK_DELETE, message,
				  NULL);
	SPI_finish();
	return found > 0;
}

/*
 * roaring64_delay_cancel(regclass, ledger bigint, entry bigint, due bigint)
 * returns boolean: removes a message that was added with this due time, or
 * another one in the same bucket.  False if it is not there.  Errors if the
 * table is not one of delayed messages, and as UPDATE and DELETE have.
 */
PG_FUNCTION_INFO_V1(roaring64_delay_cancel);
Datum
roaring64_delay_cancel(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(cancel_one(fcinfo, PG_GETARG_INT64(3)));
}

/*
 * roaring64_delay_cancel(regclass, ledger bigint, entry bigint, due
 * timestamptz) returns boolean: the same.  An infinite time is an error.
 */
PG_FUNCTION_INFO_V1(roaring64_delay_cancel_timestamp);
Datum
roaring64_delay_cancel_timestamp(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(cancel_one(fcinfo, delay_due(PG_GETARG_TIMESTAMPTZ(3))));
}

/*
 * roaring64_delay_cancel(regclass, ledger bigint) returns bigint: removes all
 * messages of a ledger, and returns how many.  The rows are locked in the
 * order of the key before any is deleted.
 */
PG_FUNCTION_INFO_V1(roaring64_delay_cancel_ledger);
Datum
roaring64_delay_cancel_ledger(PG_FUNCTION_ARGS)
{
	DelayTable *delay;
	Datum		ledger = PG_GETARG_DATUM(1);
	int64		count;

	SPI_connect();
	delay = delay_table(fcinfo);
	state_run(&delay->owner, DELAY_LOCK_LEDGER, SPI_OK_SELECT, &ledger, NULL);
	state_run(&delay->owner, DELAY_CANCEL_LEDGER, SPI_OK_SELECT, &ledger,
			  NULL);
	delay_result(&count);
	SPI_finish();
	PG_RETURN_INT64(count);
}
