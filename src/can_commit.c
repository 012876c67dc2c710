/*-------------------------------------------------------------------------
 *
 * can_commit.c
 *	  Whether a procedure can commit, which it cannot find out in SQL.
 *
 * src/can_commit.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/spi.h"
#include "fmgr.h"

/*
 * _roaring64_can_commit() returns boolean: whether the procedure that calls this
 * may COMMIT; not if it was called in a transaction block or by a function.
 */
PG_FUNCTION_INFO_V1(roaring64_can_commit);
Datum
roaring64_can_commit(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(SPI_inside_nonatomic_context());
}
