/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  The differences between the PostgreSQL versions we build on.
 *
 * The only file that looks at PG_VERSION_NUM.  It has no logic of ours.
 *
 * src/compat.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ROARING64_COMPAT_H
#define ROARING64_COMPAT_H

#if PG_VERSION_NUM < 140000
#error "roaring64 needs PostgreSQL 14 or newer"
#endif

/*
 * Soft errors came with 16.  Before it, an input function can only throw.
 */
#if PG_VERSION_NUM >= 160000
#include "nodes/miscnodes.h"
#define roaring64_hex_decode(src, len, dst, context) \
	hex_decode_safe(src, len, dst, context)
#else
#define roaring64_hex_decode(src, len, dst, context) \
	hex_decode(src, len, dst)
#define SOFT_ERROR_OCCURRED(context) false
#define ereturn(context, dummy_value, ...) \
	do { \
		(void) (context); \
		ereport(ERROR, __VA_ARGS__); \
		return dummy_value; \
	} while (0)
#endif

/* varatt.h was split from postgres.h in 16. */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* From 18 on the server knows the versions of its modules, pg_get_loaded_modules(). */
#ifdef PG_MODULE_MAGIC_EXT
#define ROARING64_MODULE_MAGIC \
	PG_MODULE_MAGIC_EXT(.name = "roaring64", .version = ROARING64_VERSION)
#else
#define ROARING64_MODULE_MAGIC PG_MODULE_MAGIC
#endif

/* Making a range can fail softly from 16 on; ours never fails. */
#if PG_VERSION_NUM >= 160000
#define roaring64_range_serialize(typcache, lower, upper) \
	range_serialize(typcache, lower, upper, false, NULL)
#else
#define roaring64_range_serialize(typcache, lower, upper) \
	range_serialize(typcache, lower, upper, false)
#endif

/* The statistics target moved from the attribute to the analysis in 17. */
#if PG_VERSION_NUM >= 170000
#define roaring64_statistics_target(stats) ((stats)->attstattarget)
#else
#define roaring64_statistics_target(stats) ((stats)->attr->attstattarget)
#endif

/* vacuum_delay_point tells an ANALYZE from a VACUUM from 18 on. */
#if PG_VERSION_NUM >= 180000
#define roaring64_analyze_delay_point() vacuum_delay_point(true)
#else
#define roaring64_analyze_delay_point() vacuum_delay_point()
#endif

/*
 * An index scan is told what statistics to fill from 18 on, and how the table
 * is read from 19 on.
 */
#if PG_VERSION_NUM >= 190000
#define roaring64_index_beginscan(table, index, snapshot, nkeys) \
	index_beginscan(table, index, snapshot, NULL, nkeys, 0, SO_NONE)
#elif PG_VERSION_NUM >= 180000
#define roaring64_index_beginscan(table, index, snapshot, nkeys) \
	index_beginscan(table, index, snapshot, NULL, nkeys, 0)
#else
#define roaring64_index_beginscan(table, index, snapshot, nkeys) \
	index_beginscan(table, index, snapshot, nkeys, 0)
#endif

/* So is any scan of a table from 19 on, and a slot what its rows keep to. */
#if PG_VERSION_NUM >= 190000
#define roaring64_table_beginscan(table, snapshot) \
	table_beginscan(table, snapshot, 0, NULL, SO_NONE)
#define roaring64_init_scan_slot(estate, scan, desc, callbacks) \
	ExecInitScanTupleSlot(estate, scan, desc, callbacks, 0)
#else
#define roaring64_table_beginscan(table, snapshot) \
	table_beginscan(table, snapshot, 0, NULL)
#define roaring64_init_scan_slot(estate, scan, desc, callbacks) \
	ExecInitScanTupleSlot(estate, scan, desc, callbacks)
#endif

/* Which scans of a table may be planned is the table's own from 19 on. */
#if PG_VERSION_NUM >= 190000
#define roaring64_allows_seqscan(rel) \
	(((rel)->pgs_mask & PGS_SEQSCAN) != 0)
#define roaring64_allows_indexscan(rel) \
	(((rel)->pgs_mask & PGS_INDEXSCAN) != 0)
#define roaring64_allows_indexonlyscan(rel) \
	(((rel)->pgs_mask & PGS_CONSIDER_INDEXONLY) != 0)
#define roaring64_allows_bitmapscan(rel) \
	(((rel)->pgs_mask & PGS_BITMAPSCAN) != 0)
#else
#define roaring64_allows_seqscan(rel) enable_seqscan
#define roaring64_allows_indexscan(rel) enable_indexscan
#define roaring64_allows_indexonlyscan(rel) enable_indexonlyscan
#define roaring64_allows_bitmapscan(rel) enable_bitmapscan
#endif

/* From 18 on PL/pgSQL lets functions of extensions change its variables. */
#define ROARING64_MODIFIES_IN_PLACE (PG_VERSION_NUM >= 180000)

/* What a node says in EXPLAIN moved to headers of its own in 18. */
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif

/* How long core's bitmap scan waits for a page from disk, in random pages: measured. */
#define ROARING64_BITMAP_WAIT	(PG_VERSION_NUM >= 180000 ? 1 : 3)

/* The pages of a bitmap of TIDs give their offsets only if asked from 18 on. */
#if PG_VERSION_NUM >= 180000
#define roaring64_tbm_next(iterator, page) tbm_private_iterate(iterator, page)
#define roaring64_tbm_offsets(page, offsets) \
	tbm_extract_page_tuple(page, offsets, MaxHeapTuplesPerPage)
#else
#define TBMPrivateIterator TBMIterator
#define tbm_begin_private_iterate(bitmap) tbm_begin_iterate(bitmap)
#define tbm_end_private_iterate(iterator) tbm_end_iterate(iterator)
#define roaring64_tbm_next(iterator, page) (((page) = tbm_iterate(iterator)) != NULL)
#define roaring64_tbm_offsets(page, to) \
	(memcpy(to, (page)->offsets, (page)->ntuples * sizeof(OffsetNumber)), (page)->ntuples)
#endif

/* The hook that is told of each table moved in 19. */
#if PG_VERSION_NUM >= 190000
#define ROARING64_RELATION_HOOK	build_simple_rel_hook
#define ROARING64_RELATION_HOOK_TYPE build_simple_rel_hook_type
#define ROARING64_RELATION_HOOK_PARAMETERS \
	PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *entry
#define ROARING64_RELATION_HOOK_ARGUMENTS root, rel, entry
#else
#define ROARING64_RELATION_HOOK	get_relation_info_hook
#define ROARING64_RELATION_HOOK_TYPE get_relation_info_hook_type
#define ROARING64_RELATION_HOOK_PARAMETERS \
	PlannerInfo *root, Oid relation, bool inherits, RelOptInfo *rel
#define ROARING64_RELATION_HOOK_ARGUMENTS root, relation, inherits, rel
#endif

/* Pricing a join wants to know from 19 on which switches of it to respect. */
#if PG_VERSION_NUM >= 190000
#define roaring64_initial_cost_nestloop(root, workspace, jointype, outer, inner, extra) \
	initial_cost_nestloop(root, workspace, jointype, \
						  PGS_NESTLOOP_PLAIN | PGS_CONSIDER_NONPARTIAL, outer, inner, extra)
#else
#define roaring64_initial_cost_nestloop(root, workspace, jointype, outer, inner, extra) \
	initial_cost_nestloop(root, workspace, jointype, outer, inner, extra)
#endif

#endif							/* ROARING64_COMPAT_H */
