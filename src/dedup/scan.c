/*-------------------------------------------------------------------------
 *
 * scan.c
 *	  Looking into the claims and the chunks by their indexes, without SPI.
 *
 * To look for an id is most of what a claim does, and all that a duplicate
 * does.  By SPI it would cost more than the rest of the claim; here it is two
 * descents of a btree.  To look for a chunk is half of what an add does.  It
 * reads what a statement would, on the same conditions: whoever may not read
 * the tables as a whole, or not all rows of them, or has other tables and
 * indexes than those that roaring64_dedup_create makes, is sent to statements.
 *
 * src/dedup/scan.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

#include "dedup/dedup.h"
#include "state/statement.h"

/* Whether column n of an index (from 0) is this one, in ascending order. */
static bool
index_has(Relation table, Relation index, int n, const char *column, Oid type)
{
	return index->rd_index->indkey.values[n] ==
		get_attnum(RelationGetRelid(table), column) &&
		index->rd_opcintype[n] == type && index->rd_indoption[n] == 0;
}

/* The table's primary key if it begins with those columns, or InvalidOid. */
static Oid
find_index(Oid relid, const char *number)
{
	Relation	table = table_open(relid, AccessShareLock);
	Oid			result = InvalidOid;
	List	   *indexes = RelationGetIndexList(table);

	/* a heap, and all of it: not one with partitions or children */
	if (table->rd_rel->relam == HEAP_TABLE_AM_OID &&
		!table->rd_rel->relhassubclass && indexes != NIL &&
		OidIsValid(table->rd_pkindex))
	{
		Relation	index = index_open(table->rd_pkindex, AccessShareLock);

		if (index->rd_rel->relam == BTREE_AM_OID &&
			index->rd_index->indisvalid &&
			index->rd_index->indnkeyatts >= 2 &&
			index_has(table, index, 0, "key", TEXTOID) &&
			index_has(table, index, 1, number, INT8OID))
			result = RelationGetRelid(index);
		index_close(index, NoLock);
	}
	list_free(indexes);
	table_close(table, NoLock);
	return result;
}

static bool
has_row_security(Oid relid)
{
	Relation	table = table_open(relid, AccessShareLock);
	bool		result = table->rd_rel->relrowsecurity;

	table_close(table, NoLock);
	return result;
}

/* What is to be known of a set's indexes; part of opening it. */
void
dedup_find_indexes(DedupSet *set)
{
	Oid			chunks = set->owner.tables[DEDUP_CHUNKS];

	set->claims_index = find_index(set->owner.tables[DEDUP_CLAIMS], "id");
	set->chunks_index = find_index(chunks, "chunk");
	set->generation = get_attnum(chunks, "generation");
	set->ids = get_attnum(chunks, "ids");
	set->members = get_attnum(chunks, "members");
	set->row_security = has_row_security(set->owner.tables[DEDUP_CLAIMS]) ||
		has_row_security(chunks);
}

/* Whether the user may read all of a table. */
static bool
may_read(const DedupSet *set, int table)
{
	Oid			relid = set->owner.tables[table];

	return pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) == ACLCHECK_OK &&
		(!set->row_security ||
		 check_enable_rls(relid, InvalidOid, true) != RLS_ENABLED);
}

/* Whether dedup_scan_chunk may be used by this user. */
bool
dedup_may_scan_chunks(const DedupSet *set)
{
	return OidIsValid(set->chunks_index) && may_read(set, DEDUP_CHUNKS);
}

/* Whether dedup_scan may be used by this user. */
bool
dedup_may_scan(const DedupSet *set)
{
	return OidIsValid(set->claims_index) && may_read(set, DEDUP_CLAIMS) &&
		dedup_may_scan_chunks(set);
}

/*
 * Looks for rows with (key, number) by an index, until check is content with
 * one; a NULL check is content with any.
 */
static bool
scan(Oid relid, Oid indexid, Datum key, int64 number, const DedupSet *set,
	 bool (*check) (const DedupSet *, TupleTableSlot *, void *), void *arg)
{
	/* whoever knows the set has locked its tables */
	Relation	table = table_open(relid, NoLock);
	Relation	index = index_open(indexid, AccessShareLock);
	TupleTableSlot *slot = table_slot_create(table, NULL);
	ScanKeyData keys[2];
	IndexScanDesc desc;
	bool		found = false;

	ScanKeyEntryInitialize(&keys[0], 0, 1, BTEqualStrategyNumber, InvalidOid,
						   index->rd_indcollation[0], F_TEXTEQ, key);
	ScanKeyEntryInitialize(&keys[1], 0, 2, BTEqualStrategyNumber, InvalidOid,
						   InvalidOid, F_INT8EQ, Int64GetDatum(number));
	desc = roaring64_index_beginscan(table, index, GetActiveSnapshot(), 2);
	index_rescan(desc, keys, 2, NULL, 0);
	while (!found && index_getnext_slot(desc, ForwardScanDirection, slot))
		found = check == NULL || check(set, slot, arg);
	index_endscan(desc);
	ExecDropSingleTupleTableSlot(slot);
	index_close(index, NoLock);
	table_close(table, NoLock);
	return found;
}

/* Whether a chunk has a place. */
static bool
chunk_has(const DedupSet *set, TupleTableSlot *slot, void *arg)
{
	int64		place = *(int64 *) arg;
	bool		isnull;
	Datum		members = slot_getattr(slot, set->members, &isnull);
	ToastSource source;
	struct varlena *flat;
	r64_set		s;
	bool		result;

	/* somebody has put it there by hand, and it says nothing */
	if (isnull)
		return false;
	if (TupleDescAttr(slot->tts_tupleDescriptor,
					  set->members - 1)->atttypid != set->type)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("chunks of dedup set \"%s\" have been changed meanwhile",
						get_rel_name(set->owner.relid))));
	if (roaring64_toast_source(members, &source))
		return r64_source_contains(&source.source, place);
	flat = PG_DETOAST_DATUM_PACKED(members);
	s = roaring64_view(flat);
	result = r64_contains(&s, place);
	if (flat != (struct varlena *) DatumGetPointer(members))
		pfree(flat);
	return result;
}

/*
 * Whether an id is in the claims, if it should be looked for there, or in the
 * chunks, as of the active snapshot.
 */
bool
dedup_scan(const DedupSet *set, Datum key, int64 id, int64 place, bool claims)
{
	if (claims && scan(set->owner.tables[DEDUP_CLAIMS], set->claims_index,
					   key, id, set, NULL, NULL))
		return true;
	return scan(set->owner.tables[DEDUP_CHUNKS], set->chunks_index, key,
				dedup_chunk(set, place), set, chunk_has, &place);
}

/* Reads a chunk if it is of the generation that is asked for. */
static bool
read_chunk(const DedupSet *set, TupleTableSlot *slot, void *arg)
{
	DedupChunk *chunk = arg;
	bool		isnull;
	Datum		members;

	if (DatumGetInt64(state_slot_value(slot, set->generation, INT8OID)) !=
		chunk->generation)
		return false;
	chunk->ids = DatumGetInt64(state_slot_value(slot, set->ids, INT8OID));
	members = state_slot_value(slot, set->members, set->type);
	chunk->members = roaring64_view(PG_DETOAST_DATUM_COPY(members));
	chunk->row = slot->tts_tid;
	chunk->xmin = DatumGetTransactionId(slot_getsysattr(slot,
														MinTransactionIdAttributeNumber,
														&isnull));
	return true;
}

/*
 * Reads the chunk of a generation, which are set, as of the active snapshot,
 * into the current memory context; false if there is none.
 */
bool
dedup_scan_chunk(const DedupSet *set, Datum key, DedupChunk *chunk)
{
	return scan(set->owner.tables[DEDUP_CHUNKS], set->chunks_index, key,
				chunk->number, set, read_chunk, chunk);
}
