/*-------------------------------------------------------------------------
 *
 * take.c
 *	  Messages that are due: out of the table and to the one who delivers.
 *
 * Rows are fetched one by one in the order of delivery, and locked as they
 * are; a row that somebody else has locked is passed over.  So of takers at
 * the same time each gets messages of its own, without waiting, and none gets
 * the messages of a row from where another one has stopped before that one's
 * transaction has ended.  The locks and the removal are the transaction's: if
 * it does not commit, the messages are as they were.
 *
 * A limit is reached within a row at most once, at the last row.  That is
 * updated; the rows before it are deleted, all in one statement at the end.
 *
 * src/delay/take.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "delay/delay.h"
#include "state/statement.h"
#include "type/roaring64.h"

#define TAKE_BATCH	1024		/* elements that are read at a time */

typedef struct Taking
{
	DelayTable *delay;
	uint64		left;			/* messages that may yet be taken */
	Tuplestorestate *messages;	/* what has been */
	TupleDesc	tupdesc;
	int64	   *buckets;		/* of rows that have been taken whole */
	int64	   *ledgers;
	int			nrows;
	int			room;
} Taking;

/* Prepares the caller to get all rows at once. */
static void
begin_rows(FunctionCallInfo fcinfo, Taking *taking)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext oldcontext;
	bool		random_access;

	if (rsinfo == NULL || !IsA(rsinfo, ReturnSetInfo) ||
		(rsinfo->allowedModes & SFRM_Materialize) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("set-valued function called in context that cannot accept a set")));

	random_access = (rsinfo->allowedModes & SFRM_Materialize_Random) != 0;
	oldcontext = rsinfo->econtext->ecxt_per_query_memory;
	oldcontext = MemoryContextSwitchTo(oldcontext);
	if (get_call_result_type(fcinfo, NULL, &taking->tupdesc) !=
		TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	taking->messages = tuplestore_begin_heap(random_access, false, work_mem);
	rsinfo->returnMode = SFRM_Materialize;
	rsinfo->setResult = taking->messages;
	rsinfo->setDesc = taking->tupdesc;
	MemoryContextSwitchTo(oldcontext);
}

/* A removal that has removed something else than what was locked. */
static void
check_removed(Taking *taking, uint64 removed, uint64 expected)
{
	if (removed != expected)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("messages in \"%s\" could not be removed",
						get_rel_name(taking->delay->owner.relid)),
				 errdetail("A row security policy, a trigger or a rule has kept them.")));
}

/* Puts out the first n messages of a row. */
static void
put_messages(Taking *taking, Datum bucket, Datum ledger, r64_set *entries,
			 uint64 n)
{
	Datum		values[3] = {bucket, ledger};
	bool		nulls[3] = {false};
	int64		batch[TAKE_BATCH];
	int64		lo = PG_INT64_MIN;

	while (n > 0)
	{
		size_t		count = r64_read(entries, lo, PG_INT64_MAX, false, batch,
									 Min(n, TAKE_BATCH));

		for (size_t i = 0; i < count; i++)
		{
			values[2] = Int64GetDatum(batch[i]);
			tuplestore_putvalues(taking->messages, taking->tupdesc, values,
								 nulls);
		}
		CHECK_FOR_INTERRUPTS();
		if (count == 0)
			roaring64_env.fail(roaring64_env.arg, R64_CORRUPT,
							   "fewer elements than its containers say");
		n -= count;
		/* wraps around only after the last element there can be */
		lo = (int64) ((uint64) batch[count - 1] + 1);
	}
}

/* Notes a row that has been taken whole, for remove_rows. */
static void
note_row(Taking *taking, int64 bucket, int64 ledger)
{
	if (taking->nrows == taking->room)
	{
		taking->room *= 2;
		taking->buckets = repalloc(taking->buckets,
								   taking->room * sizeof(int64));
		taking->ledgers = repalloc(taking->ledgers,
								   taking->room * sizeof(int64));
	}
	taking->buckets[taking->nrows] = bucket;
	taking->ledgers[taking->nrows++] = ledger;
}

/* Takes what may be taken of the row that was fetched. */
static void
take_row(Taking *taking, SPITupleTable *row)
{
	Datum		values[3];
	r64_set		entries;
	uint64		count;
	uint64		n;

	for (int i = 0; i < 3; i++)
		values[i] = state_value(row->vals[0], row->tupdesc, i + 1,
								i < 2 ? INT8OID : taking->delay->type);
	entries = DatumGetRoaring64(values[2]);
	count = r64_cardinality(&entries);
	n = Min(count, taking->left);
	taking->left -= n;

	put_messages(taking, values[0], values[1], &entries, n);
	if (n == count)
		note_row(taking, DatumGetInt64(values[0]), DatumGetInt64(values[1]));
	else
	{
		values[2] = Int64GetDatum((int64) n);
		check_removed(taking,
					  state_run(&taking->delay->owner, DELAY_KEEP_REST,
								SPI_OK_UPDATE, values, NULL), 1);
	}
}

/* Deletes the rows that have been taken whole. */
static void
remove_rows(Taking *taking)
{
	Datum		values[2];

	if (taking->nrows == 0)
		return;
	values[0] = roaring64_bigint_array(taking->buckets, taking->nrows);
	values[1] = roaring64_bigint_array(taking->ledgers, taking->nrows);
	check_removed(taking,
				  state_run(&taking->delay->owner, DELAY_REMOVE_ROWS,
							SPI_OK_DELETE, values, NULL), taking->nrows);
}

/*
 * Fetches rows and takes them until there is no more to take.  What one row
 * needs goes into a context of its own.
 */
static void
take_rows(Taking *taking, Portal portal)
{
	MemoryContext context = CurrentMemoryContext;
	MemoryContext row_context;

	row_context = AllocSetContextCreate(context, "roaring64 delayed messages",
										ALLOCSET_DEFAULT_SIZES);
	taking->buckets = palloc(taking->room * sizeof(int64));
	taking->ledgers = palloc(taking->room * sizeof(int64));
	while (taking->left > 0)
	{
		SPITupleTable *row;

		SPI_cursor_fetch(portal, true, 1);
		if (SPI_processed == 0)
			break;
		row = SPI_tuptable;
		MemoryContextSwitchTo(row_context);
		take_row(taking, row);
		MemoryContextSwitchTo(context);
		MemoryContextReset(row_context);
		SPI_freetuptable(row);
	}
}

/*
 * Takes what is due until then: argument 2, if it is not NULL, is how much at
 * most.  The table, or the time, may be NULL, and then nothing is due.
 */
static void
take(FunctionCallInfo fcinfo, int64 until)
{
	Taking		taking = {.left = PG_INT64_MAX, .room = 64};
	Datum		values[2] = {Int64GetDatum(until)};
	Portal		portal;

	begin_rows(fcinfo, &taking);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		return;
	if (!PG_ARGISNULL(2))
	{
		if (PG_GETARG_INT64(2) < 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("limit must not be negative")));
		taking.left = (uint64) PG_GETARG_INT64(2);
	}

	values[1] = Int64GetDatum((int64) taking.left);

	SPI_connect();
	taking.delay = delay_table(fcinfo);
	portal = SPI_cursor_open(NULL, state_plan(&taking.delay->owner, DELAY_DUE),
							 values, NULL, false);
	take_rows(&taking, portal);
	SPI_cursor_close(portal);
	remove_rows(&taking);
	SPI_finish();
}

/*
 * roaring64_delay_take(regclass, until bigint, "limit" bigint) returns rows
 * (bucket bigint, ledger bigint, entry bigint): removes the messages that are
 * due until then, in milliseconds after 1970, and returns them in the order
 * of bucket, ledger and entry; at most limit of them, or all if that is NULL.
 * Messages in rows that another transaction has locked are left out.  Errors
 * if the table is not one of delayed messages, if the limit is negative, and
 * as SELECT FOR UPDATE, UPDATE and DELETE have.
 */
PG_FUNCTION_INFO_V1(roaring64_delay_take);
Datum
roaring64_delay_take(PG_FUNCTION_ARGS)
{
	take(fcinfo, PG_ARGISNULL(1) ? 0 : PG_GETARG_INT64(1));
	return (Datum) 0;
}

/*
 * roaring64_delay_take(regclass, until timestamptz, "limit" bigint) returns
 * rows (bucket bigint, ledger bigint, entry bigint): the same.  An infinite
 * time is before or after all.
 */
PG_FUNCTION_INFO_V1(roaring64_delay_take_timestamp);
Datum
roaring64_delay_take_timestamp(PG_FUNCTION_ARGS)
{
	take(fcinfo, PG_ARGISNULL(1) ? 0 :
		 delay_milliseconds(PG_GETARG_TIMESTAMPTZ(1)));
	return (Datum) 0;
}
