/*-------------------------------------------------------------------------
 *
 * fold.c
 *	  Moving committed claims into the chunks, and forgetting generations.
 *
 * A fold lists the claims that are committed when it starts, in the order in
 * which they were made if that decides about generations, and moves them in
 * steps (move.c): a step deletes so many claims, writes them into the chunks
 * and commits.  Killed at any moment it leaves each id in one of the two.
 *
 * src/dedup/fold.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "nodes/parsenodes.h"
#include "tcop/pquery.h"
#include "utils/lsyscache.h"
#include "utils/portal.h"
#include "utils/timestamp.h"

#include "dedup/dedup.h"
#include "state/statement.h"

#define KEYS_AT_ONCE	256

/*
 * Most claims in a step, a transaction.  A step writes the chunks that are not
 * full yet, the next one writes them again, and what it replaces is dead; so
 * steps are large.
 */
#define CLAIMS_IN_STEP	(16 * 1024 * 1024)

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

/* One step: false if nothing is left, or somebody else folds. */
static bool
fold_step(DedupSet *set, Portal portal, int64 most, bool *busy)
{
	*busy = !dedup_try_lock_set(set);
	return !*busy && dedup_move(set, portal, most);
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
	while (fold_step(set, portal, CLAIMS_IN_STEP, &busy))
	{
		if (!commits)
			continue;
		set = commit_and_open(fcinfo);
	}
	close_list(portal);
	if (commits && !busy)
		dedup_reclaim(set);
	SPI_finish();
	if (busy)
		report_busy(PG_GETARG_OID(0));
	PG_RETURN_VOID();
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
	fold_step(set, portal, DEDUP_MOVED_AT_ONCE, &busy);
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
		keys[i] = state_value(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1,
							  TEXTOID);
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
