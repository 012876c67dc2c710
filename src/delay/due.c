/*-------------------------------------------------------------------------
 *
 * due.c
 *	  Due times that are given as timestamptz.
 *
 * src/delay/due.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "datatype/timestamp.h"
#include "utils/timestamp.h"

#include "delay/delay.h"

/* From 1970 to 2000, where timestamptz begins to count. */
#define EPOCH_MILLISECONDS \
	((POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * \
	 INT64CONST(1000) * SECS_PER_DAY)

/* See delay.h. */
int64
delay_milliseconds(TimestampTz time)
{
	int64		milliseconds;

	if (TIMESTAMP_IS_NOBEGIN(time))
		return PG_INT64_MIN;
	if (TIMESTAMP_IS_NOEND(time))
		return PG_INT64_MAX;

	/* divided first: the last timestamps leave no room for an addition */
	milliseconds = time / 1000;
	if (time % 1000 < 0)
		milliseconds--;
	return milliseconds + EPOCH_MILLISECONDS;
}

/* See delay.h. */
int64
delay_due(TimestampTz time)
{
	if (TIMESTAMP_NOT_FINITE(time))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("due time must be finite")));
	return delay_milliseconds(time);
}
