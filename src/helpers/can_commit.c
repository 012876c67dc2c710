/*-------------------------------------------------------------------------
 *
 * can_commit.c
 *	  Refuses to run a procedure that cannot commit, which SQL cannot find out.  All
 *	  else of the helpers is SQL (sql/parts, sql/tables).
 *
 * src/helpers/can_commit.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/spi.h"
#include "fmgr.h"
#include "utils/builtins.h"

/*
 * _roaring64_can_commit(procedure text) returns void.  Raises an error if the
 * procedure of that name, which calls this, cannot COMMIT, as it was called in
 * a transaction block or by a function.
 */
PG_FUNCTION_INFO_V1(roaring64_can_commit);
Datum
roaring64_can_commit(PG_FUNCTION_ARGS)
{
	if (!SPI_inside_nonatomic_context())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_TERMINATION),
				 errmsg("%s cannot be called in a transaction block or by a function",
						text_to_cstring(PG_GETARG_TEXT_PP(0))),
				 errdetail("It commits after each part of its work."),
				 errhint("Call it by itself, from a session in autocommit mode.")));
	PG_RETURN_VOID();
}
