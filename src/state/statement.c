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

#include "executor/spi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "state/statement.h"

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
