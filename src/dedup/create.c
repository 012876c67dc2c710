/*-------------------------------------------------------------------------
 *
 * create.c
 *	  Making a dedup set, changing its options, dropping it.
 *
 * The tables are ordinary ones in the user's schema: owned, granted, dumped
 * and replicated as any.  The row of options names the others by regclass,
 * which a rename does not disturb and a dump writes as a qualified name.
 *
 * src/dedup/create.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/varlena.h"

#include "dedup/dedup.h"
#include "state/statement.h"

/*
 * Of folded snowflake ids a chunk of 2^24 ms is 4.7 hours of one worker.  The
 * larger a chunk, the less of its last TOAST row's page is lost; to look for
 * an id only parts of it are read.
 */
#define PLAIN_CHUNK_BITS	20
#define SNOWFLAKE_CHUNK_BITS 24

#ifdef USE_LZ4
#define COMPRESSION			" COMPRESSION lz4"
#else
#define COMPRESSION			""
#endif

/* The options; isnull tells which were not given. */
typedef struct Options
{
	bool		has_capacity;
	int64		capacity;
	bool		has_remember;
	Interval   *remember;
	int32		generations;
} Options;

static void
invalid(const char *what, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid %s for dedup set", what),
			 errdetail("%s", detail)));
}

/* What must hold of the options of a window. */
static void
check_window(const Options *o)
{
	Interval	zero = {0};

	if (o->generations < DEDUP_MIN_GENERATIONS || o->generations > DEDUP_MAX_GENERATIONS)
		invalid("generations", "There are between 2 and 64 generations.");
	if (o->has_capacity && o->has_remember)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("a dedup set cannot have both a capacity and a time to remember")));
	if (o->has_capacity && o->capacity < o->generations)
		invalid("capacity",
				"There must be room for an id in every generation.");
	if (o->has_remember &&
		!DatumGetBool(DirectFunctionCall2(interval_gt,
										  IntervalPGetDatum(o->remember),
										  IntervalPGetDatum(&zero))))
		invalid("time to remember", "It must be longer than nothing.");
}

/* The arguments capacity, remember and generations, from argno on. */
static Options
window_options(FunctionCallInfo fcinfo, int argno)
{
	Options		o = {0};

	dedup_not_null(fcinfo, argno + 2, "generations");
	o.has_capacity = !PG_ARGISNULL(argno);
	if (o.has_capacity)
		o.capacity = PG_GETARG_INT64(argno);
	o.has_remember = !PG_ARGISNULL(argno + 1);
	if (o.has_remember)
		o.remember = PG_GETARG_INTERVAL_P(argno + 1);
	o.generations = PG_GETARG_INT32(argno + 2);
	check_window(&o);
	return o;
}

/* The argument layout. */
static bool
is_snowflake(FunctionCallInfo fcinfo, int argno)
{
	char	   *layout;

	dedup_not_null(fcinfo, argno, "layout");
	layout = text_to_cstring(PG_GETARG_TEXT_PP(argno));
	if (strcmp(layout, "snowflake") == 0)
		return true;
	if (strcmp(layout, "plain") != 0)
		invalid("layout", "The layout of ids is \"plain\" or \"snowflake\".");
	return false;
}

static int32
chunk_bits(FunctionCallInfo fcinfo, int argno, bool snowflake)
{
	int32		bits;

	if (PG_ARGISNULL(argno))
		return snowflake ? SNOWFLAKE_CHUNK_BITS : PLAIN_CHUNK_BITS;
	bits = PG_GETARG_INT32(argno);
	if (bits < DEDUP_MIN_CHUNK_BITS || bits > DEDUP_MAX_CHUNK_BITS)
		invalid("chunk_bits", "A chunk has between 8 and 60 bits.");
	return bits;
}

static void
check_fold_after(FunctionCallInfo fcinfo, int argno)
{
	if (!PG_ARGISNULL(argno) && PG_GETARG_INT32(argno) < 0)
		invalid("fold_after", "It is a number of claims, or 0 for never.");
}

/* Where the tables go and what they are called, without suffix. */
static char *
set_name(FunctionCallInfo fcinfo, char **schema)
{
	RangeVar   *range;

	dedup_not_null(fcinfo, 0, "name");
	range = makeRangeVarFromNameList(textToQualifiedNameList(PG_GETARG_TEXT_PP(0)));
	if (strlen(range->relname) + strlen("_claims_pkey") >= NAMEDATALEN)
		ereport(ERROR,
				(errcode(ERRCODE_NAME_TOO_LONG),
				 errmsg("name of dedup set \"%s\" is too long",
						range->relname),
				 errdetail("The names of its tables have up to 12 bytes more.")));
	*schema = get_namespace_name(RangeVarGetCreationNamespace(range));
	return range->relname;
}

/* The name of one of the tables, quoted and qualified. */
static const char *
table_name(const char *schema, const char *name, const char *suffix)
{
	return quote_qualified_identifier(schema, psprintf("%s%s", name, suffix));
}

static void
execute(const char *format,...) pg_attribute_printf(1, 2);

static void
execute(const char *format,...)
{
	StringInfoData text;
	va_list		args;
	int			needed;

	initStringInfo(&text);
	do
	{
		va_start(args, format);
		needed = appendStringInfoVA(&text, format, args);
		va_end(args);
		if (needed != 0)
			enlargeStringInfo(&text, needed);
	} while (needed != 0);
	if (SPI_execute(text.data, false, 0) < 0)
		elog(ERROR, "SPI_execute failed for: %s", text.data);
}

/*
 * Makes the tables.  Claims come and go, so their table is vacuumed for what
 * was deleted rather than for a part of what there is: a megabyte.  So are the
 * chunks, of which each fold replaces those that are not full yet, and what
 * they have out of line.  Pages have room for a chunk of a kilobyte more, so
 * that one that grows stays where its index entry is.
 */
static void
make_tables(FunctionCallInfo fcinfo, const char *schema, const char *name)
{
	execute("CREATE TABLE %s ("
			"one boolean PRIMARY KEY DEFAULT true CHECK (one),"
			"keys pg_catalog.regclass NOT NULL,"
			"claims pg_catalog.regclass NOT NULL,"
			"chunks pg_catalog.regclass NOT NULL,"
			"capacity bigint,"
			"remember interval,"
			"generations integer NOT NULL,"
			"layout pg_catalog.text NOT NULL,"
			"chunk_bits integer NOT NULL,"
			"ascending boolean NOT NULL,"
			"fold_after integer)",
			table_name(schema, name, ""));
	execute("CREATE TABLE %s ("
			"key pg_catalog.text PRIMARY KEY,"
			"generation bigint NOT NULL DEFAULT 0,"
			"ids bigint NOT NULL DEFAULT 0,"
			"started pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),"
			"forgotten bigint,"
			"highs bigint[] NOT NULL DEFAULT '{-9223372036854775808}')"
			" WITH (fillfactor = 80)",
			table_name(schema, name, "_keys"));
	execute("CREATE TABLE %s ("
			"key pg_catalog.text NOT NULL,"
			"id bigint NOT NULL,"
			"claimed_at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),"
			"PRIMARY KEY (key, id))"
			" WITH (autovacuum_vacuum_scale_factor = 0,"
			" autovacuum_vacuum_threshold = 10000)",
			table_name(schema, name, "_claims"));
	execute("CREATE TABLE %s ("
			"key pg_catalog.text NOT NULL,"
			"generation bigint NOT NULL,"
			"chunk bigint NOT NULL,"
			"ids bigint NOT NULL,"
			"members %s.roaring64" COMPRESSION " NOT NULL,"
			"PRIMARY KEY (key, chunk, generation))"
			" WITH (fillfactor = 85,"
			" autovacuum_vacuum_scale_factor = 0.01,"
			" autovacuum_vacuum_threshold = 500,"
			" toast.autovacuum_vacuum_scale_factor = 0.01,"
			" toast.autovacuum_vacuum_threshold = 500)",
			table_name(schema, name, "_chunks"), state_schema(fcinfo));
}

/* Writes the row of options. */
static void
insert_options(FunctionCallInfo fcinfo, const char *schema, const char *name)
{
	Options		o = window_options(fcinfo, 1);
	bool		snowflake = is_snowflake(fcinfo, 4);
	Oid			types[7] = {
		INT8OID, INTERVALOID, INT4OID, TEXTOID, INT4OID, BOOLOID, INT4OID
	};
	Datum		values[7] = {
		Int64GetDatum(o.capacity),
		IntervalPGetDatum(o.remember),
		Int32GetDatum(o.generations),
		CStringGetTextDatum(snowflake ? "snowflake" : "plain"),
		Int32GetDatum(chunk_bits(fcinfo, 5, snowflake)),
		PG_GETARG_DATUM(6),
		PG_GETARG_DATUM(7)
	};
	char		nulls[] = "       ";
	StringInfoData text;

	dedup_not_null(fcinfo, 6, "ascending");
	check_fold_after(fcinfo, 7);
	nulls[0] = o.has_capacity ? ' ' : 'n';
	nulls[1] = o.has_remember ? ' ' : 'n';
	nulls[6] = PG_ARGISNULL(7) ? 'n' : ' ';
	make_tables(fcinfo, schema, name);

	initStringInfo(&text);
	appendStringInfo(&text,
					 "INSERT INTO %s (keys, claims, chunks, capacity,"
					 " remember, generations, layout, chunk_bits, ascending,"
					 " fold_after) VALUES (%s, %s, %s,"
					 " $1, $2, $3, $4, $5, $6, $7)",
					 table_name(schema, name, ""),
					 quote_literal_cstr(table_name(schema, name, "_keys")),
					 quote_literal_cstr(table_name(schema, name, "_claims")),
					 quote_literal_cstr(table_name(schema, name, "_chunks")));
	state_execute(text.data, SPI_OK_INSERT, 7, types, values, nulls);
}

/*
 * roaring64_dedup_create(name text, capacity bigint, remember interval,
 * generations integer, layout text, chunk_bits integer, ascending boolean,
 * fold_after integer) returns regclass: makes the tables of a set; see the
 * README for the options.  Errors if a table exists, or for invalid options.
 */
PG_FUNCTION_INFO_V1(roaring64_dedup_create);
Datum
roaring64_dedup_create(PG_FUNCTION_ARGS)
{
	char	   *schema;
	char	   *name = set_name(fcinfo, &schema);

	dedup_connect();
	insert_options(fcinfo, schema, name);
	SPI_finish();
	PG_RETURN_OID(get_relname_relid(name, get_namespace_oid(schema, false)));
}

/*
 * The arguments capacity, remember and generations over those that the set
 * has, whose row stays locked.  One kind of window takes the other's place.
 */
static Options
altered_window(FunctionCallInfo fcinfo, DedupSet *set)
{
	Options		o = {0};
	bool		isnull;

	state_execute(psprintf("SELECT capacity, remember, generations FROM %s"
						   " FOR NO KEY UPDATE",
						   state_table_name(&set->owner, DEDUP_SET)),
				  SPI_OK_SELECT, 0, NULL, NULL, NULL);
	if (SPI_processed != 1)
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("the options of dedup set \"%s\" have been changed meanwhile",
						get_rel_name(set->owner.relid))));
	o.capacity = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0],
											 SPI_tuptable->tupdesc, 1,
											 &isnull));
	o.has_capacity = !isnull;
	o.remember = DatumGetIntervalP(SPI_getbinval(SPI_tuptable->vals[0],
												 SPI_tuptable->tupdesc, 2,
												 &isnull));
	o.has_remember = !isnull;
	o.generations = set->generations;

	if (!PG_ARGISNULL(1) || !PG_ARGISNULL(2))
	{
		o.has_capacity = !PG_ARGISNULL(1);
		o.capacity = PG_GETARG_INT64(1);
		o.has_remember = !PG_ARGISNULL(2);
		o.remember = PG_GETARG_INTERVAL_P(2);
	}
	if (!PG_ARGISNULL(3))
		o.generations = PG_GETARG_INT32(3);
	check_window(&o);
	return o;
}

/*
 * roaring64_dedup_alter(regclass, capacity bigint, remember interval,
 * generations integer, ascending boolean, fold_after integer): changes these
 * options of a set; those that are NULL stay.  A fold_after of 0 is none.
 */
PG_FUNCTION_INFO_V1(roaring64_dedup_alter);
Datum
roaring64_dedup_alter(PG_FUNCTION_ARGS)
{
	Oid			types[5] = {INT8OID, INTERVALOID, INT4OID, BOOLOID, INT4OID};
	char		nulls[] = "     ";
	DedupSet   *set;
	Options		o;
	Datum		values[5];

	dedup_connect();
	set = dedup_open(fcinfo);
	o = altered_window(fcinfo, set);
	check_fold_after(fcinfo, 5);
	values[0] = Int64GetDatum(o.capacity);
	values[1] = IntervalPGetDatum(o.remember);
	values[2] = Int32GetDatum(o.generations);
	values[3] = PG_GETARG_DATUM(4);
	values[4] = PG_GETARG_DATUM(5);
	nulls[0] = o.has_capacity ? ' ' : 'n';
	nulls[1] = o.has_remember ? ' ' : 'n';
	nulls[3] = PG_ARGISNULL(4) ? 'n' : ' ';
	nulls[4] = PG_ARGISNULL(5) ? 'n' : ' ';
	state_execute(psprintf("UPDATE %s SET capacity = $1, remember = $2,"
						   " generations = $3,"
						   " ascending = coalesce($4, ascending),"
						   " fold_after = coalesce($5, fold_after)",
						   state_table_name(&set->owner, DEDUP_SET)),
				  SPI_OK_UPDATE, 5, types, values, nulls);
	state_changed(PG_GETARG_OID(0));
	SPI_finish();
	PG_RETURN_VOID();
}

/*
 * roaring64_dedup_drop(regclass): drops the tables of a set.
 */
PG_FUNCTION_INFO_V1(roaring64_dedup_drop);
Datum
roaring64_dedup_drop(PG_FUNCTION_ARGS)
{
	DedupSet   *set;

	dedup_connect();
	set = dedup_open(fcinfo);
	execute("DROP TABLE %s, %s, %s, %s",
			state_table_name(&set->owner, DEDUP_SET),
			state_table_name(&set->owner, DEDUP_KEYS),
			state_table_name(&set->owner, DEDUP_CLAIMS),
			state_table_name(&set->owner, DEDUP_CHUNKS));
	SPI_finish();
	PG_RETURN_VOID();
}
