/*-------------------------------------------------------------------------
 *
 * dedup.h
 *	  Claim, forget and seen, which are called often enough to be in C.
 *
 * A set is four tables of the user's; sql/parts/dedup.sql describes them, their
 * changes, and the locks that keep writers apart.  All other functions are there.
 * Here tables are read by their primary keys, and changed by statements that are
 * prepared once per session.
 *
 * src/dedup/dedup.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ROARING64_DEDUP_H
#define ROARING64_DEDUP_H

#include "postgres.h"

#include "access/genam.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/snapshot.h"
#include "utils/uuid.h"

#include "type/roaring64.h"

#define DEDUP_MAX_KEY	1024	/* bytes, which three columns of an index take */
#define DEDUP_MAX_BATCH	1000000
#define DEDUP_MAX_SETS	100		/* that a session keeps between transactions */

/*
 * An id, as bytes that sort as its type does: a uuid, or a bigint with its sign bit
 * flipped, the highest byte first, and zeros.
 */
typedef pg_uuid_t DedupId;

#define DEDUP_SIGN		(UINT64CONST(1) << 63)

/*
 * A chunk of bigints has the ids that agree in all but their lowest chunk_bits bits;
 * its number is id >> chunk_bits.  A chunk of UUIDs has the ids from its start to
 * before the start of the key's next chunk, of any generation.  Its number is the
 * first 64 bits of its start, as a bigint of the same order, or PG_INT64_MIN.
 */

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
	DEDUP_LOOK_ROWS,
	DEDUP_LOOK_CHUNKS,
	DEDUP_LOOK_FLOORS,
	DEDUP_INSERT,
	DEDUP_PUT_ONE,
	DEDUP_PUT_MANY,
	DEDUP_UNDO,
	DEDUP_STATEMENTS
} DedupStatement;

/* What a session caches of a set: nothing that roaring64_dedup_alter changes. */
typedef struct DedupSet
{
	MemoryContext context;		/* of all this but the plans */
	MemoryContextCallback callback; /* frees the plans */
	Oid			tables[DEDUP_TABLES];
	const char *schema;			/* of the extension, quoted */
	bool		distributed;	/* by Citus */
	bool		changed;		/* a table has changed since this was read */
	int32		chunk_bits;		/* 0 for UUIDs */
	Oid			id;				/* bigint or uuid */
	Oid			ids;			/* bigint[] or uuid[] */
	Oid			members;		/* roaring64 or uuid[] */
	SPIPlanPtr	plans[DEDUP_STATEMENTS];
} DedupSet;

/* Rows that are being read. */
typedef struct DedupRows
{
	Relation	table;			/* that they are in, or NULL */
	Relation	index;
	IndexScanDesc scan;
	TupleTableSlot *slot;
	AttrNumber	columns[2];
	ScanKeyData keys[3];
	Snapshot	snapshot;		/* to check, if the scan does not */
	bool		begun;			/* with an element of the array */
	bool		uuids;			/* elements are uuids, not bigints */
	bool		floors;			/* elements are in ranges of chunks */
	bool		found_one;		/* a row of this element's chunk */
	int64		chunk;			/* its number */
	int64		known;			/* the highest number seen in its range */
	const char *next;			/* of its elements */
	uint64		remaining;		/* elements, or rows found */
	SPITupleTable *found;		/* by a statement, without a table */
} DedupRows;

/* rows.c */
extern void dedup_find(DedupSet *set, int table, Datum key, Datum array,
					   Snapshot snapshot, bool locks, DedupRows *rows);
extern bool dedup_next(DedupRows *rows, Datum *values);
extern void dedup_end(DedupRows *rows);

/* statements.c */
extern DedupSet *dedup_open(FunctionCallInfo fcinfo, const char *writer,
							const char *third, Datum *key);
extern uint64 dedup_run(DedupSet *set, DedupStatement n, Datum *values,
						Snapshot snapshot, DedupRows *rows);

/* uuids.c */
extern Datum dedup_uuid_array(const DedupId *ids, int n);
extern const void *dedup_elements(ArrayType *array, Oid type, int *n);
extern int64 dedup_number(const DedupId *id);
extern int	dedup_compare(const void *a, const void *b);
extern int	dedup_sort(DedupId *ids, const DedupId *given, int n);
extern int	dedup_first_from(const DedupId *ids, int n, uint64 high);

#endif							/* ROARING64_DEDUP_H */
