/*-------------------------------------------------------------------------
 *
 * dedup.h
 *	  Claims of a dedup set: what is called often enough to keep its plans.
 *
 * A set is four tables of the user's; sql/parts/dedup.sql says which, how they
 * are changed, and which locks keep their writers apart.  Here are only claim and
 * seen, for one id and for many, and load, as statements on those tables that
 * are prepared once a session.
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

/* See statements in statements.c. */
typedef enum DedupStatement
{
	DEDUP_LOOK,
	DEDUP_CLAIM,
	DEDUP_LOOK_MANY,
	DEDUP_LOOK_CLAIMS,
	DEDUP_CLAIM_MANY,
	DEDUP_UNDO,
	DEDUP_FORGOTTEN,
	DEDUP_APPEND,
	DEDUP_STATEMENTS
} DedupStatement;

/* What a session knows of a set: nothing that roaring64_dedup_alter changes. */
typedef struct DedupSet
{
	MemoryContext context;		/* of all this but the plans */
	MemoryContextCallback callback; /* frees the plans */
	Oid			tables[DEDUP_TABLES];
	const char *schema;			/* of the extension, quoted */
	bool		ascending;		/* whether an id is too old can be told */
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

/*
 * A snapshot, by what tells it from a later one: the number of transactions that
 * had ended, 0 if it is not known, and of the commands of this one.
 */
typedef struct DedupMoment
{
	uint64		ended;
	CommandId	command;
} DedupMoment;

/* What a statement sees. */
typedef enum DedupView
{
	DEDUP_ITS_OWN,				/* a snapshot of its own, as a command has it */
	DEDUP_LATEST,				/* what is committed, whatever the isolation */
	DEDUP_CALLERS				/* what the calling statement sees */
} DedupView;

/* statements.c */
extern DedupSet *dedup_open(FunctionCallInfo fcinfo, const char *writer,
							const char *third, Datum *key);
extern uint64 dedup_run(DedupSet *set, DedupStatement n, Datum *values,
						DedupView view);
extern int64 dedup_place(const DedupSet *set, int64 id);

/* The number of the chunk that has a place. */
#define dedup_chunk(set, place) ((place) >> (set)->chunk_bits)

/* claim.c */
extern DedupMoment dedup_moment(void);
extern bool dedup_unchanged(const DedupSet *set, DedupMoment start);
extern bool dedup_forgotten(DedupSet *set, Datum key, DedupView view,
							int64 *highest);
extern void dedup_undo(DedupSet *set, Datum key, const int64 *ids, int n);

/* owned.c */
extern void dedup_append(DedupSet *set, Datum key, Datum places,
						 r64_set *fresh, r64_set *old);
extern void dedup_claim_owned(DedupSet *set, Datum key, const int64 *ids,
							  int n, DedupAnswer *answers);

#endif							/* ROARING64_DEDUP_H */
