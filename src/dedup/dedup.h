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
	DEDUP_SEEN,
	DEDUP_CLAIM,
	DEDUP_SEEN_MANY,
	DEDUP_CLAIM_MANY,
	DEDUP_FORGOTTEN,
	DEDUP_STATEMENTS
} DedupStatement;

/* What a session knows of a set: nothing that roaring64_dedup_alter changes. */
typedef struct DedupSet
{
	Oid			relid;			/* of its first table */
	Oid			home;			/* the extension's schema */
	bool		stale;			/* one of the tables has changed since */
	MemoryContext context;		/* of all this but the plans */
	struct DedupSet *next;		/* in the list of those to be freed */
	Oid			tables[DEDUP_TABLES];
	bool		ascending;		/* what is too old can be told */
	bool		snowflake;		/* members of chunks are folded ids */
	bool		owned;			/* claims go straight into the chunks */
	int32		chunk_bits;
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
 * set.c: the set of a table, until the end of the transaction.  Errors if it
 * is none.  funcid is of the calling function, which says where the extension
 * is.  The caller is connected to SPI, here and below.
 */
extern DedupSet *dedup_open(Oid relid, Oid funcid);

/*
 * set.c: runs a statement and gives the number of rows; as read_only with the
 * snapshot of the calling statement, also on a standby.
 */
extern uint64 dedup_run(DedupSet *set, DedupStatement n, Datum *values,
						bool read_only);

/* set.c: column 1 of a row of the statement that was run last. */
extern int64 dedup_result(uint64 row);

/* set.c: ids of the key up to this one were forgotten; false if none were. */
extern bool dedup_forgotten(DedupSet *set, Datum key, bool read_only,
							int64 *highest);

/* set.c: argument checks. */
extern void dedup_not_null(FunctionCallInfo fcinfo, int argno,
						   const char *what);
extern void dedup_check_key(Datum key);
extern void dedup_writable(const char *function);

/* set.c: an id as an element of a chunk, and the number of that chunk. */
extern int64 dedup_place(const DedupSet *set, int64 id);
#define dedup_chunk(set, place) ((place) >> (set)->chunk_bits)

/* claim.c: claims an id. */
extern DedupAnswer dedup_claim(DedupSet *set, Datum key, int64 id);

/*
 * many.c: writes ids straight into the chunks of an owned set and says of each
 * whether it is new.
 */
extern void dedup_claim_owned(DedupSet *set, Datum key, const int64 *ids,
							  int n, DedupAnswer *answers);

#endif							/* ROARING64_DEDUP_H */
