/*-------------------------------------------------------------------------
 *
 * delay.h
 *	  Messages that are to be delivered later, as a table of sets.
 *
 * A message is known by its ledger and its entry in it, two bigints, as in
 * the message stores that write a log in segments; its due time is in
 * milliseconds since 1970.  The table has a row for every bucket of time and
 * ledger, with the set of the entries that are due in that bucket:
 *
 *		bucket bigint, ledger bigint, entries roaring64,
 *		PRIMARY KEY (bucket, ledger)
 *
 * A bucket is 2^bits milliseconds and named by its first one, which is when
 * all of it is taken to be due.  So a message may be delivered early by less
 * than a bucket, and never late; and messages that were written one after
 * the other and wait equally long are runs of a set, which take bytes.
 *
 * How wide the buckets are is said by a constraint of the table, which also
 * keeps any other row out: CHECK (bucket = roaring64_time_bucket(bucket,
 * bits)).  Unlike a setting elsewhere it cannot get lost: it is renamed,
 * dumped, copied and replicated with the table.
 *
 * No row has an empty set.
 *
 * src/delay/delay.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ROARING64_DELAY_H
#define ROARING64_DELAY_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "fmgr.h"

#include "state/plans.h"
#include "type/ids.h"

/* The statements on such a table: see statements.c. */
typedef enum DelayStatement
{
	DELAY_ADD,
	DELAY_ADD_BATCH,
	DELAY_DUE,
	DELAY_REMOVE_ROWS,
	DELAY_KEEP_REST,
	DELAY_CANCEL,
	DELAY_REMOVE_IF_EMPTY,
	DELAY_LOCK_LEDGER,
	DELAY_CANCEL_LEDGER,
	DELAY_NEXT_DUE,
	DELAY_COUNT
} DelayStatement;

/* A table of delayed messages: what a session keeps of it. */
typedef struct DelayTable
{
	StateOwner	owner;
	Oid			extension;		/* the schema we are installed in */
	Oid			type;			/* roaring64 */
	int32		bits;			/* a bucket is 2^bits milliseconds */
} DelayTable;

/*
 * table.c: the table that is argument 0.  The caller is connected to SPI.
 * Reports ERRCODE_UNDEFINED_TABLE if there is none of that OID, and
 * ERRCODE_WRONG_OBJECT_TYPE if it was not made for this.
 */
extern DelayTable *delay_table(FunctionCallInfo fcinfo);

/*
 * table.c: begins a call (table, ledger, entry, ...) about one message that is
 * due then: connects to SPI, gives the table, and the parameters bucket,
 * ledger and entry.  Errors as delay_table has.
 */
extern DelayTable *delay_begin(FunctionCallInfo fcinfo, int64 due,
							   Datum message[3]);

/* The bucket of a due time. */
static inline int64
delay_bucket(const DelayTable *delay, int64 due)
{
	return due & ~(int64) roaring64_low_bits(delay->bits);
}

/*
 * due.c: a timestamptz as milliseconds since 1970, rounded down.  One that is
 * infinite is the first or the last bigint.
 */
extern int64 delay_milliseconds(TimestampTz time);

/* due.c: the same of a due time, which must be finite. */
extern int64 delay_due(TimestampTz time);

/*
 * statements.c: the text of a statement and the types of its parameters, as
 * a StateKind has it.
 */
extern int	delay_statement(StateOwner *owner, int n, StringInfo text,
							Oid *types);

/*
 * look.c: the bigint of the one row that SPI has.  False, and 0, if NULL.
 */
extern bool delay_result(int64 *result);

#endif							/* ROARING64_DELAY_H */
