/*-------------------------------------------------------------------------
 *
 * rows.c
 *	  The rows of claims, and of chunks, that a key and an array have.
 *
 * A change of one id looks at a row or two, which takes the executor several
 * times as long to begin as to find.  So where it would only read a plain table by
 * its primary key, for a user who may, that is done here, so no plan can choose
 * another way.  All else is a statement's.
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

/*
 * Whether a table has the columns that are wanted, which are noted, and its primary
 * key finds all rows that a key and an id, or a chunk's number, have.
 */
static bool
is_plain(const DedupSet *set, Relation table, bool claims, DedupRows *rows)
{
	AttrNumber	key = find_column(table, "key", TEXTOID);
	const int16 *columns;

	rows->columns[0] = claims ? find_column(table, "id", set->id) :
		find_column(table, "chunk", INT8OID);
	rows->columns[1] = claims ? find_column(table, "present", BOOLOID) :
		find_column(table, "ids", set->members);
	if (table->rd_rel->relkind != RELKIND_RELATION ||
		table->rd_rel->relrowsecurity ||
		(!RelationIsPermanent(table) && RecoveryInProgress()) ||
		key == InvalidAttrNumber ||
		rows->columns[0] == InvalidAttrNumber ||
		rows->columns[1] == InvalidAttrNumber)
		return false;
	if (!table->rd_indexvalid)
		list_free(RelationGetIndexList(table));
	if (!OidIsValid(table->rd_pkindex))
		return false;
	rows->index = index_open(table->rd_pkindex, AccessShareLock);
	columns = rows->index->rd_index->indkey.values;
	/* it could lack rows that are there for a snapshot older than it */
	if (rows->index->rd_rel->relam == BTREE_AM_OID &&
		!rows->index->rd_index->indcheckxmin &&
		rows->index->rd_index->indnkeyatts >= 2 && columns[0] == key &&
		columns[1] == rows->columns[0])
		return true;
	index_close(rows->index, NoLock);
	return false;
}

/*
 * Opens a table to be read by its primary key, or returns NULL: also if it has been
 * changed while its lock was waited for, as Citus may have distributed it.
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
 * Begins to read the rows that a key and the elements of an array have, with a
 * snapshot that is registered.  For the table of claims elements are ids, for that of
 * chunks numbers that ascend: those of chunks of bigints, or for chunks of UUIDs
 * numbers in their ranges.  Without locks, no predicate locks are taken in SERIALIZABLE,
 * except by a statement.
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
	rows->left = ArrayGetNItems(ARR_NDIM(elements), ARR_DIMS(elements));
	ScanKeyEntryInitialize(&rows->keys[0], 0, 1, BTEqualStrategyNumber,
						   InvalidOid, rows->index->rd_indcollation[0], F_TEXTEQ,
						   key);
	ScanKeyInit(&rows->keys[1], 2, rows->floors ? BTLessEqualStrategyNumber :
				BTEqualStrategyNumber, rows->floors ? F_INT8LE :
				rows->uuids ? F_UUID_EQ : F_INT8EQ, (Datum) 0);
	rows->slot = table_slot_create(rows->table, NULL);
	rows->snapshot = locks ? NULL : snapshot;
	rows->scan = roaring64_index_beginscan(rows->table, rows->index,
										   locks ? snapshot : SnapshotAny, 2);
	rows->begun = rows->any = false;
}

/*
 * Whether the row that was found, going down from an element, is of the chunk that
 * has the element in its range, and was not read for the element before.
 */
static bool
is_of_floor(DedupRows *rows)
{
	bool		isnull;
	int64		chunk = DatumGetInt64(slot_getattr(rows->slot, rows->columns[0], &isnull));
	bool		known = rows->any && chunk == rows->chunk;

	if (known == rows->first)
		return false;
	if (!known)
		rows->known = chunk;
	rows->first = false;
	rows->any = true;
	rows->chunk = chunk;
	return true;
}

/* Goes to the next row in the table; returns false if there is none. */
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
		if (rows->left == 0)
			return false;
		rows->left--;
		rows->keys[1].sk_argument = rows->uuids ? PointerGetDatum(rows->next) :
			Int64GetDatum(*(const int64 *) rows->next);
		rows->next += rows->uuids ? UUID_LEN : sizeof(int64);
		if (rows->floors && rows->any &&
			DatumGetInt64(rows->keys[1].sk_argument) <= rows->known)
			continue;
		rows->begun = rows->first = true;
		index_rescan(rows->scan, rows->keys, 2, NULL, 0);
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
	if (rows->table == NULL ? rows->left == 0 : !next_in_table(rows))
		return false;
	for (int i = 0; i < 2; i++)
	{
		if (rows->table != NULL)
			values[i] = slot_getattr(rows->slot, rows->columns[i], &nulls[i]);
		else
			values[i] = SPI_getbinval(rows->found->vals[rows->found->numvals - rows->left],
									  rows->found->tupdesc, i + 1, &nulls[i]);
	}
	if (nulls[0] || nulls[1])
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("tables of a dedup set must not contain nulls")));
	rows->left -= rows->table == NULL;
	return true;
}

/* Ends what dedup_find() or dedup_run() has begun. */
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
