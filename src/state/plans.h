/*-------------------------------------------------------------------------
 *
 * plans.h
 *	  Prepared statements on the tables in which a helper keeps its state.
 *
 * A helper's state is a few tables of the user's, found by the OID of one of
 * them, the owner.  What a session learns about an owner (its options, the
 * OIDs and names of its tables) and the statements it has prepared for it are
 * kept for the rest of the session, so that a call parses and plans nothing.
 *
 * They are thrown away, and made anew by the next call, when any of the
 * tables is altered, renamed or dropped, when a schema is, and when the
 * helper says that the options have changed (state_changed).
 *
 * src/state/plans.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ROARING64_PLANS_H
#define ROARING64_PLANS_H

#include "postgres.h"

#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "tcop/dest.h"

#define STATE_MAX_TABLES 4
#define STATE_MAX_PLANS 32
#define STATE_MAX_ARGS	8

struct StateOwner;

/*
 * A kind of owner.
 *
 * resolve learns about owner->tables[0], which the caller has named: checks
 * that it is of this kind (ereport if not), fills what the helper has behind
 * the StateOwner, and sets the other tables and ntables.  SPI is connected.
 * What is kept by pointer is allocated in owner->context.
 *
 * statement writes the text of a statement, in which tables are named by
 * state_table_name, and the types of its parameters; returns how many.
 *
 * reads_all tells of a statement that is to read a whole table.  All others
 * find their rows by an index, also when the table was empty when they were
 * planned, and is not any more; NULL for none.
 */
typedef struct StateKind
{
	Size		size;			/* of a struct that begins with a StateOwner */
	void		(*resolve) (struct StateOwner *owner);
	int			(*statement) (struct StateOwner *owner, int n,
							  StringInfo text, Oid *types);
	bool		(*reads_all) (int n);
} StateKind;

typedef struct StateOwner
{
	Oid			relid;			/* of the owner: tables[0] */
	const StateKind *kind;
	bool		complete;		/* resolve has ended well */
	bool		stale;			/* something has changed since it began */
	MemoryContext context;		/* of all that is kept */
	int			ntables;
	Oid			tables[STATE_MAX_TABLES];
	SPIPlanPtr	plans[STATE_MAX_PLANS];
	struct StateOwner *next;	/* in the list of those to be freed */
} StateOwner;

/*
 * plans.c: what is known of an owner, with its tables locked against being
 * altered or dropped until the end of the transaction.  Good until then: look
 * it up again after a commit.  The caller is connected to SPI.
 */
extern StateOwner *state_owner(const StateKind *kind, Oid relid);

/*
 * The same if the session knows the owner already; else NULL.  Needs no SPI,
 * and nor does what calls it if it runs no statement.
 */
extern StateOwner *state_known_owner(const StateKind *kind, Oid relid);

/* The quoted and qualified name of one of its tables, palloc'd. */
extern const char *state_table_name(StateOwner *owner, int table);

/* Statement n of the owner, prepared and planned on first use. */
extern SPIPlanPtr state_plan(StateOwner *owner, int n);

/*
 * Runs statement n with parameters, which must end as "expected" says, and
 * returns SPI_processed.  It reads what was committed before it started, and
 * in a transaction of REPEATABLE READ or SERIALIZABLE what was committed
 * before that.  nulls may be NULL.  Like the next two, it leaves the current
 * memory context as it was, which SPI by itself does not.
 */
extern uint64 state_run(StateOwner *owner, int n, int expected,
						Datum *values, const char *nulls);

/*
 * The same for a statement whose parameters are not NULL and whose rows go to
 * a receiver, one by one.
 */
extern uint64 state_run_to(StateOwner *owner, int n, int expected,
						   Datum *values, DestReceiver *dest);

/*
 * Runs a SELECT, statement n, which reads what has been committed by now
 * whatever the isolation level, and what this transaction has done.  Rows
 * must not be locked by it.  limit is the most rows to return, 0 for all.
 */
extern uint64 state_read_latest(StateOwner *owner, int n, Datum *values,
								long limit);

/*
 * Runs a SELECT, statement n, with the snapshot of the statement that calls
 * the function: what functions do that are STABLE and may run on a standby.
 */
extern uint64 state_read(StateOwner *owner, int n, Datum *values,
						 const char *nulls);

/*
 * Tells all sessions, when this transaction commits, that what they know of
 * the owner is no longer right.
 */
extern void state_changed(Oid relid);

#endif							/* ROARING64_PLANS_H */
