/*-------------------------------------------------------------------------
 *
 * table.c
 *	  Tables of delayed messages: making them, and knowing them again.
 *
 * src/delay/table.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/tupdesc.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "nodes/primnodes.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/varlena.h"

#include "delay/delay.h"
#include "state/statement.h"

/*
 * Whether a constraint is the one that create gives a table, bucket =
 * roaring64_time_bucket(bucket, bits).  Sets the number of bits, and the
 * schema where the function is.
 */
static bool
is_bucket_width(const char *expression, DelayTable *delay)
{
	Node	   *node = stringToNode(expression);
	List	   *sides;
	FuncExpr   *call;
	FmgrInfo	function;
	Const	   *bits;

	if (!IsA(node, OpExpr) || get_opcode(((OpExpr *) node)->opno) != F_INT8EQ)
		return false;
	sides = ((OpExpr *) node)->args;
	if (list_length(sides) != 2 || !IsA(linitial(sides), Var) ||
		!IsA(lsecond(sides), FuncExpr))
		return false;

	call = lsecond(sides);
	fmgr_info(call->funcid, &function);
	if (function.fn_addr != roaring64_time_bucket ||
		!equal(linitial(sides), linitial(call->args)) ||
		!IsA(lsecond(call->args), Const))
		return false;

	bits = lsecond(call->args);
	delay->bits = DatumGetInt32(bits->constvalue);
	delay->extension = get_func_namespace(call->funcid);
	return !bits->constisnull;
}

static const StateColumn columns[] = {
	{"bucket", INT8OID}, {"ledger", INT8OID}, {"entries", InvalidOid}
};

/* As a StateKind has it. */
static void
resolve(StateOwner *owner)
{
	Relation	rel = try_relation_open(owner->relid, AccessShareLock);
	TupleConstr *constr;
	bool		found = false;

	if (rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist",
						owner->relid)));

	constr = RelationGetDescr(rel)->constr;
	for (int i = 0; constr != NULL && i < constr->num_check && !found; i++)
		found = is_bucket_width(constr->check[i].ccbin, (DelayTable *) owner);
	if (!found)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table of delayed messages",
						RelationGetRelationName(rel)),
				 errdetail("It has no constraint CHECK (bucket = roaring64_time_bucket(bucket, ...)), which says how wide the buckets are."),
				 errhint("Make a table with roaring64_delay_create.")));
	if (!state_has_columns(owner->relid, columns, lengthof(columns)))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table of delayed messages",
						RelationGetRelationName(rel)),
				 errdetail("It must have the columns bucket and ledger of type bigint, and entries of type roaring64."),
				 errhint("Make a table with roaring64_delay_create.")));
	((DelayTable *) owner)->type =
		get_atttype(owner->relid, get_attnum(owner->relid, "entries"));
	relation_close(rel, NoLock);
}

static const StateKind delay_kind = {
	.size = sizeof(DelayTable),
	.resolve = resolve,
	.statement = delay_statement
};

/* See delay.h. */
DelayTable *
delay_table(FunctionCallInfo fcinfo)
{
	Oid			relid = PG_GETARG_OID(0);
	StateOwner *owner = state_owner(&delay_kind, relid);

	/* The extension may have been moved, which plans.c does not hear of. */
	if (((DelayTable *) owner)->extension !=
		get_func_namespace(fcinfo->flinfo->fn_oid))
	{
		owner->stale = true;
		owner = state_owner(&delay_kind, relid);
	}
	return (DelayTable *) owner;
}

/* See delay.h. */
DelayTable *
delay_begin(FunctionCallInfo fcinfo, int64 due, Datum message[3])
{
	DelayTable *delay;

	SPI_connect();
	delay = delay_table(fcinfo);
	message[0] = Int64GetDatum(delay_bucket(delay, due));
	message[1] = PG_GETARG_DATUM(1);
	message[2] = PG_GETARG_DATUM(2);
	return delay;
}

/* Makes the table and returns its OID; the name is as in CREATE TABLE. */
static Oid
create_table(FunctionCallInfo fcinfo, text *name, int32 bits)
{
	const char *schema = state_schema(fcinfo);
	List	   *names = textToQualifiedNameList(name);
	RangeVar   *range = makeRangeVarFromNameList(names);
	Oid			namespace = RangeVarGetCreationNamespace(range);
	const char *table;

	/* an error if there cannot be such buckets */
	(void) roaring64_low_bits(bits);

	table = quote_qualified_identifier(get_namespace_name(namespace),
									   range->relname);
	SPI_connect();
	state_execute(psprintf("CREATE TABLE %s ("
						   "bucket pg_catalog.int8 NOT NULL,"
						   " ledger pg_catalog.int8 NOT NULL,"
						   " entries %s.roaring64 NOT NULL,"
						   " PRIMARY KEY (bucket, ledger),"
						   " CONSTRAINT bucket_width CHECK (bucket"
						   " OPERATOR(pg_catalog.=)"
						   " %s.roaring64_time_bucket(bucket, %d)))",
						   table, schema, schema, bits),
				  SPI_OK_UTILITY, 0, NULL, NULL, NULL);
	SPI_finish();
	return get_relname_relid(range->relname, namespace);
}

/*
 * roaring64_delay_create(name text, bucket_bits integer) returns regclass:
 * makes a table of delayed messages with buckets of 2^bucket_bits
 * milliseconds.  The name may have a schema, and is quoted as in SQL.  Errors
 * as CREATE TABLE has, and unless bucket_bits is 0 to 63.
 */
PG_FUNCTION_INFO_V1(roaring64_delay_create);
Datum
roaring64_delay_create(PG_FUNCTION_ARGS)
{
	PG_RETURN_OID(create_table(fcinfo, PG_GETARG_TEXT_PP(0),
							   PG_GETARG_INT32(1)));
}

/*
 * roaring64_delay_drop(regclass) returns void: drops such a table.  Errors as
 * DROP TABLE has, and if it is another table.
 */
PG_FUNCTION_INFO_V1(roaring64_delay_drop);
Datum
roaring64_delay_drop(PG_FUNCTION_ARGS)
{
	DelayTable *delay;

	SPI_connect();
	delay = delay_table(fcinfo);
	state_execute(psprintf("DROP TABLE %s",
						   state_table_name(&delay->owner, 0)),
				  SPI_OK_UTILITY, 0, NULL, NULL, NULL);
	SPI_finish();
	PG_RETURN_VOID();
}
