/*-------------------------------------------------------------------------
 *
 * statement.h
 *	  Statements of our own on the user's tables.
 *
 * The helpers keep their state in ordinary tables of the user's schema, and
 * read and write them by SQL through SPI: privileges, row security, triggers
 * and constraints hold as for anybody's statement.
 *
 * Whatever search_path the caller has, a statement must mean the same.  So a
 * table is named with its schema (state_relation), an object of the extension
 * with the schema it is installed in (state_schema), and what is built in
 * with pg_catalog, operators included.
 *
 * src/state/statement.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ROARING64_STATEMENT_H
#define ROARING64_STATEMENT_H

#include "postgres.h"

#include "fmgr.h"

/*
 * The quoted schema of the extension: that of the SQL function being called.
 * Palloc'd.
 */
extern const char *state_schema(FunctionCallInfo fcinfo);

/*
 * A table's quoted name with its schema, palloc'd.  Reports
 * ERRCODE_UNDEFINED_TABLE if there is none of that OID.
 */
extern const char *state_relation(Oid relid);

/*
 * Runs one statement, which must end as the SPI code "expected" says (such as
 * SPI_OK_INSERT), and returns SPI_processed; rows are in SPI_tuptable.  The
 * caller is connected to SPI.  Parameters are given as SPI_execute_with_args
 * wants them, nulls may be NULL.
 */
extern uint64 state_execute(const char *statement, int expected, int nargs,
							Oid *types, Datum *values, const char *nulls);

#endif							/* ROARING64_STATEMENT_H */
