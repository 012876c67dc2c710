/*-------------------------------------------------------------------------
 *
 * dedup.h
 *	  Claims of a dedup set: what is called often enough to keep its plans.
 *
 * A set is four tables of the user's; sql/parts/dedup.sql says which, how they
 * are changed, and what keeps those who do it apart.  Here are only claim and
 * seen, for one id and for many, and the trigger, as statements on those tables
 * that are prepared once a session.
 *
 * src/dedup/dedup.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ROARING64_DEDUP_H
#define ROARING64_DEDUP_H

#include "postgres.h"

#include "executor/spi.h"
#include "fmgr.h"

#include "type/roaring64.h"

#define DEDUP_MAX_KEY	1024	/* bytes, which three columns of an index take */
#define DEDUP_MAX_BATCH	1000000

/* The tables. */
enum
{
	DEDUP_SET,
	DEDUP_CLAIMS,
	DEDUP_CHUNKS,
	DEDUP_WINDOWS,
	DEDUP_TABLES
};

/* The statements: see statements in set.c. */
typedef enum DedupStatement
{
	DEDUP_OPTIONS,
	DEDUP_LOOK,
	DEDUP_LOOK_CLAIM,
	DEDUP_CLAIM,
	DEDUP_LOOK_MANY,
	DEDUP_LOOK_CLAIMS,
	DEDUP_CLAIM_MANY,
	DEDUP_CLAIM_MANY_DISTRIBUTED,
	DEDUP_UNDO,
	DEDUP_FORGOTTEN,
	DEDUP_STATEMENTS
} DedupStatement;

/* What a session knows of a set: nothing that roaring64_dedup_alter changes. */
typedef struct DedupSet
{
	MemoryContext context;		/* of all this but the plans */
	MemoryContextCallback callback; /* frees the plans */
	Oid			tables[DEDUP_TABLES];
	bool		ascending;		/* what is too old can be told */
	bool		snowflake;		/* members of chunks are folded ids */
	bool		owned;			/* claims go straight into the chunks */
	bool		distributed;	/* by Citus */
	int32		chunk_bits;
	Oid			type;			/* roaring64 */
	SPIPlanPtr	plans[DEDUP_STATEMENTS];
} DedupSet;

/* What an id is. */
typedef enum DedupAnswer
{
	DEDUP_NEW,
	DEDUP_DUPLICATE,
	DEDUP_TOO_OLD				/* not above the highest that was forgotten */
} DedupAnswer;

/* set.c */
typedef uint64 (*DedupRun) (DedupSet *set, DedupStatement n, Datum *values);
extern DedupSet *dedup_open(Oid relid);
extern uint64 dedup_run(DedupSet *set, DedupStatement n, Datum *values);
extern uint64 dedup_run_latest(DedupSet *set, DedupStatement n, Datum *values);
extern uint64 dedup_read(DedupSet *set, DedupStatement n, Datum *values);
extern void dedup_not_null(FunctionCallInfo fcinfo, const char *third);
extern void dedup_check_key(Datum key);
extern void dedup_writable(const char *function);
extern void dedup_check_isolation(DedupSet *set);
extern int64 dedup_place(const DedupSet *set, int64 id);

/* The number of the chunk that has a place. */
#define dedup_chunk(set, place) ((place) >> (set)->chunk_bits)

/* claim.c */
extern DedupAnswer dedup_claim(DedupSet *set, Oid funcid, Datum key, int64 id);
extern r64_set dedup_append(DedupSet *set, Oid funcid, Datum key,
							const int64 *ids, int n);
extern bool dedup_same_rows(SPITupleTable *a, SPITupleTable *b);
extern bool dedup_forgotten(DedupSet *set, Datum key, DedupRun run,
							int64 *highest);
extern void dedup_undo(DedupSet *set, Datum key, const int64 *ids, int n);

#endif							/* ROARING64_DEDUP_H */
