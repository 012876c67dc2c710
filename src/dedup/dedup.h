/*-------------------------------------------------------------------------
 *
 * dedup.h
 *	  The dedup helper: an id is claimed once, in the caller's transaction.
 *
 * A set is four tables of the user's.  NAME has one row, the options and the
 * other tables.  NAME_claims has a row for every id claimed of late: its
 * primary key (key, id) is what makes two transactions that claim the same id
 * wait for each other, and those of different ids not.  Fold moves committed
 * claims into NAME_chunks, where a row is a roaring64 for all ids with the
 * same high bits.  NAME_keys has a row for every key of a set with a window:
 * its current generation.
 *
 * An id is remembered if it is in the claims or in any chunk.  What is there
 * to be forgotten is deleted from there, so there is no other mark to read,
 * but for the highest id that was forgotten, which answers for the ids of a
 * set whose ids ascend.
 *
 * Who changes what, and what keeps them apart, by locks of a key (lock.c):
 *
 *		claim		inserts its claim			CLAIM, admits all but ALONE
 *		forget, add	change rows of chunks in	ERASE, admits CLAIM and ERASE
 *					order, also of claims
 *		fold		deletes claims, writes		FOLD, admits CLAIM
 *					chunks and keys
 *		claim_bulk	the same					ALONE, admits nothing
 *		and load
 *
 * A claim that finds nothing inserts first and looks into the chunks after
 * that.  If the id was claimed before, then either its row is still in the
 * claims and the insertion meets it, or the fold that removed the row has
 * committed, and a snapshot taken now sees the chunk.
 *
 * src/dedup/dedup.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ROARING64_DEDUP_H
#define ROARING64_DEDUP_H

#include "postgres.h"

#include "datatype/timestamp.h"
#include "fmgr.h"
#include "utils/portal.h"

#include "state/plans.h"
#include "type/roaring64.h"

#define DEDUP_MAX_BATCH		1000000
#define DEDUP_MIN_GENERATIONS 2
#define DEDUP_MAX_GENERATIONS 64
#define DEDUP_MIN_CHUNK_BITS 8
#define DEDUP_MAX_CHUNK_BITS 60

/* The tables, in StateOwner.tables. */
enum
{
	DEDUP_SET,
	DEDUP_KEYS,
	DEDUP_CLAIMS,
	DEDUP_CHUNKS,
	DEDUP_TABLES
};

/* The statements: see statement_text in set.c. */
enum
{
	DEDUP_LOOK,
	DEDUP_LOOK_CHUNK,
	DEDUP_LOOK_CLAIMS,
	DEDUP_LOOK_CHUNKS,
	DEDUP_FORGOTTEN,
	DEDUP_CLAIM,
	DEDUP_CLAIM_BATCH,
	DEDUP_UNDO,
	DEDUP_LIST,
	DEDUP_LIST_IN_ORDER,
	DEDUP_TAKE,
	DEDUP_LIST_KEY,
	DEDUP_LOCK_CHUNK,
	DEDUP_INSERT_CHUNK,
	DEDUP_UPDATE_CHUNK,
	DEDUP_DELETE_CHUNK,
	DEDUP_FORGET_GENERATIONS,
	DEDUP_LOCK_KEY,
	DEDUP_INSERT_KEY,
	DEDUP_UPDATE_KEY,
	DEDUP_LIST_DUE,
	DEDUP_GENERATIONS,
	DEDUP_ALL_CLAIMS,
	DEDUP_ALL_CHUNKS,
	DEDUP_COUNT,
	DEDUP_IS_EMPTY,
	DEDUP_STATS,
	DEDUP_STATEMENTS
};
StaticAssertDecl(DEDUP_STATEMENTS <= STATE_MAX_PLANS,
				 "a set must not have more statements than are kept");

/* What a session knows of a set. */
typedef struct DedupSet
{
	StateOwner	owner;
	Oid			type;			/* roaring64 */
	Oid			claims_index;	/* for scan.c, or InvalidOid */
	Oid			chunks_index;
	AttrNumber	generation;		/* columns of the chunks */
	AttrNumber	ids;
	AttrNumber	members;
	bool		row_security;	/* on claims or chunks */
	bool		by_count;		/* the window is so many ids, */
	bool		by_time;		/* or so long; else for ever */
	bool		ascending;		/* ids ascend with time */
	bool		snowflake;		/* members are folded ids */
	int32		chunk_bits;
	int32		generations;
	int32		fold_after;		/* 0: only when told to */
	int64		generation_ids; /* by_count: size of a generation */
	Interval	generation_time;	/* by_time: how long one lasts */
} DedupSet;

#define dedup_is_windowed(set) ((set)->by_count || (set)->by_time)

/* What an id is. */
typedef enum DedupAnswer
{
	DEDUP_NEW,
	DEDUP_DUPLICATE,
	DEDUP_TOO_OLD				/* below what is forgotten: nobody knows */
} DedupAnswer;

/* set.c */
extern void dedup_not_null(FunctionCallInfo fcinfo, int argno,
						   const char *what);
extern DedupSet *dedup_open(FunctionCallInfo fcinfo);
extern DedupSet *dedup_open_relation(Oid relid);
extern DedupSet *dedup_known(Oid relid);
extern Datum dedup_key(FunctionCallInfo fcinfo);
extern void dedup_connect(void);
extern int64 *dedup_batch(FunctionCallInfo fcinfo, int *n);
extern int	dedup_compare_ids(const void *a, const void *b);
extern void dedup_writable(const char *function);

/* An id as an element of the chunks, and back; the chunk it is in. */
extern int64 dedup_place(const DedupSet *set, int64 id);
extern int64 dedup_id(const DedupSet *set, int64 place);
#define dedup_chunk(set, place) ((place) >> (set)->chunk_bits)

/* lock.c */
#define DEDUP_LOCK_CLAIM	RowShareLock
#define DEDUP_LOCK_ERASE	RowExclusiveLock
#define DEDUP_LOCK_FOLD		ShareRowExclusiveLock
#define DEDUP_LOCK_ALONE	ExclusiveLock
#define DEDUP_STRIPES		256
extern int	dedup_stripe(Datum key);
extern void dedup_lock(DedupSet *set, Datum key, LOCKMODE mode);
extern bool dedup_try_lock_stripe(DedupSet *set, int stripe, LOCKMODE mode);
extern bool dedup_try_lock_set(DedupSet *set);

/* scan.c */
extern void dedup_find_indexes(DedupSet *set);
extern bool dedup_may_scan(const DedupSet *set);
extern bool dedup_may_scan_chunks(const DedupSet *set);
extern bool dedup_scan(const DedupSet *set, Datum key, int64 id, int64 place,
					   bool claims);

/* A chunk as it is in the table. */
typedef struct DedupChunk
{
	int64		number;
	int64		generation;
	r64_set		members;
	int64		ids;
	ItemPointerData row;		/* the version of the row that this is: where */
	TransactionId xmin;			/* it is, and who made it */
} DedupChunk;

extern bool dedup_scan_chunk(const DedupSet *set, Datum key,
							 DedupChunk *chunk);

/* look.c */
extern DedupAnswer dedup_look(DedupSet *set, Datum key, int64 id);
extern bool dedup_is_duplicate(DedupSet *set, Datum key, int64 id);
extern DedupAnswer dedup_look_again(DedupSet *set, Datum key, int64 id);

/*
 * The same for ids that are sorted and distinct; with claims or, if they were
 * just inserted there, without.
 */
extern void dedup_look_batch(DedupSet *set, Datum key, const int64 *ids,
							 int n, bool claims, DedupAnswer *answers);
extern DedupAnswer dedup_seen(DedupSet *set, Datum key, int64 id);
extern void dedup_seen_batch(DedupSet *set, Datum key, const int64 *ids,
							 int n, DedupAnswer *answers);
extern void dedup_serialization_failure(void);

/* chunks.c */
extern int64 dedup_write(DedupSet *set, Datum key, int64 generation,
						 const int64 *ids, int n);
extern int64 dedup_erase(DedupSet *set, Datum key, int64 generation,
						 const int64 *ids, int n);

extern int64 dedup_write_set(DedupSet *set, Datum key, int64 generation,
							 r64_set *places);

/* generations.c */
extern void dedup_append(DedupSet *set, Datum key, const int64 *ids, int n);
extern void dedup_append_set(DedupSet *set, Datum key, r64_set *places,
							 int64 high);
extern void dedup_rotate_key(DedupSet *set, Datum key);

/*
 * move.c: moves claims that the portal lists, as rows (place, key), until
 * there are so many or the list ends; false if it has ended.  Those of keys
 * whose lock FOLD cannot be had stay.  And all claims of a key, which the
 * caller has locked ALONE.
 *
 * A list that has ended is closed before the transaction ends: if it lived on,
 * the server would make all of it once more, to keep it.
 */
#define DEDUP_MOVED_AT_ONCE 65536	/* by one statement */
extern bool dedup_move(DedupSet *set, Portal list, int64 most);
extern void dedup_move_key(DedupSet *set, Datum key);

/* reclaim.c */
extern void dedup_reclaim(DedupSet *set);

/* fold.c */
extern void dedup_fold_now_and_then(DedupSet *set, int claims);

/* claim.c: claims one id, as roaring64_dedup_claim does; takes claims back. */
extern DedupAnswer dedup_claim(DedupSet *set, Datum key, int64 id);
extern int64 dedup_undo_claims(DedupSet *set, Datum key, const int64 *ids,
							   int n);

#endif							/* ROARING64_DEDUP_H */
