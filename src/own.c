/*-------------------------------------------------------------------------
 *
 * own.c
 *	  Whose the things are that a rollup's triggers name.
 *
 * The triggers run as the owner of the rollup and name its parts by text.  What
 * is attached to another one's table or type, such as a trigger, a default or a
 * cast, would run as that role, too.  So they ask this before anything else.
 *
 * src/own.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

/* Raises an error if the owner of what has that name is not current_user. */
static void
check_owner(Oid owner, Oid namespace, const char *name)
{
	if (owner == GetUserId())
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("%s does not belong to %s, which has a rollup that uses it",
					quote_qualified_identifier(get_namespace_name(namespace),
											   name),
					quote_identifier(GetUserNameFromId(GetUserId(), false))),
			 errdetail("What its owner attached to it would run as that role."),
			 errhint("Give all of the rollup one owner, or call roaring64_rollup_drop.")));
}

static void
check_table(Oid table)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(table));
	Form_pg_class form;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", table);
	form = (Form_pg_class) GETSTRUCT(tuple);
	check_owner(form->relowner, form->relnamespace, NameStr(form->relname));
	ReleaseSysCache(tuple);
}

/* Sets a name, faster than psprintf: too long ones are cut, so there are none. */
static char *
join(Name name, const char *target, const char *suffix)
{
	strlcpy(NameStr(*name), target, NAMEDATALEN);
	strlcat(NameStr(*name), suffix, NAMEDATALEN);
	return NameStr(*name);
}

/* The function of facts of a row, and the type of the row. */
static void
check_facts(const char *schema, const char *target)
{
	Oid			namespace = get_namespace_oid(schema, false);
	NameData	names[2];
	char	   *row = join(&names[0], target, "_row");
	char	   *facts = join(&names[1], target, "_facts");
	HeapTuple	type;
	HeapTuple	function;
	Form_pg_type form;

	type = SearchSysCache2(TYPENAMENSP, CStringGetDatum(row),
						   ObjectIdGetDatum(namespace));
	if (!HeapTupleIsValid(type))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("type \"%s.%s\" does not exist", schema, row)));
	form = (Form_pg_type) GETSTRUCT(type);
	check_owner(form->typowner, namespace, row);
	function = SearchSysCache3(PROCNAMEARGSNSP, CStringGetDatum(facts),
							   PointerGetDatum(buildoidvector(&form->oid, 1)),
							   ObjectIdGetDatum(namespace));
	if (!HeapTupleIsValid(function))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("function %s.%s(%s) does not exist", schema, facts, row)));
	check_owner(((Form_pg_proc) GETSTRUCT(function))->proowner, namespace,
				facts);
	ReleaseSysCache(function);
	ReleaseSysCache(type);
}

static void
check_found(const RangeVar *relation, Oid table, Oid found_before, void *arg)
{
	if (OidIsValid(table))
		check_table(table);
}

/*
 * Raises an error if there is a relation that would be read in place of a trigger's
 * transition table, where the trigger has none.
 */
static void
check_not_found(const char *name)
{
	if (OidIsValid(RelnameGetRelid(name)))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("relation \"%s\" has the name of a transition table of a rollup's triggers",
						name),
				 errhint("Rename it.")));
}

/*
 * _roaring64_own(fired regclass, whole text, schema name, target name, suffixes
 * text[]) returns boolean.  Raises an error unless current_user owns the table
 * whose trigger fired, the whole one of which that is a part, if one is given,
 * and what the triggers read and write: the function of facts, and the tables of
 * the target's name with one of the suffixes.  These are locked, so that none is
 * renamed before the transaction ends; a schema can be, and the whole table.
 * Returns false if there is no table of the name "whole".
 */
PG_FUNCTION_INFO_V1(roaring64_own);
Datum
roaring64_own(PG_FUNCTION_ARGS)
{
	Datum	   *suffixes;
	int			n;
	RangeVar   *whole;
	Oid			table;

	for (int i = 0; i < PG_NARGS(); i++)
	{
		if (i != 1 && PG_ARGISNULL(i))
			ereport(ERROR,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("argument %d must not be null", i + 1)));
	}
	/* the statements that follow will see what has changed */
	AcceptInvalidationMessages();
	check_table(PG_GETARG_OID(0));
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(4), TEXTOID, -1, false,
					  TYPALIGN_INT, &suffixes, NULL, &n);
	for (int i = 0; i < n; i++)
	{
		NameData	name;

		join(&name, NameStr(*PG_GETARG_NAME(3)),
			 TextDatumGetCString(suffixes[i]));
		RangeVarGetRelidExtended(makeRangeVar(NameStr(*PG_GETARG_NAME(2)),
											  NameStr(name), -1),
								 AccessShareLock, 0, check_found, NULL);
	}
	check_facts(NameStr(*PG_GETARG_NAME(2)), NameStr(*PG_GETARG_NAME(3)));
	if (PG_ARGISNULL(1))
	{
		/* these triggers are for statements, and read transition tables */
		check_not_found("roaring64_new");
		check_not_found("roaring64_old");
		PG_RETURN_BOOL(true);
	}
	whole = makeRangeVarFromNameList(textToQualifiedNameList(PG_GETARG_TEXT_PP(1)));
	table = RangeVarGetRelid(whole, NoLock, true);
	if (OidIsValid(table))
		check_table(table);
	PG_RETURN_BOOL(OidIsValid(table));
}
