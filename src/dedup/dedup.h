/*-------------------------------------------------------------------------
 *
 * dedup.h
 *	  What changes and asks a dedup set often enough to keep its plans.
 *
 * A set is four tables of the user's; sql/parts/dedup.sql says which, how they
 * are changed, and which locks keep their writers apart.  Here are only claim,
 * forget and seen, for one id and for many, as statements on those tables that
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
#include "utils/snapshot.h"

#include "type/roaring64.h"

#define DEDUP_MAX_KEY	1024	/* bytes, which three columns of an index take */
#define DEDUP_MAX_BATCH	1000000

/*
 * An id, by what sorts it as its type does: the bytes of a uuid, or in high a
 * bigint with its sign bit turned over.
 */
typedef struct DedupId
{
	uint64		high;
	uint64		low;
} DedupId;

#define DEDUP_SIGN		(UINT64CONST(1) << 63)

/*
 * UUIDs of a chunk agree in their first 4 * level bits; its number is those
 * bits, and the level in place of the last four.
 */
#define DEDUP_LEVELS	13
#define DEDUP_LEVEL_MASK(level) \
	((level) == 0 ? UINT64CONST(0) : ~UINT64CONST(0) << (64 - 4 * (level)))

/* The tables. */
enum
{
	DEDUP_SET,
	DEDUP_CLAIMS,
	DEDUP_CHUNKS,
	DEDUP_TABLES
};

/* See statements in statements.c. */
typedef enum DedupStatement
{
	DEDUP_LOOK_ROW,
	DEDUP_LOOK_ROWS,
	DEDUP_LOOK_CHUNK,
	DEDUP_LOOK_CHUNKS,
	DEDUP_INSERT,
	DEDUP_PUT_ONE,
	DEDUP_PUT_MANY,
	DEDUP_UNDO,
	DEDUP_STATEMENTS
} DedupStatement;

/* What a session knows of a set: nothing that roaring64_dedup_alter changes. */
typedef struct DedupSet
{
	MemoryContext context;		/* of all this but the plans */
	MemoryContextCallback callback; /* frees the plans */
	Oid			tables[DEDUP_TABLES];
	const char *schema;			/* of the extension, quoted */
	bool		hashed;			/* ids are those of texts */
	bool		distributed;	/* by Citus */
	int32		chunk_bits;		/* -1 if chunks of UUIDs are of all levels */
	Oid			id;				/* bigint or uuid */
	Oid			ids;			/* bigint[] or uuid[] */
	Oid			members;		/* roaring64 or uuid[] */
	SPIPlanPtr	plans[DEDUP_STATEMENTS];
} DedupSet;

/* statements.c */
extern DedupSet *dedup_open(FunctionCallInfo fcinfo, const char *writer,
							const char *third, Datum *key);
extern uint64 dedup_run(DedupSet *set, DedupStatement n, Datum *values,
						Snapshot snapshot);

/* uuids.c */
extern DedupId dedup_uuid(const unsigned char *bytes);
extern Datum dedup_uuid_datum(const DedupId *id);
extern Datum dedup_uuid_array(const DedupId *ids, int n);
extern bool dedup_uuids_contain(const DedupId *ids, int n, DedupId id);
extern DedupId *dedup_uuids(Datum members, int *n);
extern int	dedup_compare(const void *a, const void *b);

#endif							/* ROARING64_DEDUP_H */
