/*-------------------------------------------------------------------------
 *
 * fold.c
 *	  Moving committed claims into the chunks, and forgetting generations.
 *
 * A fold lists the claims that are committed when it starts, in the order in
 * which they were made if that decides about generations, and moves them in
 * steps: a step deletes so many claims, writes them into the chunks and
 * commits.  Killed at any moment it leaves each id in one of the two.
 *
 * A claim is listed by its place in the table.  Should that be another claim
 * by the time it is deleted, then that one is moved, which is as well.
 *
 * src/dedup/fold.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "storage/itemptr.h"
#include "tcop/pquery.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/portal.h"
#include "utils/timestamp.h"

#include "dedup/dedup.h"

#define CLAIMS_AT_ONCE	262144
#define KEYS_AT_ONCE	256

/* A claim that was taken out of its table. */
typedef struct Claim
{
	text	   *key;
	TimestampTz claimed_at;
	int64		id;
} Claim;

/* Which locks of keys a step has. */
typedef enum StripeState
{
	UNKNOWN = 0,
	LOCKED,
	REFUSED						/* left to the next fold */
} StripeState;

static int
compare_keys(const text *a, const text *b)
{
	Size		x = VARSIZE_ANY_EXHDR(a);
	Size		y = VARSIZE_ANY_EXHDR(b);
	int			order = memcmp(VARDATA_ANY(a), VARDATA_ANY(b), Min(x, y));

	return order != 0 ? order : x < y ? -1 : x > y;
}

static int
compare_claims(const void *a, const void *b)
{
	const Claim *x = a;
	const Claim *y = b;
	int			order = compare_keys(x->key, y->key);

	if (order != 0)
		return order;
	if (x->claimed_at != y->claimed_at)
		return x->claimed_at < y->claimed_at ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Whether the claims are those of one key, in any order. */
static bool
of_one_key(const Claim *claims, int n)
{
	for (int i = 1; i < n; i++)
	{
		if (compare_keys(claims[0].key, claims[i].key) != 0)
			return false;
	}
	return true;
}

/* Writes claims into the chunks, key by key. */
static void
append_claims(DedupSet *set, Claim *claims, int n)
{
	int64	   *ids = palloc(sizeof(int64) * Max(n, 1));

	if (set->by_count || !of_one_key(claims, n))
		qsort(claims, n, sizeof(Claim), compare_claims);
	for (int i = 0; i < n;)
	{
		text	   *key = claims[i].key;
		int			count = 0;

		do
			ids[count++] = claims[i++].id;
		while (i < n && compare_keys(claims[i].key, key) == 0);
		dedup_append(set, PointerGetDatum(key), ids, count);
		CHECK_FOR_INTERRUPTS();
	}
	pfree(ids);
}

/* The claims that SPI has deleted. */
static Claim *
deleted_claims(uint64 n)
{
	Claim	   *claims = palloc(sizeof(Claim) * Max(n, 1));
	TupleDesc	desc = SPI_tuptable->tupdesc;

	for (uint64 i = 0; i < n; i++)
	{
		HeapTuple	tuple = SPI_tuptable->vals[i];
		bool		isnull;

		claims[i].key = DatumGetTextPP(SPI_getbinval(tuple, desc, 1, &isnull));
		claims[i].id = DatumGetInt64(SPI_getbinval(tuple, desc, 2, &isnull));
		claims[i].claimed_at =
			DatumGetTimestampTz(SPI_getbinval(tuple, desc, 3, &isnull));
	}
	return claims;
}

/*
 * Of the rows (place, key) that SPI has read those whose keys can be locked:
 * a tid[].
 */
static ArrayType *
lockable_claims(DedupSet *set, uint64 n)
{
	StripeState stripes[DEDUP_STRIPES] = {UNKNOWN};
	Datum	   *places = palloc(sizeof(Datum) * Max(n, 1));
	TupleDesc	desc = SPI_tuptable->tupdesc;
	text	   *last = NULL;
	int			stripe = 0;
	int			count = 0;

	for (uint64 i = 0; i < n; i++)
	{
		HeapTuple	tuple = SPI_tuptable->vals[i];
		bool		isnull;
		text	   *key = DatumGetTextPP(SPI_getbinval(tuple, desc, 2,
														&isnull));

		if (last == NULL || compare_keys(key, last) != 0)
			stripe = dedup_stripe(PointerGetDatum(key));
		last = key;
		if (stripes[stripe] == UNKNOWN)
			stripes[stripe] = dedup_try_lock_stripe(set, stripe,
													DEDUP_LOCK_FOLD) ?
				LOCKED : REFUSED;
		if (stripes[stripe] == LOCKED)
			places[count++] = SPI_getbinval(tuple, desc, 1, &isnull);
	}
	return construct_array(places, count, TIDOID, sizeof(ItemPointerData),
						   false, TYPALIGN_SHORT);
}

/* Moves the claims whose rows (place, key) SPI has read. */
static void
fold_rows(DedupSet *set, uint64 n)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "roaring64 fold",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext oldcontext = MemoryContextSwitchTo(context);
	Datum		places = PointerGetDatum(lockable_claims(set, n));
	SPITupleTable *deleted;
	uint64		count;

	SPI_freetuptable(SPI_tuptable);
	count = state_run(&set->owner, DEDUP_TAKE, SPI_OK_DELETE_RETURNING,
					  &places, NULL);
	deleted = SPI_tuptable;
	append_claims(set, deleted_claims(count), (int) count);
	SPI_freetuptable(deleted);
	MemoryContextSwitchTo(oldcontext);
	MemoryContextDelete(context);
}

/* Opens the list of claims to fold. */
static Portal
list_claims(DedupSet *set)
{
	int			statement = set->by_count ? DEDUP_LIST_IN_ORDER : DEDUP_LIST;
	Portal		portal = SPI_cursor_open(NULL,
										 state_plan(&set->owner, statement),
										 NULL, NULL, false);

	/* it lives through commits, as that of a FOR loop in PL/pgSQL does */
	PinPortal(portal);
	return portal;
}

static void
close_list(Portal portal)
{
	UnpinPortal(portal);
	SPI_cursor_close(portal);
}

/* One step: false if there was nothing left, or somebody else folds. */
static bool
fold_step(DedupSet *set, Portal portal, bool *busy)
{
	*busy = !dedup_try_lock_set(set);
	if (*busy)
		return false;
	SPI_cursor_fetch(portal, true, CLAIMS_AT_ONCE);
	if (SPI_processed == 0)
		return false;
	fold_rows(set, SPI_processed);
	return true;
}

static void
report_busy(Oid relid)
{
	ereport(NOTICE,
			(errmsg("dedup set \"%s\" is being folded by another session",
					get_rel_name(relid))));
}

/* Whether a procedure may commit here. */
static bool
may_commit(FunctionCallInfo fcinfo)
{
	return fcinfo->context != NULL && IsA(fcinfo->context, CallContext) &&
		!castNode(CallContext, fcinfo->context)->atomic;
}

static void
connect_procedure(bool commits)
{
	if (SPI_connect_ext(commits ? SPI_OPT_NONATOMIC : 0) != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
}

/* Commits; the set has to be opened again. */
static DedupSet *
commit_and_open(FunctionCallInfo fcinfo)
{
	SPI_commit();
	/* for TOAST values that are read between statements */
	EnsurePortalSnapshotExists();
	return dedup_open(fcinfo);
}

/*
 * roaring64_dedup_fold(regclass): moves the claims that are committed now
 * into the chunks.  Commits after every step if it may; in a transaction
 * block all is one transaction.  Says so and returns if the set is being
 * folded already.
 */
PG_FUNCTION_INFO_V1(roaring64_dedup_fold);
Datum
roaring64_dedup_fold(PG_FUNCTION_ARGS)
{
	bool		commits = may_commit(fcinfo);
	bool		busy;
	DedupSet   *set;
	Portal		portal;

	dedup_writable("roaring64_dedup_fold()");
	connect_procedure(commits);
	set = dedup_open(fcinfo);
	portal = list_claims(set);
	while (fold_step(set, portal, &busy))
	{
		if (!commits)
			continue;
		set = commit_and_open(fcinfo);
	}
	close_list(portal);
	SPI_finish();
	if (busy)
		report_busy(PG_GETARG_OID(0));
	PG_RETURN_VOID();
}

/* Moves the claims of a key, which the caller has locked ALONE. */
void
dedup_fold_key(DedupSet *set, Datum key)
{
	if (state_run(&set->owner, DEDUP_LIST_KEY, SPI_OK_SELECT, &key, NULL) > 0)
		fold_rows(set, SPI_processed);
	else
		SPI_freetuptable(SPI_tuptable);
}

/*
 * A claim of n ids was made: folds some claims with the probability that
 * makes it happen once in fold_after claims, if the set has that option.
 */
void
dedup_fold_now_and_then(DedupSet *set, int claims)
{
	Portal		portal;
	bool		busy;

	/* with an older snapshot it would meet rows that another fold moved */
	if (set->fold_after == 0 || IsolationUsesXactSnapshot() ||
		roaring64_random() * set->fold_after >= claims)
		return;
	portal = list_claims(set);
	fold_step(set, portal, &busy);
	close_list(portal);
}

/* The keys whose generations are due: a palloc'd list of Datums. */
static Datum *
list_due(DedupSet *set, uint64 *n)
{
	Datum		width = IntervalPGetDatum(&set->generation_time);
	Datum	   *keys;

	*n = state_run(&set->owner, DEDUP_LIST_DUE, SPI_OK_SELECT, &width, NULL);
	keys = palloc(sizeof(Datum) * Max(*n, 1));
	for (uint64 i = 0; i < *n; i++)
	{
		bool		isnull;

		keys[i] = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc,
								1, &isnull);
	}
	return keys;
}

/*
 * roaring64_dedup_rotate(regclass): begins the generations that are due and
 * forgets those that are then past the window.  Claims that are not folded
 * are not forgotten.  Commits every now and then if it may.
 */
PG_FUNCTION_INFO_V1(roaring64_dedup_rotate);
Datum
roaring64_dedup_rotate(PG_FUNCTION_ARGS)
{
	bool		commits = may_commit(fcinfo);
	DedupSet   *set;
	Datum	   *keys;
	uint64		n;

	dedup_writable("roaring64_dedup_rotate()");
	connect_procedure(commits);
	set = dedup_open(fcinfo);
	keys = list_due(set, &n);
	for (uint64 i = 0; i < n; i++)
	{
		dedup_lock(set, keys[i], DEDUP_LOCK_FOLD);
		dedup_rotate_key(set, keys[i]);
		if (!commits || (i + 1) % KEYS_AT_ONCE != 0)
			continue;
		set = commit_and_open(fcinfo);
	}
	SPI_finish();
	PG_RETURN_VOID();
}
