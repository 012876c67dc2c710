/*-------------------------------------------------------------------------
 *
 * sql.c
 *	  The statements of a migration, from templates.
 *
 * A template is SQL with these in it:
 *
 *	  {target} {status} {facts} {changes} {parts}	the relations
 *	  {source}		the source
 *	  {view} {name} {'name}	the name that the source has before the finish, and
 *					the view after it: with and without schema
 *	  {old}			the name that the source gets at the finish
 *	  {'target} ...	the same as a string constant
 *	  {x}			the extension's schema and a point
 *	  {.=} {x|}		an operator of pg_catalog or of the extension: = and |
 *	  {id} {'id} {all}	the id column, the set of every row
 *	  [k:what~between]	"what" for every key column, "between" between
 *	  [p:what~between]	the same for those that are plain columns
 *	  [s:what~between]	the same for every set
 *	  [c:what~between]	the same for the sets that are boolean columns
 *
 * and in such a list:
 *
 *	  {k} {column} {type} {=}	a key's name in the target, its column in the
 *					source, its type, its equality operator
 *	  {expr r}		the key of the row r of the source; {expr} if there is
 *					no other table
 *	  {s} {column} {condition}	a set's name, its column in the source if it
 *					is one, its condition
 *	  {'k} {'s} {'column}	the names as string constants
 *	  {agg}			the set of f.roaring64_id, of the rows f of {facts}
 *
 * and, in the statements of the view's triggers, whose parameters are the
 * columns of the new row and after those the columns of the old one:
 *
 *	  {new} {old}	the key; whether the row is in the set
 *	  {newid} {oldid}	the id
 *
 * Everything else stands for itself, "{}" too.  What is put in is not looked
 * at again, so names and conditions may have any characters.
 *
 * src/migrate/sql.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"

#include "migrate.h"
#include "state/statement.h"

/* What the template is expanded for: the migration, and a list's member. */
typedef struct Expansion
{
	const Migration *m;
	const MigrationKey *key;	/* or NULL */
	const MigrationSet *set;	/* or NULL */
	StringInfoData out;
} Expansion;

static void expand(Expansion *x, const char *from, const char *end);

/* The quoted name, with its schema, of a relation named after the target. */
char *
migration_relation(const Migration *m, const char *suffix)
{
	return quote_qualified_identifier(m->schema,
									  psprintf("%s%s", m->target_name, suffix));
}

/* The relations; false if the word is none. */
static bool
expand_relation(Expansion *x, const char *word)
{
	const Migration *m = x->m;
	bool		literal = word[0] == '\'';
	const char *name;

	if (literal)
		word++;

	if (strcmp(word, "target") == 0)
		name = migration_relation(m, "");
	else if (strcmp(word, "status") == 0)
		name = migration_relation(m, "_migration");
	else if (strcmp(word, "facts") == 0)
		name = migration_relation(m, "_facts");
	else if (strcmp(word, "changes") == 0)
		name = migration_relation(m, "_changes");
	else if (strcmp(word, "parts") == 0)
		name = migration_relation(m, "_parts");
	else if (strcmp(word, "source") == 0)
		name = state_relation(m->source);
	else if (strcmp(word, "view") == 0)
		name = quote_qualified_identifier(m->schema, m->source_name);
	else if (strcmp(word, "old") == 0)
		name = quote_identifier(psprintf("%s_old", m->source_name));
	else
		return false;
	appendStringInfoString(&x->out,
						   literal ? quote_literal_cstr(name) : name);
	return true;
}

/* The parameter for a column of the new or the old row. */
static char *
parameter(const Expansion *x, int place, bool new)
{
	return psprintf("$%d", new ? place : x->m->places + place);
}

/* What is said of one key; false if the word is nothing of the kind. */
static bool
expand_key(Expansion *x, const char *word)
{
	const MigrationKey *key = x->key;
	StringInfo	out = &x->out;

	if (strcmp(word, "k") == 0)
		appendStringInfoString(out, quote_identifier(key->name));
	else if (strcmp(word, "'k") == 0)
		appendStringInfoString(out, quote_literal_cstr(key->name));
	else if (strcmp(word, "column") == 0)
		appendStringInfoString(out, quote_identifier(key->column));
	else if (strcmp(word, "'column") == 0)
		appendStringInfoString(out, quote_literal_cstr(key->column));
	else if (strcmp(word, "type") == 0)
		appendStringInfoString(out, key->type);
	else if (strcmp(word, "=") == 0)
		appendStringInfoString(out, key->equal);
	else if (strcmp(word, "new") == 0 || strcmp(word, "old") == 0)
		appendStringInfo(out, "%s%s%s", key->before,
						 parameter(x, key->place, word[0] == 'n'),
						 key->after);
	else if (strcmp(word, "expr") == 0)
		appendStringInfo(out, "%s%s%s", key->before,
						 quote_identifier(key->column), key->after);
	else if (strncmp(word, "expr ", 5) == 0)
		appendStringInfo(out, "%s%s.%s%s", key->before, word + 5,
						 quote_identifier(key->column), key->after);
	else
		return false;
	return true;
}

/* What is said of one set; false if the word is nothing of the kind. */
static bool
expand_set(Expansion *x, const char *word)
{
	const MigrationSet *set = x->set;
	StringInfo	out = &x->out;

	if (strcmp(word, "s") == 0)
		appendStringInfoString(out, quote_identifier(set->name));
	else if (strcmp(word, "'s") == 0)
		appendStringInfoString(out, quote_literal_cstr(set->name));
	else if (strcmp(word, "column") == 0 && set->column != NULL)
		appendStringInfoString(out, quote_identifier(set->column));
	else if (strcmp(word, "'column") == 0 && set->column != NULL)
		appendStringInfoString(out, quote_literal_cstr(set->column));
	else if (strcmp(word, "new") == 0 || strcmp(word, "old") == 0)
		appendStringInfoString(out, set->condition == NULL ? "true" :
							   parameter(x, set->place, word[0] == 'n'));
	else if (strcmp(word, "condition") == 0)
		appendStringInfoString(out, set->condition == NULL ? "true" :
							   set->column != NULL ?
							   quote_identifier(set->column) :
							   set->condition);
	else if (strcmp(word, "agg") == 0)
	{
		appendStringInfo(out, "COALESCE(%s.roaring64_agg(f.roaring64_id)",
						 x->m->extension);
		if (set->condition != NULL)
			appendStringInfo(out, " FILTER (WHERE f.%s)",
							 quote_identifier(set->name));
		appendStringInfoString(out, ", '{}')");
	}
	else
		return false;
	return true;
}

/* One word that stood in braces. */
static void
expand_word(Expansion *x, const char *word)
{
	const Migration *m = x->m;

	if (word[0] == '\0')
		appendStringInfoString(&x->out, "{}");
	else if (word[0] == '.')
		appendStringInfo(&x->out, "OPERATOR(pg_catalog.%s)", word + 1);
	else if (word[0] == 'x' && word[1] != '\0')
		appendStringInfo(&x->out, "OPERATOR(%s.%s)", m->extension, word + 1);
	else if (strcmp(word, "x") == 0)
		appendStringInfo(&x->out, "%s.", m->extension);
	else if (strcmp(word, "name") == 0)
		appendStringInfoString(&x->out, quote_identifier(m->source_name));
	else if (strcmp(word, "'name") == 0)
		appendStringInfoString(&x->out, quote_literal_cstr(m->source_name));
	else if (strcmp(word, "id") == 0)
		appendStringInfoString(&x->out, quote_identifier(m->id_column));
	else if (strcmp(word, "'id") == 0)
		appendStringInfoString(&x->out, quote_literal_cstr(m->id_column));
	else if (strcmp(word, "newid") == 0 || strcmp(word, "oldid") == 0)
		appendStringInfoString(&x->out,
							   parameter(x, m->id_place, word[0] == 'n'));
	else if (strcmp(word, "all") == 0)
		appendStringInfoString(&x->out,
							   quote_identifier(m->sets[m->all].name));
	else if (!(x->key != NULL && expand_key(x, word)) &&
			 !(x->set != NULL && expand_set(x, word)) &&
			 !expand_relation(x, word))
		elog(ERROR, "unknown word in a template: %s", word);
}

/* A list; from is after its colon.  Returns what follows it. */
static const char *
expand_list(Expansion *x, char kind, const char *from)
{
	const char *tilde = strchr(from, '~');
	const char *end = strchr(from, ']');
	bool		keys = kind == 'k' || kind == 'p';
	int			n = keys ? x->m->nkeys : x->m->nsets;
	bool		any = false;

	if (tilde == NULL || end == NULL || tilde > end)
		elog(ERROR, "list without end in a template: %s", from);
	for (int i = 0; i < n; i++)
	{
		if (keys)
			x->key = &x->m->keys[i];
		else
			x->set = &x->m->sets[i];
		if ((kind == 'p' && x->key->before[0] != '\0') ||
			(kind == 'c' && x->set->column == NULL))
			continue;
		if (any)
			expand(x, tilde + 1, end);
		any = true;
		expand(x, from, tilde);
	}
	x->key = NULL;
	x->set = NULL;
	return end + 1;
}

/* A stretch of a template. */
static void
expand(Expansion *x, const char *from, const char *end)
{
	while (from < end)
	{
		if (*from == '{')
		{
			const char *close = strchr(from, '}');

			if (close == NULL)
				elog(ERROR, "brace without end in a template: %s", from);
			expand_word(x, pnstrdup(from + 1, close - from - 1));
			from = close + 1;
		}
		else if (*from == '[' && from[1] != '\0' && from[2] == ':')
			from = expand_list(x, from[1], from + 3);
		else
			appendStringInfoChar(&x->out, *from++);
	}
}

/* The statement, palloc'd. */
char *
migration_sql(const Migration *m, const char *template)
{
	Expansion	x = {.m = m};

	initStringInfo(&x.out);
	expand(&x, template, template + strlen(template));
	return x.out.data;
}

/* Executes a statement that gives no rows; returns how many it processed. */
uint64
migration_run(const Migration *m, const char *template)
{
	char	   *statement = migration_sql(m, template);
	int			code = SPI_execute(statement, false, 0);

	if (code < 0)
		elog(ERROR, "SPI returned %s for: %s",
			 SPI_result_code_string(code), statement);
	pfree(statement);
	return SPI_processed;
}

/*
 * The first column of the first row, as text; NULL if it is that or there is
 * no row.  $1 is the OID of the source.
 */
char *
migration_ask(const Migration *m, const char *template)
{
	char	   *statement = migration_sql(m, template);
	Oid			type = OIDOID;
	Datum		source = ObjectIdGetDatum(m->source);
	int			code = SPI_execute_with_args(statement, 1, &type, &source,
											 NULL, false, 0);
	char	   *answer = NULL;

	if (code < 0)
		elog(ERROR, "SPI returned %s for: %s",
			 SPI_result_code_string(code), statement);
	if (SPI_tuptable != NULL && SPI_processed > 0)
		answer = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
	SPI_freetuptable(SPI_tuptable);
	pfree(statement);
	return answer;
}

/* The same, a bigint; 0 if there is none. */
int64
migration_ask_number(const Migration *m, const char *template)
{
	char	   *answer = migration_ask(m, template);

	return answer == NULL ? 0 :
		DatumGetInt64(DirectFunctionCall1(int8in, CStringGetDatum(answer)));
}
