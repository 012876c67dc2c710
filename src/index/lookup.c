/*-------------------------------------------------------------------------
 *
 * lookup.c
 *	  Scan of a table for the rows whose id is in a set, by a btree on the id.
 *
 * The server has two plans for this.  An array of the elements takes a search of
 * the index for each of them; the range that they span reads nearly all of the
 * index.  Neither suits all sets, and a parameter or the result of a subquery is
 * not known when the plan is made.  So this scan adapts while it runs.  Its path
 * and its price are in planner/lookuppath.c.
 *
 * It reads the index in steps, short ones where the elements lie apart and
 * long ones where they are dense (steps.c).  A row is fetched from the table only
 * after its id is known to be in the set, and not at all if the index has all
 * columns wanted and the visibility map has its page, as by core's index-only
 * scan.
 *
 * Rows that may come in any order are fetched in the order of the table, batch
 * by batch, so that a page is not visited again for every id that has rows on
 * it.  The first are fetched at once, as the query may need no more.  VACUUM may
 * give a TID in a batch to another row, which our snapshot does not see.
 *
 * When this has cost as much as reading the whole table would, the scan does
 * read the whole table, for the ids that it has not reached yet.  So it takes
 * at most about twice as long as the better of the two.  It cannot do so if the
 * rows have to come in order.
 *
 * Other conditions may have indexes, too.  Then the plan below is core's bitmap
 * scan of these.  After each batch the scan compares what the rest will cost, by
 * what the rows so far have: to go on; to make the bitmap, and fetch of a batch only
 * the rows that are in both; or to leave the rest to the bitmap scan and test its
 * rows.  Which is best depends on the set and on what is in memory.
 *
 * src/index/lookup.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/nbtree.h"
#include "access/stratnum.h"
#include "access/tableam.h"
#include "access/visibilitymap.h"
#include "catalog/pg_type.h"
#include "commands/explain.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "nodes/tidbitmap.h"
#include "storage/predicate.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/snapmgr.h"

#include "index/scans.h"
#include "index/steps.h"
#include "server_planner.h"
#include "type/roaring64.h"

/* A batch has this many times the rows found before, if work_mem allows. */
#define BATCH_GROWTH	8

/* Added to the TID of a row that is known to pass the other conditions. */
#define EXACT			(UINT64CONST(1) << 48)

/* Blocks read so far that were not in memory. */
#define BLOCKS_READ	(pgBufferUsage.shared_blks_read + pgBufferUsage.local_blks_read)

/*
 * What reading a page of the table costs when the rest is chosen, as a multiple of
 * the settings, which assume that most pages are in memory.  The page may have come
 * from the system's cache.
 */
#define READ_FACTOR		3

/*
 * The bitmap scan is taken to cost this part of its price, since no statistics tell
 * whether the rows of a word are on few pages.
 */
#define CLUSTERED_PART	0.75

/* Another way is chosen only after this part of its cost has been spent. */
#define TRIED_PART		(1.0 / 256)

/*
 * A stored set that lookups of one execution share, since all partitions of a table
 * are looked up in the same.  It is recognised by all bytes of its TOAST pointer.
 */
typedef struct SharedSet
{
	dlist_node	node;
	MemoryContextCallback callback; /* takes it from the list */
	EState	   *estate;
	MemoryContext context;		/* of this, in that of the execution */
	struct varlena *pointer;
	r64_set		set;			/* with an index */
	int			users;			/* lookups that are using it */
} SharedSet;

static dlist_head shared_sets = DLIST_STATIC_INIT(shared_sets);

typedef struct LookupState
{
	CustomScanState css;		/* must be first */
	LookupPlan	plan;
	ExprState  *id;
	List	   *sets;			/* expressions: the first without the others */
	FmgrInfo   *without;		/* a call site of "-" for each, which caches
								 * its arguments */
	ExprState  *condition;
	Relation	index;
	IndexScanDesc entries;
	TableScanDesc table;		/* when we read the whole table, or NULL */
	TupleTableSlot *row;		/* of the table */
	Buffer		visible_map;	/* page of the visibility map */
	MemoryContext context;		/* of the set */
	BitmapHeapScanState *others_scan;	/* by the indexes of others, or NULL */
	TIDBitmap  *bitmap;			/* kept until its parameters change, or NULL */
	uint64		elements;		/* of all sets so far */
	uint64		fetches;		/* rows fetched from the table */

	/* this scan */
	bool		begun;
	r64_set		set;
	SharedSet  *shared;			/* that the set is of, or NULL */
	Steps		steps;			/* through the index */
	BlockNumber page;			/* of the table, where we are */
	uint64		pages;			/* visited */
	uint64		pages_read;		/* of these, not in memory */
	uint64		entries_read;	/* of the index */
	double		walk_cost;		/* of the index */
	double		fetch_cost;		/* of rows */
	double		limit;			/* of both costs, beyond which the rest is
								 * read without the index */
	bool		reads_rest;		/* it has come to that */
	bool		reads_all;		/* not by the other indexes, either */
	bool		intersects;		/* batches, with the bitmap */

	uint64	   *batch;			/* TIDs of rows to fetch: block << 16 | offset */
	uint64		capacity;		/* of the batch */
	uint64		batched;		/* TIDs in it */
	uint64		next;			/* the first not fetched */
	uint64		found;			/* rows of this and earlier batches */
} LookupState;

/* The custom_private of a plan: its bytes, which copies of the plan keep. */
List *
roaring64_pack_lookup(const LookupPlan *plan)
{
	bytea	   *bytes = cstring_to_text_with_len((const char *) plan,
												 sizeof(*plan));

	return list_make1(makeConst(BYTEAOID, -1, InvalidOid, -1,
								PointerGetDatum(bytes), false, false));
}

static void
unpack_lookup(const List *packed, LookupPlan *plan)
{
	Const	   *bytes = linitial_node(Const, packed);

	memcpy(plan, VARDATA(DatumGetPointer(bytes->constvalue)), sizeof(*plan));
}

static void
unlink_shared(void *arg)
{
	dlist_delete(&((SharedSet *) arg)->node);
}

/*
 * The set that a datum of an execution is, to be given back; or NULL if the datum is
 * no TOAST pointer.  One that nobody uses is kept until another value comes.
 */
static SharedSet *
share_set(EState *estate, Datum datum)
{
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);
	dlist_mutable_iter iter;
	MemoryContext context;
	MemoryContext oldcontext;
	SharedSet  *shared;

	if (!VARATT_IS_EXTERNAL_ONDISK(value))
		return NULL;
	dlist_foreach_modify(iter, &shared_sets)
	{
		shared = dlist_container(SharedSet, node, iter.cur);
		if (shared->estate != estate)
			continue;
		if (memcmp(shared->pointer, value, VARSIZE_EXTERNAL(value)) == 0)
		{
			shared->users++;
			return shared;
		}
		if (shared->users == 0)
			MemoryContextDelete(shared->context);
	}
	context = AllocSetContextCreate(estate->es_query_cxt, "roaring64 shared set",
									ALLOCSET_DEFAULT_SIZES);
	oldcontext = MemoryContextSwitchTo(context);
	shared = palloc0(sizeof(SharedSet));
	shared->estate = estate;
	shared->context = context;
	shared->pointer = memcpy(palloc(VARSIZE_EXTERNAL(value)), value,
							 VARSIZE_EXTERNAL(value));
	shared->set = DatumGetRoaring64(datum);
	r64_index_set(&shared->set);
	shared->users = 1;
	dlist_push_head(&shared_sets, &shared->node);
	shared->callback.func = unlink_shared;
	shared->callback.arg = shared;
	MemoryContextRegisterResetCallback(context, &shared->callback);
	MemoryContextSwitchTo(oldcontext);
	return shared;
}

/* Ends the lookup, and frees what it used. */
static void
end_lookup(LookupState *state)
{
	if (state->shared != NULL)
		state->shared->users--;
	state->shared = NULL;
	if (state->table != NULL)
		table_endscan(state->table);
	state->table = NULL;
	MemoryContextReset(state->context);
	state->batch = NULL;
	state->capacity = state->batched = state->next = 0;
	state->steps.in_step = false;
	state->steps.done = true;
}

/* Evaluates the set; there are no steps if it is NULL. */
static void
begin_lookup(LookupState *state)
{
	MemoryContext oldcontext;
	Datum		set = (Datum) 0;
	bool		isnull = false;
	ListCell   *cell;

	state->begun = true;
	state->page = InvalidBlockNumber;
	state->walk_cost = state->fetch_cost = 0;
	state->pages = state->pages_read = state->entries_read = state->found = 0;
	state->limit = state->others_scan == NULL ? state->plan.table_cost : HUGE_VAL;
	state->reads_rest = state->intersects = false;
	state->reads_all = state->others_scan == NULL;
	state->steps.done = true;
	oldcontext = MemoryContextSwitchTo(state->context);
	foreach(cell, state->sets)
	{
		Datum		value = ExecEvalExpr((ExprState *) lfirst(cell),
										 state->css.ss.ps.ps_ExprContext,
										 &isnull);
		int			i = foreach_current_index(cell);

		if (isnull)
			break;
		set = i == 0 ? value :
			FunctionCall2(&state->without[i], set, value);
	}
	if (!isnull)
	{
		state->shared = share_set(state->css.ss.ps.state, set);
		if (state->shared != NULL)
			state->set = state->shared->set;
		else
		{
			state->set = DatumGetRoaring64(set);
			r64_index_set(&state->set);
		}
		state->elements += r64_cardinality(&state->set);
		roaring64_begin_steps(&state->steps, &state->set,
							  state->plan.direction >= 0, state->plan.negated);
	}
	MemoryContextSwitchTo(oldcontext);
}

/*
 * Restarts the scan of the index, for the entries from lo to hi.  It was begun with
 * two keys, but the server takes less time for each entry if there is one.
 */
static void
restart_scan(LookupState *state, int64 lo, int64 hi)
{
	IndexScanDesc entries = state->entries;
	ScanKeyData keys[2];
	int			n = 0;

	if (lo == hi)
		ScanKeyInit(&keys[n++], 1, BTEqualStrategyNumber, F_INT8EQ,
					Int64GetDatum(lo));
	/* one bound at least, as NULLs are in the index, too */
	if (lo < hi && (lo > PG_INT64_MIN || hi == PG_INT64_MAX))
		ScanKeyInit(&keys[n++], 1, BTGreaterEqualStrategyNumber, F_INT8GE,
					Int64GetDatum(lo));
	if (lo < hi && hi < PG_INT64_MAX)
		ScanKeyInit(&keys[n++], 1, BTLessEqualStrategyNumber, F_INT8LE,
					Int64GetDatum(hi));
	entries->numberOfKeys = n;
	index_rescan(entries, keys, n, NULL, 0);
}

/*
 * The index entry just found.  It is the scan's copy, which it makes if it was
 * once asked to return index tuples: see begin_scan().
 */
static IndexTuple
current_entry(LookupState *state)
{
	BTScanOpaque scan = (BTScanOpaque) state->entries->opaque;

	return (IndexTuple) (scan->currTuples +
						 scan->currPos.items[scan->currPos.itemIndex].tupleOffset);
}

/* Stores the columns that the index has in a slot. */
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

static bool
is_too_expensive(const LookupState *state)
{
	return state->walk_cost + state->fetch_cost > state->limit;
}

/*
 * Finds the next entry whose id is in the set, and returns the TID of its row;
 * NULL if there is none, or if it is time to read the rest without the index.
 */
static ItemPointer
next_entry(LookupState *state)
{
	TupleDesc	desc = RelationGetDescr(state->index);
	bool		reversed = state->index->rd_indoption[0] & INDOPTION_DESC;
	Steps	   *steps = &state->steps;
	ScanDirection direction = steps->ascending != reversed ?
		ForwardScanDirection : BackwardScanDirection;

	while (steps->in_step || !is_too_expensive(state))
	{
		ItemPointer tid;
		bool		isnull;
		int64		id;

		CHECK_FOR_INTERRUPTS();
		if (!steps->in_step)
		{
			if (!roaring64_next_step(steps))
				return NULL;
			state->walk_cost += state->plan.descent_cost;
			InstrCountTuples2(state, 1);
			restart_scan(state, Min(steps->start, steps->end),
						 Max(steps->start, steps->end));
		}
		tid = index_getnext_tid(state->entries, direction);
		if (tid == NULL)
		{
			roaring64_end_step(steps, steps->end);
			continue;
		}
		id = DatumGetInt64(index_getattr(current_entry(state), 1, desc,
										 &isnull));
		state->walk_cost += cpu_index_tuple_cost;
		state->entries_read++;
		if (!roaring64_step_wants(steps, id))
			continue;
		steps->in_step = id == steps->from || !is_too_expensive(state);
		steps->from = id;
		if (steps->in_step)
			return tid;
	}
	return NULL;
}

/*
 * Chooses how to find the rest of the rows, if other conditions have indexes, by what
 * the part of the set that was looked up so far has cost.
 */
static void
choose_rest(LookupState *state)
{
	const LookupPlan *plan = &state->plan;
	Form_pg_class table = state->css.ss.ss_currentRelation->rd_rel;
	double		rows = Max(state->index->rd_rel->reltuples, 1);
	double		pages = Max(state->pages, 1);
	double		done = plan->negated ? state->entries_read / rows :
		(double) r64_count_range(&state->set, PG_INT64_MIN, state->steps.from) /
		(double) r64_cardinality(&state->set);
	double		times = Max(1 / done - 1, 0);

	/* searches and rows take longer, beside pages, than core says */
	double		walk_cost = times *
		3 * (state->walk_cost + state->entries_read * cpu_tuple_cost);
	double		row_cost = times * state->found * 2 * ROARING64_ENTRY_COST;
	double		fetch_cost = times * state->fetch_cost;
	double		alone = walk_cost + row_cost + fetch_cost;
	double		bitmap_cost = state->bitmap == NULL ? plan->bitmap_cost : 0;
	double		part = Min(plan->bitmap_pages / Max(table->relpages, 1), 1);
	double		both = bitmap_cost + walk_cost + row_cost * plan->bitmap_share +
		fetch_cost * Min(plan->bitmap_share * state->found / pages, part);

	/* core's bitmap scan waits for each page, dense or not */
	double		reads = READ_FACTOR * Min(state->pages_read / pages, 1);
	double		page_cost = ROARING64_PAGE_COST + 3 * ROARING64_ENTRY_COST +
		reads * random_page_cost * ROARING64_BITMAP_WAIT;
	double		others = plan->bitmap_cost + plan->bitmap_pages * page_cost +
		plan->bitmap_share * rows * 3 * ROARING64_ENTRY_COST;
	double		all = plan->table_cost + reads * seq_page_cost * table->relpages;
	double		rest = Min(CLUSTERED_PART * others, all);
	double		most = (state->walk_cost + state->fetch_cost) / TRIED_PART;

	state->reads_all = rest == all;
	if (rest < Min(Min(alone, both), most))
		state->limit = -1;
	state->intersects = both < alone && both <= rest && bitmap_cost < most;
	if (state->intersects && state->bitmap == NULL)
		state->bitmap = (TIDBitmap *)
			MultiExecProcNode(outerPlanState(state->others_scan));
}

/*
 * Keeps the rows of the batch that may be in the bitmap, too.  That has the TIDs of a
 * page, or, if work_mem is short or the index knows no more, only the page.
 */
static void
intersect_batch(LookupState *state)
{
	TIDBitmap  *both = tbm_create(LONG_MAX, NULL);	/* keeps all TIDs */
	OffsetNumber offsets[MaxHeapTuplesPerPage];
	TBMPrivateIterator *pages;
	TBMIterateResult result;
	TBMIterateResult *page = &result;

	for (uint64 i = 0; i < state->batched; i++)
	{
		ItemPointerData tid;

		CHECK_FOR_INTERRUPTS();
		ItemPointerSet(&tid, (BlockNumber) (state->batch[i] >> 16),
					   (OffsetNumber) state->batch[i]);
		tbm_add_tuples(both, &tid, 1, false);
	}
	tbm_intersect(both, state->bitmap);
	state->batched = 0;
	pages = tbm_begin_private_iterate(both);
	while (roaring64_tbm_next(pages, page))
	{
		int			n = roaring64_tbm_offsets(page, offsets);

		for (int i = 0; i < n; i++)
			state->batch[state->batched++] = (uint64) page->blockno << 16 |
				offsets[i] | (page->recheck ? 0 : EXACT);
	}
	tbm_end_private_iterate(pages);
	tbm_free(both);
}

/*
 * Finds the rows to fetch next, and sorts them by their TID.
 * Returns false if there are none.
 */
static bool
fill_batch(LookupState *state)
{
	uint64		most;
	uint64		size;
	int64		read;
	ItemPointer tid;

	if (state->others_scan != NULL && !state->intersects && state->limit > 0 &&
		!state->steps.done && state->found >= ROARING64_MIN_BATCH)
		choose_rest(state);
	read = BLOCKS_READ;
	/* to sort a batch takes as much memory again, and a bitmap of it 14 times */
	most = Min((uint64) work_mem * 1024, MaxAllocSize) / sizeof(uint64) /
		(state->intersects ? 16 : 2);
	/* the copy of an index entry is lost when the scan finds the next one */
	size = state->plan.index_only || state->plan.direction != 0 ||
		state->found < ROARING64_MIN_BATCH ? 1 : Min(state->found * BATCH_GROWTH, most);
	if (size > state->capacity)
	{
		state->capacity = size;
		state->batch = MemoryContextAlloc(state->context,
										  sizeof(uint64) * size);
	}

	/*
	 * After a batch the scan is past the row found dead: it must not kill the
	 * entry that it is on.
	 */
	if (state->capacity > 1)
		state->entries->kill_prior_tuple = false;
	state->batched = state->next = 0;
	while (state->batched < size && (tid = next_entry(state)) != NULL)
		state->batch[state->batched++] =
			(uint64) ItemPointerGetBlockNumber(tid) << 16 |
			ItemPointerGetOffsetNumber(tid);
	r64_sort(&roaring64_env, state->batch, state->batched);
	state->found += state->batched;
	state->walk_cost += random_page_cost * (double) (BLOCKS_READ - read);
	if (state->batched == 0)
		return false;
	if (state->intersects)
		intersect_batch(state);
	return true;
}

/* Whether a row passes the other conditions that have indexes. */
static bool
passes_others(LookupState *state, TupleTableSlot *slot)
{
	BitmapHeapScanState *scan = state->others_scan;

	if (scan == NULL)
		return true;
	scan->ss.ps.ps_ExprContext->ecxt_scantuple = slot;
	return ExecQualAndReset(scan->bitmapqualorig, scan->ss.ps.ps_ExprContext);
}

/*
 * Puts the next row of the batch in a slot; false if it is not visible, or does not
 * pass the other conditions.
 */
static bool
fetch_row(LookupState *state, TupleTableSlot *slot)
{
	uint64		row = state->batch[state->next++];
	BlockNumber page = (BlockNumber) (row >> 16);
	Relation	table = state->css.ss.ss_currentRelation;
	int64		read = BLOCKS_READ;
	double		read_cost = (page == state->page + 1 ? seq_page_cost : random_page_cost) *
		(state->others_scan != NULL ? READ_FACTOR : 1);
	bool		found = true;
	ItemPointerData tid;

	CHECK_FOR_INTERRUPTS();
	ItemPointerSet(&tid, page, (OffsetNumber) row);
	state->fetch_cost += cpu_tuple_cost;
	if (state->plan.index_only && VM_ALL_VISIBLE(table, page, &state->visible_map))
		PredicateLockPage(table, page, state->entries->xs_snapshot);
	else
	{
		if (page != state->page)
		{
			state->fetch_cost += ROARING64_PAGE_COST;
			state->pages++;
		}
		state->page = page;
		state->fetches++;
		state->entries->xs_heaptid = tid;
		found = index_fetch_heap(state->entries, state->row);
	}
	state->fetch_cost += read_cost * (double) (BLOCKS_READ - read);
	state->pages_read += BLOCKS_READ - read;
	if (found && state->plan.index_only)
		store_entry(state, &tid, slot);
	return found && ((row & EXACT) || passes_others(state, slot));
}

/* The next row of the table, or by the other indexes; an empty slot if there is none. */
static TupleTableSlot *
next_of_rest(LookupState *state)
{
	if (!state->reads_all)
	{
		ExecProcNode(&state->others_scan->ss.ps);
		return state->others_scan->ss.ss_ScanTupleSlot;
	}
	if (state->table == NULL)
	{
		state->table =
			roaring64_table_beginscan(state->css.ss.ss_currentRelation,
									  state->css.ss.ps.state->es_snapshot);
		InstrCountFiltered2(state, 1);
	}
	table_scan_getnextslot(state->table, ForwardScanDirection, state->row);
	return state->row;
}

/* Reads on to a row whose id is wanted and was not reached; false if there is none. */
static bool
read_to_row(LookupState *state, TupleTableSlot *slot)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;

	state->reads_rest = true;
	for (;;)
	{
		TupleTableSlot *row = next_of_rest(state);
		bool		isnull;
		int64		id;

		CHECK_FOR_INTERRUPTS();
		if (TupIsNull(row))
			return false;
		ResetExprContext(econtext);
		econtext->ecxt_scantuple = row;
		id = DatumGetInt64(ExecEvalExprSwitchContext(state->id, econtext,
													 &isnull));
		if (isnull || id < state->steps.from ||
			r64_contains(&state->set, id) == state->plan.negated ||
			(state->reads_all && !passes_others(state, row)))
			continue;
		if (row != slot)
		{
			ExecCopySlot(slot, row);
			slot->tts_tid = row->tts_tid;
		}
		return true;
	}
}

static TupleTableSlot *
next_row(ScanState *ss)
{
	LookupState *state = (LookupState *) ss;
	TupleTableSlot *slot = ss->ss_ScanTupleSlot;
	bool		found = false;

	if (!state->begun)
		begin_lookup(state);
	while (!found && !state->reads_rest &&
		   (state->next < state->batched || fill_batch(state)))
		found = state->next < state->batched && fetch_row(state, slot);
	if (!found && !state->steps.done)
		found = read_to_row(state, slot);
	if (found)
		return slot;
	/* or the lookups of all partitions would keep their sets at once */
	end_lookup(state);
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
	return !isnull && DatumGetBool(passes) && passes_others(state, slot);
}

static TupleTableSlot *
exec_lookup(CustomScanState *node)
{
	return ExecScan(&node->ss, next_row, recheck_row);
}

/*
 * Makes the scan's expressions.  The server has made them for virtual tuples, but
 * our rows may be the table's, so all are made again, and their subqueries listed
 * again.
 */
static void
make_expressions(LookupState *state, CustomScan *plan, EState *estate)
{
	ScanState  *ss = &state->css.ss;
	List	   *sets = list_nth(plan->custom_exprs, LOOKUP_SETS);
	ListCell   *cell;

	ss->ps.subPlan = NIL;
	roaring64_init_scan_slot(estate, ss, RelationGetDescr(ss->ss_currentRelation),
							 state->plan.index_only ? &TTSOpsVirtual :
							 table_slot_callbacks(ss->ss_currentRelation));
	ExecAssignScanProjectionInfo(ss);
	ss->ps.qual = ExecInitQual(plan->scan.plan.qual, &ss->ps);

	/*
	 * the id is also evaluated on rows of the table, whatever the scan
	 * returns
	 */
	ss->ps.scanopsfixed = false;
	state->id = ExecInitExpr(list_nth(plan->custom_exprs, LOOKUP_ID), &ss->ps);
	ss->ps.scanopsfixed = true;
	state->sets = ExecInitExprList(sets, &ss->ps);
	state->condition = ExecInitExpr(list_nth(plan->custom_exprs, LOOKUP_TEST),
									&ss->ps);
	state->without = palloc0(sizeof(FmgrInfo) * list_length(sets));
	foreach(cell, sets)
	{
		FmgrInfo   *site = &state->without[foreach_current_index(cell)];

		site->fn_addr = roaring64_andnot;
		site->fn_nargs = 2;
		site->fn_mcxt = CurrentMemoryContext;
		site->fn_expr = (Node *)
			makeFuncExpr(InvalidOid, InvalidOid,
						 list_make2(linitial(sets), lfirst(cell)),
						 InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
	}
}

static void
begin_scan(CustomScanState *node, EState *estate, int eflags)
{
	LookupState *state = (LookupState *) node;
	ScanState  *ss = &node->ss;
	Relation	relation = ss->ss_currentRelation;
	CustomScan *plan = (CustomScan *) ss->ps.plan;

	unpack_lookup(plan->custom_private, &state->plan);
	make_expressions(state, plan, estate);
	if (plan->custom_plans != NIL)
	{
		state->others_scan = (BitmapHeapScanState *)
			ExecInitNode(linitial(plan->custom_plans), estate, eflags);
		node->custom_ps = list_make1(state->others_scan);
	}
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;

	Assert(IsMVCCSnapshot(estate->es_snapshot));
	state->context = AllocSetContextCreate(CurrentMemoryContext,
										   "roaring64 lookup",
										   ALLOCSET_DEFAULT_SIZES);
	state->index = index_open(state->plan.index, exec_rt_fetch(plan->scan.scanrelid,
															   estate)->rellockmode);
	state->entries = roaring64_index_beginscan(relation, state->index,
											   estate->es_snapshot, 2);
	state->row = state->plan.index_only ?
		table_slot_create(relation, &estate->es_tupleTable) :
		ss->ss_ScanTupleSlot;
	ss->ss_ScanTupleSlot->tts_tableOid = RelationGetRelid(relation);

	/*
	 * A scan that returns index tuples allocates a workspace for copies of
	 * them when it starts, but stays on the page until it needs the next one,
	 * for which VACUUM waits.  Unless the visibility map is asked, that is
	 * not needed.  Each start asks xs_want_itup anew, but the workspace
	 * stays.
	 */
	state->entries->xs_want_itup = true;
	restart_scan(state, 0, 0);
	state->entries->xs_want_itup = state->plan.index_only;
}

static void
rescan(CustomScanState *node)
{
	LookupState *state = (LookupState *) node;
	PlanState  *others = (PlanState *) state->others_scan;

	end_lookup(state);
	state->begun = false;
	if (others != NULL)
	{
		UpdateChangedParamSet(others, node->ss.ps.chgParam);
		/* the bitmap is kept if it stays the same */
		if (others->chgParam != NULL && state->bitmap != NULL)
		{
			tbm_free(state->bitmap);
			state->bitmap = NULL;
		}
		ExecReScan(others);
	}
	ExecScanReScan(&node->ss);
}

static void
end_scan(CustomScanState *node)
{
	LookupState *state = (LookupState *) node;

	ExecEndNode((PlanState *) state->others_scan);
	if (state->entries == NULL)
		return;					/* it was only explained */
	end_lookup(state);
	index_endscan(state->entries);
	if (BufferIsValid(state->visible_map))
		ReleaseBuffer(state->visible_map);
	index_close(state->index, NoLock);
}

static void
explain_scan(CustomScanState *node, List *ancestors, ExplainState *es)
{
	LookupState *state = (LookupState *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	List	   *context = set_deparse_context_plan(es->deparse_cxt,
												   (Plan *) plan, ancestors);

	ExplainPropertyText("Index Name", get_rel_name(state->plan.index), es);
	ExplainPropertyText("Index Cond",
						deparse_expression(list_nth(plan->custom_exprs, LOOKUP_TEST),
										   context, es->verbose, false), es);
	if (!es->analyze || node->ss.ps.instrument == NULL)
		return;
	/* the server adds up only its own counters over workers */
	ExplainPropertyInteger("Set Elements", NULL, (int64) state->elements, es);
	ExplainPropertyInteger("Index Searches", NULL,
						   (int64) node->ss.ps.instrument->ntuples2, es);
	if (state->plan.index_only)
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
