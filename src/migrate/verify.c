/*-------------------------------------------------------------------------
 *
 * verify.c
 *	  Whether the target of a migration has what the source has.
 *
 * One statement with one snapshot: a transaction that changes the source
 * changes the target too, so the comparison holds while others write.  Both
 * sides come in the order of their keys, so memory is bounded.
 *
 * src/migrate/verify.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/tuplestore.h"

#include "migrate.h"

/* Rows fetched at a time. */
#define FETCH_ROWS	100

static const char *const comparison =
	"SELECT pg_catalog.jsonb_build_object([k:{'k}::pg_catalog.text, "
	"COALESCE(f.{k}, t.{k})~, ]), v.name, v.missing, v.surplus FROM "
	"(SELECT [k:f.{k}~, ], [s:{agg} AS {s}~, ] FROM {facts} AS f "
	"GROUP BY [k:f.{k}~, ]) AS f FULL "
	"JOIN {target} AS t ON [k:f.{k} {=} t.{k}~ AND ] CROSS JOIN "
	"LATERAL (VALUES [s:({'s}::pg_catalog.name, COALESCE(f.{s}, '{}') {x-} "
	"COALESCE(t.{s}, '{}'), COALESCE(t.{s}, '{}') {x-} COALESCE(f.{s}, "
	"'{}'))~, ]) AS v (name, missing, surplus) "
	"WHERE NOT ({x}roaring64_is_empty(v.missing) "
	"AND {x}roaring64_is_empty(v.surplus))";

/* Makes the caller expect all rows at once, and gives where to put them. */
static Tuplestorestate *
begin_rows(FunctionCallInfo fcinfo)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	MemoryContext oldcontext;
	TupleDesc	desc;

	if (result == NULL || !IsA(result, ReturnSetInfo) ||
		!(result->allowedModes & SFRM_Materialize))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("materialize mode required, but it is not allowed in this context")));
	oldcontext = MemoryContextSwitchTo(result->econtext->ecxt_per_query_memory);
	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	result->returnMode = SFRM_Materialize;
	result->setDesc = desc;
	result->setResult = tuplestore_begin_heap(true, false, work_mem);
	MemoryContextSwitchTo(oldcontext);
	return result->setResult;
}

/*
 * Operators in the schema of the extension may be somebody else's, and what
 * they give is read as what we have declared to return.
 */
static void
check_columns(TupleDesc desc, TupleDesc expected)
{
	for (int i = 0; i < expected->natts; i++)
		if (TupleDescAttr(desc, i)->atttypid !=
			TupleDescAttr(expected, i)->atttypid)
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("differences are of type %s, not %s",
							format_type_be(TupleDescAttr(desc, i)->atttypid),
							format_type_be(TupleDescAttr(expected, i)->atttypid))));
}

/* Puts the differences there. */
static void
compare(const Migration *m, Tuplestorestate *rows, TupleDesc desc)
{
	int			level = NewGUCNestLevel();
	char		memory[32];
	const char *settings[] = {"enable_hashagg", "off", "enable_hashjoin",
	"off", "jit", "off", "work_mem", memory};
	Portal		portal;

	snprintf(memory, sizeof(memory), "%dkB", maintenance_work_mem);
	for (int i = 0; i < lengthof(settings); i += 2)
		(void) set_config_option(settings[i], settings[i + 1], PGC_USERSET,
								 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
								 false);
	portal = SPI_cursor_open_with_args(NULL, migration_sql(m, comparison), 0,
									   NULL, NULL, NULL, false,
									   CURSOR_OPT_NO_SCROLL);
	do
	{
		SPI_cursor_fetch(portal, true, FETCH_ROWS);
		check_columns(SPI_tuptable->tupdesc, desc);
		for (uint64 i = 0; i < SPI_processed; i++)
			tuplestore_puttuple(rows, SPI_tuptable->vals[i]);
		SPI_freetuptable(SPI_tuptable);
	} while (SPI_processed > 0);
	SPI_cursor_close(portal);
	AtEOXact_GUC(true, level);
}

/*
 * roaring64_migrate_verify(target regclass) returns rows (key jsonb,
 * set_name name, missing roaring64, surplus roaring64): a row for every set
 * that differs from what the source says; none if all is right.
 */
PG_FUNCTION_INFO_V1(roaring64_migrate_verify);
Datum
roaring64_migrate_verify(PG_FUNCTION_ARGS)
{
	Oid			target = PG_GETARG_OID(0);
	Tuplestorestate *rows = begin_rows(fcinfo);
	Migration  *m;

	SPI_connect();
	m = migration_load_target(fcinfo, target, false);
	if (!OidIsValid(m->source))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("the source of the migration to \"%s\" does not exist any more",
						m->target_name)));
	if (strcmp(m->state, "copied") != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the migration to \"%s\" is in state \"%s\", in which there is nothing to compare",
						m->target_name, m->state),
				 errhint("Compare after CALL roaring64_migrate and before CALL roaring64_migrate_finish.")));
	compare(m, rows, ((ReturnSetInfo *) fcinfo->resultinfo)->setDesc);
	SPI_finish();
	return (Datum) 0;
}
