/*-------------------------------------------------------------------------
 *
 * statement.c
 *	  Statements of our own on the user's tables.
 *
 * src/state/statement.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "state/statement.h"
#include "type/roaring64.h"

const char *
state_schema(FunctionCallInfo fcinfo)
{
	Oid			funcid = fcinfo->flinfo->fn_oid;
	char	   *schema = get_namespace_name(get_func_namespace(funcid));

	/* The function is being called, but others may drop it meanwhile. */
	if (schema == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("function with OID %u does not exist", funcid)));
	return quote_identifier(schema);
}

const char *
state_relation(Oid relid)
{
	char	   *name = get_rel_name(relid);
	char	   *schema = get_namespace_name(get_rel_namespace(relid));

	if (name == NULL || schema == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
	return quote_qualified_identifier(schema, name);
}

bool
state_has_columns(Oid relid, const StateColumn *columns, int n)
{
	char		kind = get_rel_relkind(relid);

	if (kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE)
		return false;
	for (int i = 0; i < n; i++)
	{
		AttrNumber	attno = get_attnum(relid, columns[i].name);
		Oid			type;

		if (attno <= 0)
			return false;
		type = get_atttype(relid, attno);
		if (OidIsValid(columns[i].type) ? type != columns[i].type :
			!roaring64_is_type(type))
			return false;
	}
	return true;
}

/* Reports a value that is not what its column was made for. */
static void
check_value(TupleDesc desc, int n, bool isnull, Oid type)
{
	Form_pg_attribute column = TupleDescAttr(desc, n - 1);

	if (isnull || column->atttypid != type)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("unexpected %s in column \"%s\"",
						isnull ? "null" : format_type_be(column->atttypid),
						NameStr(column->attname)),
				 errdetail("The table has been changed since it was made.")));
}

Datum
state_value(HeapTuple row, TupleDesc desc, int n, Oid type)
{
	bool		isnull;
	Datum		value = SPI_getbinval(row, desc, n, &isnull);

	check_value(desc, n, isnull, type);
	return value;
}

Datum
state_slot_value(TupleTableSlot *slot, int n, Oid type)
{
	bool		isnull;
	Datum		value = slot_getattr(slot, n, &isnull);

	check_value(slot->tts_tupleDescriptor, n, isnull, type);
	return value;
}

uint64
state_execute(const char *statement, int expected, int nargs,
			  Oid *types, Datum *values, const char *nulls)
{
	int			code = SPI_execute_with_args(statement, nargs, types, values,
											 nulls, false, 0);

	/* An error in the statement has been thrown; this is a wrong call. */
	if (code != expected)
		elog(ERROR, "SPI returned %s for: %s",
			 SPI_result_code_string(code), statement);
	return SPI_processed;
}
