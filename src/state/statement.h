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

#include "access/htup.h"
#include "access/tupdesc.h"
#include "executor/tuptable.h"
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
 * A table of a helper is found by what it looks like, and anybody can make
 * one, or change one.  Whatever is read from it as a Datum must be of the type
 * that it is read as, or it would be taken for a pointer; so a helper checks
 * the columns of its tables before it uses them, and reads them with
 * state_value.
 */
typedef struct StateColumn
{
	const char *name;
	Oid			type;			/* InvalidOid for roaring64 */
} StateColumn;

/* Whether a relation is a table, partitioned or not, with these columns. */
extern bool state_has_columns(Oid relid, const StateColumn *columns, int n);

/*
 * Column n, from 1, of a row that SPI has read.  Reports
 * ERRCODE_DATA_CORRUPTED if it is NULL, or no longer of this type: a trigger
 * of the table can change that while a helper is at work.
 */
extern Datum state_value(HeapTuple row, TupleDesc desc, int n, Oid type);

/* The same of a row that a receiver of ours is given. */
extern Datum state_slot_value(TupleTableSlot *slot, int n, Oid type);

/*
 * Runs one statement, which must end as the SPI code "expected" says (such as
 * SPI_OK_INSERT), and returns SPI_processed; rows are in SPI_tuptable.  The
 * caller is connected to SPI.  Parameters are given as SPI_execute_with_args
 * wants them, nulls may be NULL.
 */
extern uint64 state_execute(const char *statement, int expected, int nargs,
							Oid *types, Datum *values, const char *nulls);

#endif							/* ROARING64_STATEMENT_H */
