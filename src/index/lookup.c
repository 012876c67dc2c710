/*-------------------------------------------------------------------------
 *
 * lookup.c
 *	  Scan of a table for the rows whose id is in a set, by a btree on the id.
 *
 * The server has two plans for this.  An array of the elements takes a search of
 * the index for each of them; the range that they span reads nearly all of the
 * index.  Neither suits all sets, and a parameter or the result of a subquery is
 * not known when the plan is made.  So this scan finds out as it goes.
 *
 * It goes through the index in steps.  A step searches for the next element of
 * the set, and then walks over all entries from there to the end of the step.
 * Steps double in length while they pass few entries that are not in the set,
 * and halve when they pass many.  A step is given up in a wide gap.  So elements
 * that lie apart are searched for one by one, and long runs are read in one go.
 * A row is fetched from the table only after its id is known to be in the set,
 * and not at all if the index has all columns wanted and the visibility map
 * has its page, as by core's index-only scan.
 *
 * Rows that may come in any order are fetched in the order of the table, batch
 * by batch, so that a page is not visited again for every id that has rows on
 * it.  The first are fetched at once, as the query may need no more.  VACUUM may
 * give a place in a batch to another row, which our snapshot does not see.
 *
 * When this has cost as much as reading the whole table would, the scan does
 * read the whole table, for the ids that it has not reached yet.  So it takes
 * at most about twice as long as the better of the two.  It cannot do so if the
 * rows have to come in order.
 *
 * src/index/lookup.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/nbtree.h"
#include "access/stratnum.h"
#include "access/tableam.h"
#include "access/visibilitymap.h"
#include "commands/explain.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "storage/predicate.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/snapmgr.h"

#include "engine/sort.h"
#include "index/lookup.h"
#include "server_planner.h"
#include "type/roaring64.h"

/* How far to look for the end of a run, which can be as long as the set. */
#define MAX_RUN			(INT64CONST(1) << 20)

/* Elements to read at a time: a search of the set takes as long as some. */
#define MAX_AHEAD		64

/* A step is given up when it has passed so many entries in a row. */
#define MAX_GAP			32

/*
 * So many entries a step may pass for each of its elements.  That takes about
 * as long as a search.  A step that ends in a gap has passed more.
 */
#define PASSED_PER_SEARCH	12

/* How many steps to wait, after one that was too long, before a longer one. */
#define PATIENCE		256

/* Rows to fetch as they are found, before the first batch of several. */
#define MIN_BATCH		64

/* How many times as many rows as before a batch has, if work_mem allows. */
#define BATCH_GROWTH	8

typedef struct LookupState
{
	CustomScanState css;		/* must be first */
	double		descent_cost;	/* from the plan: see lookup.h */
	double		table_cost;
	bool		ascending;
	bool		in_order;		/* rows are fetched as they are found */
	bool		index_only;
	ExprState  *id;
	ExprState  *set_value;
	ExprState  *condition;
	Relation	index;
	IndexScanDesc walk;
	TableScanDesc table;		/* when we read the whole table, or NULL */
	TupleTableSlot *row;		/* of the table */
	Buffer		visible_map;	/* page of the visibility map */
	MemoryContext context;		/* of the set */
	uint64		elements;		/* of all sets so far */
	uint64		fetches;		/* rows fetched from the table */

	/* this scan */
	bool		begun;
	bool		done;			/* there is no element left */
	bool		in_step;
	r64_set		set;
	int64		limit;			/* last element of the set */
	int64		from;			/* first value that we have not reached */
	int64		start;			/* first element of this step */
	int64		end;			/* and last one */
	int64		first;			/* run of elements that we are in or before */
	int64		last;
	int64		ahead[MAX_AHEAD];	/* elements, ascending */
	size_t		nahead;
	size_t		next;			/* of them */
	uint64		step;			/* integers of this step */
	int			patience;		/* steps to wait before a longer one */
	uint64		passed;			/* entries of this step not in the set */
	uint64		gap;			/* those since the last that is */
	BlockNumber page;			/* of the table, where we are */
	double		cost;

	uint64	   *batch;			/* rows to fetch: block and offset of each */
	uint64		room;			/* for so many */
	uint64		batched;		/* so many */
	uint64		taken;			/* of them */
	uint64		found;			/* rows of this and earlier batches */
} LookupState;

/* Evaluates the set.  Returns false if it is NULL. */
static bool
open_set(LookupState *state)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	MemoryContext oldcontext;
	bool		isnull;
	Datum		value;

	MemoryContextReset(state->context);
	oldcontext = MemoryContextSwitchTo(state->context);
	value = ExecEvalExpr(state->set_value, econtext, &isnull);
	if (!isnull)
	{
		state->set = DatumGetRoaring64(value);
		r64_index_set(&state->set);
		state->elements += r64_cardinality(&state->set);
	}
	MemoryContextSwitchTo(oldcontext);
	return !isnull;
}

static void
begin_lookup(LookupState *state)
{
	state->begun = true;
	state->in_step = false;
	state->done = !open_set(state) ||
		!(state->ascending ? r64_max(&state->set, &state->limit) :
		  r64_min(&state->set, &state->limit));
	state->from = state->ascending ? PG_INT64_MIN : PG_INT64_MAX;
	state->nahead = state->next = 0;
	state->step = 1;
	state->patience = 0;
	state->page = InvalidBlockNumber;
	state->cost = 0;
	state->batch = NULL;
	state->room = state->batched = state->taken = state->found = 0;
}

/*
 * Sets the run of elements that comes next, from v on, or a part of it that
 * begins there.  Returns false if there is none.
 */
static bool
find_run(LookupState *state, int64 v)
{
	const int64 *ahead = state->ahead;
	size_t		i;

	if (!state->ascending)
	{
		if (!r64_prev(&state->set, v, &state->last))
			return false;
		state->first = state->last;
		return true;
	}
	while (state->next < state->nahead && ahead[state->next] < v)
		state->next++;
	if (state->next == state->nahead)
	{
		state->next = 0;
		state->nahead = r64_read(&state->set, v, PG_INT64_MAX, false,
								 state->ahead, MAX_AHEAD);
		if (state->nahead == 0)
			return false;
		if ((uint64) ahead[state->nahead - 1] - (uint64) ahead[0] ==
			MAX_AHEAD - 1)
		{
			/* a long one */
			state->nahead = 0;
			return r64_next_run(&state->set, ahead[0],
								Min(ahead[0], PG_INT64_MAX - MAX_RUN) + MAX_RUN,
								&state->first, &state->last);
		}
	}
	/* the same run may be asked for again */
	i = state->next;
	state->first = state->last = ahead[i];
	while (++i < state->nahead && ahead[i] == state->last + 1)
		state->last = ahead[i];
	return true;
}

/* The last element of the step that begins now. */
static int64
end_of_step(LookupState *state)
{
	uint64		left = state->ascending ?
		(uint64) state->limit - (uint64) state->start :
		(uint64) state->start - (uint64) state->limit;
	uint64		more = Min(state->step - 1, left);
	int64		end = (int64) ((uint64) state->start +
							   (state->ascending ? more : -more));
	size_t		after = state->next + 1;

	/* in most cases the next element is beyond it, and has been read */
	if (after < state->nahead && state->ahead[after] > end)
		return Min(end, state->last);
	if (end > state->last)
		(void) r64_prev(&state->set, end, &end);
	else if (end < state->first)
		(void) r64_next(&state->set, end, &end);
	return end;
}

/*
 * Restarts the walk, for the entries from lo to hi.  The scan has room for two
 * keys, but the server takes less time for each entry if there is one.
 */
static void
restart_walk(LookupState *state, int64 lo, int64 hi)
{
	ScanKeyData keys[2];

	if (lo == hi)
		ScanKeyInit(&keys[0], 1, BTEqualStrategyNumber, F_INT8EQ,
					Int64GetDatum(lo));
	else
	{
		ScanKeyInit(&keys[0], 1, BTGreaterEqualStrategyNumber, F_INT8GE,
					Int64GetDatum(lo));
		ScanKeyInit(&keys[1], 1, BTLessEqualStrategyNumber, F_INT8LE,
					Int64GetDatum(hi));
	}
	state->walk->numberOfKeys = lo == hi ? 1 : 2;
	index_rescan(state->walk, keys, state->walk->numberOfKeys, NULL, 0);
}

/* Searches for the next element.  Returns false if there are none. */
static bool
begin_step(LookupState *state)
{
	if (state->done || !find_run(state, state->from))
	{
		state->done = true;
		return false;
	}

	state->start = state->ascending ? state->first : state->last;
	state->end = end_of_step(state);
	state->passed = 0;
	state->gap = 0;
	state->in_step = true;
	state->cost += state->descent_cost;
	InstrCountTuples2(state, 1);
	restart_walk(state, Min(state->start, state->end),
				 Max(state->start, state->end));
	return true;
}

/* Chooses the length of the next step, after this one has reached v. */
static void
adapt_step(LookupState *state, int64 v)
{
	/* a step begins with an element, so there may be no need to count */
	if (state->passed > PASSED_PER_SEARCH &&
		state->passed > PASSED_PER_SEARCH *
		r64_count_range(&state->set, Min(state->start, v),
						Max(state->start, v)))
	{
		state->step = Max(state->step / 2, 1);
		state->patience = PATIENCE;
	}
	else if (state->patience > 0)
		state->patience--;
	else if (state->step <= PG_INT64_MAX)
		state->step *= 2;
	state->in_step = false;
}

/* After the last entry of a step. */
static void
end_step(LookupState *state)
{
	adapt_step(state, state->end);
	state->done = (state->end == state->limit);
	if (!state->done)
		state->from = state->ascending ? state->end + 1 : state->end - 1;
}

/* Gives a step up in a wide gap. */
static void
leave_step(LookupState *state)
{
	state->from = state->ascending ? state->first : state->last;
	adapt_step(state, state->from);
}

/* Whether an id that the walk has reached is in the set. */
static bool
is_element(LookupState *state, int64 id)
{
	if (state->ascending ? id > state->last : id < state->first)
		(void) find_run(state, id);
	return state->first <= id && id <= state->last;
}

/*
 * The entry that the walk has reached.  It is the walk's copy, which it makes if
 * it once was to return index tuples: see begin_scan().
 */
static IndexTuple
current_entry(LookupState *state)
{
	BTScanOpaque walk = (BTScanOpaque) state->walk->opaque;

	return (IndexTuple) (walk->currTuples +
						 walk->currPos.items[walk->currPos.itemIndex].tupleOffset);
}

/* Puts what the index has of a row in a slot. */
static void
store_entry(LookupState *state, ItemPointer tid, TupleTableSlot *slot)
{
	Form_pg_index index = state->index->rd_index;
	TupleDesc	desc = RelationGetDescr(state->index);
	IndexTuple	entry = current_entry(state);

	ExecStoreAllNullTuple(slot);
	for (int i = 0; i < index->indnatts; i++)
	{
		int			column = index->indkey.values[i] - 1;

		if (column >= 0)
			slot->tts_values[column] =
				index_getattr(entry, i + 1, desc, &slot->tts_isnull[column]);
	}
	slot->tts_tid = *tid;
}

/*
 * Walks to the next entry whose id is in the set, of which it returns the row's
 * place; NULL if there is none, or if it is time to read the whole table.
 */
static ItemPointer
walk_to_entry(LookupState *state)
{
	TupleDesc	desc = RelationGetDescr(state->index);
	bool		reversed = state->index->rd_indoption[0] & INDOPTION_DESC;
	ScanDirection direction = state->ascending != reversed ?
		ForwardScanDirection : BackwardScanDirection;

	while (state->in_step || state->cost <= state->table_cost)
	{
		ItemPointer tid;
		bool		isnull;
		int64		id;

		CHECK_FOR_INTERRUPTS();
		if (!state->in_step && !begin_step(state))
			return NULL;
		tid = index_getnext_tid(state->walk, direction);
		if (tid == NULL)
		{
			end_step(state);
			continue;
		}
		id = DatumGetInt64(index_getattr(current_entry(state), 1, desc,
										 &isnull));
		state->cost += cpu_index_tuple_cost;
		if (!is_element(state, id))
		{
			state->passed++;
			if (++state->gap >= MAX_GAP)
				leave_step(state);
			continue;
		}
		state->gap = 0;
		state->in_step = id == state->from || state->cost <= state->table_cost;
		state->from = id;
		if (state->in_step)
			return tid;
	}
	return NULL;
}

/*
 * Finds the rows to fetch next, and sorts them by their place in the table.
 * Returns false if there are none.
 */
static bool
fill_batch(LookupState *state)
{
	uint64		most = Min((uint64) work_mem * 1024, MaxAllocSize) /
		(2 * sizeof(uint64));	/* sorting takes as much again */
	uint64		size = state->in_order || state->found < MIN_BATCH ? 1 :
		Min(state->found * BATCH_GROWTH, most);
	ItemPointer tid;

	if (size > state->room)
	{
		state->room = size;
		state->batch = MemoryContextAlloc(state->context,
										  sizeof(uint64) * size);
	}
	/* where the walk is now is not the entry of a row that proved dead */
	if (state->room > 1)
		state->walk->kill_prior_tuple = false;
	state->batched = state->taken = 0;
	while (state->batched < size && (tid = walk_to_entry(state)) != NULL)
		state->batch[state->batched++] =
			(uint64) ItemPointerGetBlockNumber(tid) << 16 |
			ItemPointerGetOffsetNumber(tid);
	r64_sort_items(&roaring64_env, state->batch, state->batched, 1, 0);
	state->found += state->batched;
	return state->batched > 0;
}

/* Puts the next row of the batch in a slot; false if it is not visible. */
static bool
fetch_row(LookupState *state, TupleTableSlot *slot)
{
	uint64		place = state->batch[state->taken++];
	BlockNumber page = (BlockNumber) (place >> 16);
	Relation	table = state->css.ss.ss_currentRelation;
	ItemPointerData tid;

	CHECK_FOR_INTERRUPTS();
	ItemPointerSet(&tid, page, (OffsetNumber) place);
	state->cost += cpu_tuple_cost;
	if (state->index_only && VM_ALL_VISIBLE(table, page, &state->visible_map))
		PredicateLockPage(table, page, state->walk->xs_snapshot);
	else
	{
		if (page != state->page)
			state->cost += ROARING64_PAGE_COST;
		state->page = page;
		state->fetches++;
		state->walk->xs_heaptid = tid;
		if (!index_fetch_heap(state->walk, state->row))
			return false;
	}
	if (state->index_only)
		store_entry(state, &tid, slot);
	return true;
}

/* The next row of the table; false if there is none. */
static bool
read_to_row(LookupState *state, TupleTableSlot *slot)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;

	if (state->table == NULL)
	{
		state->table =
			roaring64_table_beginscan(state->css.ss.ss_currentRelation,
									  state->css.ss.ps.state->es_snapshot);
		InstrCountFiltered2(state, 1);
	}
	while (table_scan_getnextslot(state->table, ForwardScanDirection,
								  state->row))
	{
		bool		isnull;
		int64		id;

		CHECK_FOR_INTERRUPTS();
		ResetExprContext(econtext);
		econtext->ecxt_scantuple = state->row;
		id = DatumGetInt64(ExecEvalExprSwitchContext(state->id, econtext,
													 &isnull));
		if (isnull || id < state->from || !r64_contains(&state->set, id))
			continue;
		if (state->index_only)
		{
			ExecCopySlot(slot, state->row);
			slot->tts_tid = state->row->tts_tid;
		}
		return true;
	}
	return false;
}

/* Blocks read so far that were not in memory. */
#define BLOCKS_READ	(pgBufferUsage.shared_blks_read + pgBufferUsage.local_blks_read)

static TupleTableSlot *
next_row(ScanState *ss)
{
	LookupState *state = (LookupState *) ss;
	TupleTableSlot *slot = ss->ss_ScanTupleSlot;
	int64		read = BLOCKS_READ;
	bool		found = false;

	if (!state->begun)
		begin_lookup(state);
	if (state->table == NULL)
	{
		while (!found && (state->taken < state->batched || fill_batch(state)))
			found = fetch_row(state, slot);
		state->cost += random_page_cost * (double) (BLOCKS_READ - read);
	}
	if (!found && !state->done)
		found = read_to_row(state, slot);
	if (found)
		return slot;
	/* else the lookups of all partitions would have their sets at once */
	MemoryContextReset(state->context);
	state->done = true;
	return ExecClearTuple(slot);
}

/* Whether a row that was changed in the meantime still passes the test. */
static bool
recheck_row(ScanState *ss, TupleTableSlot *slot)
{
	LookupState *state = (LookupState *) ss;
	ExprContext *econtext = ss->ps.ps_ExprContext;
	bool		isnull;
	Datum		passes;

	econtext->ecxt_scantuple = slot;
	passes = ExecEvalExprSwitchContext(state->condition, econtext, &isnull);
	return !isnull && DatumGetBool(passes);
}

static TupleTableSlot *
exec_lookup(CustomScanState *node)
{
	return ExecScan(&node->ss, next_row, recheck_row);
}

static void
begin_scan(CustomScanState *node, EState *estate, int eflags)
{
	LookupState *state = (LookupState *) node;
	ScanState  *ss = &node->ss;
	Relation	relation = ss->ss_currentRelation;
	CustomScan *plan = (CustomScan *) ss->ps.plan;
	Oid			index = (Oid) intVal(linitial(plan->custom_private));

	/*
	 * The server has set this up for virtual tuples, but our rows may be
	 * those of the table.  So all expressions are made again, and their
	 * subqueries listed again.
	 */
	state->index_only = intVal(lthird(plan->custom_private)) != 0;
	ss->ps.subPlan = NIL;
	roaring64_init_scan_slot(estate, ss, RelationGetDescr(relation),
							 state->index_only ? &TTSOpsVirtual :
							 table_slot_callbacks(relation));
	ExecAssignScanProjectionInfo(ss);
	ss->ps.qual = ExecInitQual(plan->scan.plan.qual, &ss->ps);
	/* also rows of the table get its id, whatever the scan returns */
	ss->ps.scanopsfixed = false;
	state->id = ExecInitExpr(linitial(plan->custom_exprs), &ss->ps);
	ss->ps.scanopsfixed = true;
	state->set_value = ExecInitExpr(lsecond(plan->custom_exprs), &ss->ps);
	state->condition = ExecInitExpr(lthird(plan->custom_exprs), &ss->ps);
	state->ascending = intVal(lsecond(plan->custom_private)) >= 0;
	/* what is kept of an index entry is lost when the walk goes on */
	state->in_order = state->index_only ||
		intVal(lsecond(plan->custom_private)) != 0;
	state->descent_cost = floatVal(lfourth(plan->custom_private));
	state->table_cost = floatVal(list_nth(plan->custom_private, 4));
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;

	Assert(IsMVCCSnapshot(estate->es_snapshot));
	state->context = AllocSetContextCreate(CurrentMemoryContext,
										   "roaring64 lookup",
										   ALLOCSET_DEFAULT_SIZES);
	state->index = index_open(index, exec_rt_fetch(plan->scan.scanrelid,
												   estate)->rellockmode);
	state->walk = roaring64_index_beginscan(relation, state->index,
											estate->es_snapshot, 2);
	state->row = state->index_only ?
		table_slot_create(relation, &estate->es_tupleTable) :
		ss->ss_ScanTupleSlot;
	ss->ss_ScanTupleSlot->tts_tableOid = RelationGetRelid(relation);

	/*
	 * A scan that returns index tuples has room for copies of them, made when
	 * it starts, but stays on the page until it needs the next one, for which
	 * VACUUM waits.  Unless the visibility map is asked, that is not needed.
	 */
	state->walk->xs_want_itup = true;
	restart_walk(state, 0, 0);
	state->walk->xs_want_itup = state->index_only;
}

static void
end_table(LookupState *state)
{
	if (state->table != NULL)
		table_endscan(state->table);
	state->table = NULL;
}

static void
rescan(CustomScanState *node)
{
	LookupState *state = (LookupState *) node;

	end_table(state);
	state->begun = false;
	ExecScanReScan(&node->ss);
}

static void
end_scan(CustomScanState *node)
{
	LookupState *state = (LookupState *) node;

	end_table(state);
	if (state->walk != NULL)
		index_endscan(state->walk);
	if (BufferIsValid(state->visible_map))
		ReleaseBuffer(state->visible_map);
	if (state->index != NULL)
		index_close(state->index, NoLock);
}

static void
explain_scan(CustomScanState *node, List *ancestors, ExplainState *es)
{
	LookupState *state = (LookupState *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	List	   *context = set_deparse_context_plan(es->deparse_cxt,
												   (Plan *) plan, ancestors);

	ExplainPropertyText("Index Name",
						get_rel_name((Oid) intVal(linitial(plan->custom_private))),
						es);
	ExplainPropertyText("Index Cond",
						deparse_expression(lthird(plan->custom_exprs), context,
										   es->verbose, false), es);
	if (!es->analyze || node->ss.ps.instrument == NULL)
		return;
	/* the server adds up these counters over parallel workers */
	ExplainPropertyInteger("Set Elements", NULL, (int64) state->elements, es);
	ExplainPropertyInteger("Index Searches", NULL,
						   (int64) node->ss.ps.instrument->ntuples2, es);
	if (state->index_only)
		ExplainPropertyInteger("Heap Fetches", NULL, (int64) state->fetches,
							   es);
	if (node->ss.ps.instrument->nfiltered2 > 0)
		ExplainPropertyInteger("Table Scans", NULL,
							   (int64) node->ss.ps.instrument->nfiltered2, es);
}

static Node *
create_state(CustomScan *scan)
{
	static const CustomExecMethods methods = {
		.CustomName = "Roaring64 Lookup",
		.BeginCustomScan = begin_scan,
		.ExecCustomScan = exec_lookup,
		.EndCustomScan = end_scan,
		.ReScanCustomScan = rescan,
		.ExplainCustomScan = explain_scan
	};
	LookupState *state = (LookupState *) newNode(sizeof(LookupState),
												 T_CustomScanState);

	state->css.methods = &methods;
	return (Node *) state;
}

const CustomScanMethods roaring64_lookup_methods = {
	.CustomName = "Roaring64 Lookup",
	.CreateCustomScanState = create_state
};
