/*-------------------------------------------------------------------------
 *
 * rows.c
 *	  Reads the rows of claims, or of chunks, for a key and an array of ids.
 *
 * A change of one id reads a row or two, which takes the executor several times as
 * long to start as to find.  So a plain table is read here by its primary key, if the
 * user may read it, and no plan can choose another way.  Other tables are read by a
 * statement (statements.c), and all are written by one.
 *
 * src/dedup/rows.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/stratnum.h"
#include "access/tableam.h"
#include "access/xlog.h"
#include "catalog/pg_am.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "dedup/dedup.h"

/* The number of a column of a name and a type, or 0. */
static AttrNumber
find_column(Relation table, const char *name, Oid type)
{
	TupleDesc	desc = RelationGetDescr(table);

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(desc, i);

		if (column->atttypid == type && strcmp(NameStr(column->attname), name) == 0)
			return column->attnum;
	}
	return InvalidAttrNumber;
}

/* Opens a table's primary key; NULL unless it is a btree that begins with "key". */
static Relation
open_key(Relation table)
{
	AttrNumber	key = find_column(table, "key", TEXTOID);
	Relation	index;

	if (table->rd_rel->relkind != RELKIND_RELATION || key == InvalidAttrNumber)
		return NULL;
	if (!table->rd_indexvalid)
		list_free(RelationGetIndexList(table));
	if (!OidIsValid(table->rd_pkindex))
		return NULL;
	index = index_open(table->rd_pkindex, AccessShareLock);
	if (index->rd_rel->relam == BTREE_AM_OID &&
		index->rd_index->indkey.values[0] == key)
		return index;
	index_close(index, NoLock);
	return NULL;
}

/* Whether the index finds a row of the key that is not committed yet. */
static bool
is_being_inserted(Relation table, Relation index, Datum key)
{
	TupleTableSlot *slot = table_slot_create(table, NULL);
	SnapshotData snapshot;
	ScanKeyData scankey;
	IndexScanDesc scan;
	bool		found = false;

	InitDirtySnapshot(snapshot);
	ScanKeyEntryInitialize(&scankey, 0, 1, BTEqualStrategyNumber, InvalidOid,
						   index->rd_indcollation[0], F_TEXTEQ, key);
	scan = roaring64_index_beginscan(table, index, &snapshot, 1);
	index_rescan(scan, &scankey, 1, NULL, 0);
	while (!found && index_getnext_slot(scan, ForwardScanDirection, slot))
		found = TransactionIdIsValid(snapshot.xmin);
	index_endscan(scan);
	ExecDropSingleTupleTableSlot(slot);
	return found;
}

/*
 * Whether a table has the columns wanted, which are noted, and a primary key that
 * finds all rows of a key and an id, or a chunk's number.
 */
static bool
is_plain(const DedupSet *set, Relation table, bool claims, DedupRows *rows)
{
	rows->columns[0] = claims ? find_column(table, "id", set->id) :
		find_column(table, "chunk", INT8OID);
	rows->columns[1] = claims ? find_column(table, "present", BOOLOID) :
		find_column(table, "ids", set->members);
	if (table->rd_rel->relrowsecurity ||
		(!RelationIsPermanent(table) && RecoveryInProgress()) ||
		rows->columns[0] == InvalidAttrNumber ||
		rows->columns[1] == InvalidAttrNumber)
		return false;
	rows->index = open_key(table);
	if (rows->index == NULL)
		return false;
	/* it could lack rows that are there for a snapshot older than it */
	if (!rows->index->rd_index->indcheckxmin &&
		rows->index->rd_index->indnkeyatts >= 2 &&
		rows->index->rd_index->indkey.values[1] == rows->columns[0])
		return true;
	index_close(rows->index, NoLock);
	return false;
}

/*
 * roaring64_dedup_inserting(windows regclass, key text) returns boolean: whether
 * another transaction has inserted the row of a key and has not ended, so that an
 * insertion of the same key would wait.  False if the table is not one of windows.
 */
PG_FUNCTION_INFO_V1(roaring64_dedup_inserting);
Datum
roaring64_dedup_inserting(PG_FUNCTION_ARGS)
{
	Oid			relid = PG_GETARG_OID(0);
	AclResult	allowed = pg_class_aclcheck(relid, GetUserId(), ACL_SELECT);
	bool		found = false;
	Relation	table;
	Relation	index;

	if (allowed != ACLCHECK_OK)
		aclcheck_error(allowed, OBJECT_TABLE, get_rel_name(relid));
	table = relation_open(relid, AccessShareLock);
	index = open_key(table);
	if (index != NULL)
	{
		found = is_being_inserted(table, index, PG_GETARG_DATUM(1));
		index_close(index, NoLock);
	}
	relation_close(table, NoLock);
	PG_RETURN_BOOL(found);
}

/*
 * Opens a table to be read by its primary key, if that is possible; else returns
 * NULL, also if the table was changed while we waited for its lock, as Citus may have
 * distributed it.
 */
static Relation
open_plain(const DedupSet *set, int table, DedupRows *rows)
{
	Oid			relid = set->tables[table];
	bool		missing = false;
	Relation	relation;

	if (set->distributed ||
		pg_class_aclcheck_ext(relid, GetUserId(), ACL_SELECT,
							  &missing) != ACLCHECK_OK)
		return NULL;
	relation = try_relation_open(relid, AccessShareLock);
	if (relation != NULL &&
		(set->changed || !is_plain(set, relation, table == DEDUP_CLAIMS, rows)))
	{
		relation_close(relation, NoLock);
		relation = NULL;
	}
	return relation;
}

/*
 * Begins to read the rows for a key and the elements of an array, with a registered
 * snapshot.  In the table of claims elements are ids; in that of chunks they are
 * ascending numbers: those of chunks of bigints, or numbers in the ranges of chunks
 * of UUIDs.  Without locks, no predicate locks are taken in SERIALIZABLE, except by
 * a statement.
 */
void
dedup_find(DedupSet *set, int table, Datum key, Datum array, Snapshot snapshot,
		   bool locks, DedupRows *rows)
{
	ArrayType  *elements = DatumGetArrayTypeP(array);
	Datum		values[2] = {key, array};

	rows->floors = table == DEDUP_CHUNKS && set->id == UUIDOID;
	rows->known = PG_INT64_MIN;
	rows->table = open_plain(set, table, rows);
	if (rows->table == NULL)
	{
		dedup_run(set, table == DEDUP_CLAIMS ? DEDUP_LOOK_ROWS :
				  rows->floors ? DEDUP_LOOK_FLOORS : DEDUP_LOOK_CHUNKS,
				  values, snapshot, rows);
		return;
	}
	rows->uuids = ARR_ELEMTYPE(elements) == UUIDOID;
	rows->next = ARR_DATA_PTR(elements);
	rows->remaining = ArrayGetNItems(ARR_NDIM(elements), ARR_DIMS(elements));
	ScanKeyEntryInitialize(&rows->keys[0], 0, 1, BTEqualStrategyNumber,
						   InvalidOid, rows->index->rd_indcollation[0], F_TEXTEQ,
						   key);
	ScanKeyInit(&rows->keys[1], 2, rows->floors ? BTLessEqualStrategyNumber :
				BTEqualStrategyNumber, rows->floors ? F_INT8LE :
				rows->uuids ? F_UUID_EQ : F_INT8EQ, (Datum) 0);
	ScanKeyInit(&rows->keys[2], 2, BTGreaterEqualStrategyNumber, F_INT8GE,
				Int64GetDatum(PG_INT64_MIN));
	rows->slot = table_slot_create(rows->table, NULL);
	rows->snapshot = locks ? NULL : snapshot;
	rows->scan = roaring64_index_beginscan(rows->table, rows->index,
										   locks ? snapshot : SnapshotAny,
										   rows->floors ? 3 : 2);
	rows->begun = false;
}

/* Whether the row found, descending from an element, is of the first chunk found. */
static bool
is_of_floor(DedupRows *rows)
{
	bool		isnull;
	int64		chunk = DatumGetInt64(slot_getattr(rows->slot, rows->columns[0], &isnull));

	if (!rows->found_one)
		rows->chunk = rows->known = chunk;
	rows->found_one = true;
	return chunk == rows->chunk;
}

/*
 * Begins to search for the next element.  For UUIDs, the chunk that has it in its
 * range is searched for from the element down to the one before: if no chunk starts
 * in between, it has been read for that one.
 */
static void
begin_element(DedupRows *rows)
{
	Datum		element = rows->uuids ? PointerGetDatum(rows->next) :
		Int64GetDatum(*(const int64 *) rows->next);

	rows->remaining--;
	rows->next += rows->uuids ? UUID_LEN : sizeof(int64);
	if (rows->floors && rows->known != PG_INT64_MIN &&
		DatumGetInt64(element) <= rows->known)
		return;
	rows->keys[1].sk_argument = element;
	index_rescan(rows->scan, rows->keys, rows->floors ? 3 : 2, NULL, 0);
	if (rows->floors && DatumGetInt64(element) != PG_INT64_MAX)
		rows->keys[2].sk_argument = Int64GetDatum(DatumGetInt64(element) + 1);
	rows->begun = true;
	rows->found_one = false;
}

/* Finds the next row in the table; returns false if there is none. */
static bool
next_in_table(DedupRows *rows)
{
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		if (rows->begun &&
			index_getnext_slot(rows->scan, rows->floors ? BackwardScanDirection :
							   ForwardScanDirection, rows->slot))
		{
			if (rows->snapshot != NULL &&
				!table_tuple_satisfies_snapshot(rows->table, rows->slot, rows->snapshot))
				continue;
			if (!rows->floors || is_of_floor(rows))
				return true;
		}
		rows->begun = false;
		if (rows->remaining == 0)
			return false;
		begin_element(rows);
	}
}

/*
 * Reads two columns of the next row, valid until the one after it is read.
 * Returns false at the end.
 */
bool
dedup_next(DedupRows *rows, Datum *values)
{
	bool		nulls[2];

	CHECK_FOR_INTERRUPTS();
	if (rows->table == NULL ? rows->remaining == 0 : !next_in_table(rows))
		return false;
	for (int i = 0; i < 2; i++)
	{
		if (rows->table != NULL)
			values[i] = slot_getattr(rows->slot, rows->columns[i], &nulls[i]);
		else
			values[i] = SPI_getbinval(rows->found->vals[rows->found->numvals - rows->remaining],
									  rows->found->tupdesc, i + 1, &nulls[i]);
	}
	if (nulls[0] || nulls[1])
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("tables of a dedup set must not contain nulls")));
	rows->remaining -= rows->table == NULL;
	return true;
}

/* Ends dedup_find() or dedup_run(). */
void
dedup_end(DedupRows *rows)
{
	if (rows->table == NULL)
	{
		SPI_finish();
		return;
	}
	index_endscan(rows->scan);
	ExecDropSingleTupleTableSlot(rows->slot);
	index_close(rows->index, NoLock);
	relation_close(rows->table, NoLock);
}
