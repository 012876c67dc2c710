/*-------------------------------------------------------------------------
 *
 * io.c
 *	  Text input and output.
 *
 * Two forms go in and out:
 *
 *	{1,2,3}		the elements in decimal; on input in any order, repeats
 *				allowed, white space around anything and quotes around an
 *				element as in an array literal
 *	\x0123...	the bytes in hex; on input any legal portable bytes
 *
 * roaring64.output_format chooses the form of output.  The binary forms are in
 * bytes.c, which also judges the bytes in hex.
 *
 * src/type/io.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "roaring64.h"

/* Elements up to which output_format = auto writes braces; documented. */
#define AUTO_ARRAY_MAX		1024

/* An error message quotes this many bytes of a bad literal. */
#define EXCERPT_MAX			64

/* Elements formatted at a time, and bytes that one takes with its comma. */
#define OUTPUT_BATCH		512
#define OUTPUT_WIDTH		(MAXINT8LEN + 1)

typedef enum OutputFormat
{
	OUTPUT_AUTO,
	OUTPUT_ARRAY,
	OUTPUT_HEX
} OutputFormat;

static const struct config_enum_entry output_formats[] = {
	{"auto", OUTPUT_AUTO, false},
	{"array", OUTPUT_ARRAY, false},
	{"hex", OUTPUT_HEX, false},
	{NULL, 0, false}
};

static int	output_format = OUTPUT_AUTO;

/*
 * A literal being read.  context is where soft errors go.
 */
typedef struct InputState
{
	const char *start;
	const char *pos;
	Node	   *context;
} InputState;

/* The elements read so far; values is palloc'd and grows. */
typedef struct ElementList
{
	int64	   *values;
	Size		n;
	Size		capacity;
} ElementList;

/* Defines roaring64.output_format; once, when the module is loaded. */
void
roaring64_define_settings(void)
{
	DefineCustomEnumVariable("roaring64.output_format",
							 "Sets the text output format for roaring64 values.",
							 "\"array\" writes the elements in braces, \"hex\" the bytes; \"auto\" writes up to 1024 elements in braces and larger sets in hex.",
							 &output_format, OUTPUT_AUTO, output_formats,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	/* an older name of MarkGUCPrefixReserved(), which all versions know */
	EmitWarningsOnPlaceholders("roaring64");
}

/* The first len bytes of a text, clipped for an error message. */
static char *
excerpt(const char *text, Size len)
{
	Size		clipped = len;

	if (len > EXCERPT_MAX)
		clipped = pg_mbcliplen(text, EXCERPT_MAX + 1, EXCERPT_MAX);
	return psprintf("%.*s%s", (int) clipped, text,
					clipped < len ? "..." : "");
}

/* The position up to which a literal has been read, counted from 1. */
static int
position(const InputState *in)
{
	return pg_mbstrlen_with_len(in->start, in->pos - in->start) + 1;
}

/*
 * Reports a syntax error at the current position, with a hint if that is not
 * NULL; returns false.
 */
static bool
syntax_error(InputState *in, const char *expected, const char *hint)
{
	ereturn(in->context, false,
			(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			 errmsg("invalid input syntax for type roaring64: \"%s\"",
					excerpt(in->start, strlen(in->start))),
			 errdetail("Expected %s at character %d.", expected, position(in)),
			 hint != NULL ? errhint("%s", hint) : 0));
}

/* White space as array_in sees it, whatever the locale. */
static bool
is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static void
skip_space(InputState *in)
{
	while (is_space(*in->pos))
		in->pos++;
}

/* Nothing but white space may follow; false after a soft error. */
static bool
read_end(InputState *in)
{
	skip_space(in);
	if (*in->pos != '\0')
		return syntax_error(in, "the end of the input", NULL);
	return true;
}

static const char *const hint_unclosed =
"Close the set with \"}\".";
static const char *const hint_range =
"A set lists its elements.  For a range write int8range(1, 6), whose end is not in it.";

/*
 * The hint for an element that neither a comma nor the brace follows, or NULL.
 */
static const char *
hint_after_element(const InputState *in)
{
	switch (*in->pos)
	{
		case '\0':
			return hint_unclosed;
		case '.':
		case 'e':
		case 'E':
			return "Elements are integers of type bigint.";
		case '-':
		case ':':
			return hint_range;
		default:
			return NULL;
	}
}

/*
 * One element, an optional sign and decimal digits; false after a soft error.
 */
static bool
read_element(InputState *in, int64 *value)
{
	const char *first = in->pos;
	bool		negative = *in->pos == '-';
	uint64		limit = (uint64) PG_INT64_MAX + negative;
	uint64		magnitude = 0;
	bool		overflow = false;
	const char *digits;

	if (*in->pos == '-' || *in->pos == '+')
		in->pos++;
	for (digits = in->pos; *in->pos >= '0' && *in->pos <= '9'; in->pos++)
	{
		unsigned	digit = *in->pos - '0';

		overflow |= magnitude > (limit - digit) / 10;
		magnitude = magnitude * 10 + digit;
	}
	if (in->pos == digits)
		return syntax_error(in, digits == first ? "a number" : "a digit",
							*first == '\0' ? hint_unclosed : NULL);
	if (overflow)
		ereturn(in->context, false,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("value \"%s\" is out of range for type bigint",
						excerpt(first, in->pos - first))));
	*value = (int64) (negative ? -magnitude : magnitude);
	return true;
}

/*
 * An element, in quotes or without them, as drivers write arrays of strings;
 * false after a soft error.
 */
static bool
read_quoted_element(InputState *in, int64 *value)
{
	if (*in->pos != '"')
		return read_element(in, value);
	in->pos++;
	if (!read_element(in, value))
		return false;
	if (*in->pos != '"')
		return syntax_error(in, "a quote", NULL);
	in->pos++;
	return true;
}

/* Whether a word NULL starts here, which would be an element in an array. */
static bool
at_null(const InputState *in)
{
	return pg_strncasecmp(in->pos, "NULL", 4) == 0 &&
		(in->pos[4] == ',' || in->pos[4] == '}' || is_space(in->pos[4]));
}

static void
append_element(ElementList *list, int64 value)
{
	if (list->n == list->capacity)
	{
		list->capacity *= 2;
		list->values = repalloc_huge(list->values,
									 sizeof(int64) * list->capacity);
	}
	list->values[list->n++] = value;
}

/*
 * The form {1,2,3}, standing on the brace; false after a soft error.
 */
static bool
read_elements(InputState *in, ElementList *list)
{
	in->pos++;
	skip_space(in);
	if (*in->pos == '}')
	{
		in->pos++;
		return read_end(in);
	}
	for (;;)
	{
		int64		value = 0;	/* keep compiler quiet */

		if (at_null(in))
			ereturn(in->context, false,
					(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					 errmsg("roaring64 set must not contain nulls"),
					 errdetail("NULL found at character %d.", position(in))));
		if (!read_quoted_element(in, &value))
			return false;
		append_element(list, value);
		if ((list->n & 0xffff) == 0)
			CHECK_FOR_INTERRUPTS();

		skip_space(in);
		if (*in->pos == '}')
			break;
		if (*in->pos != ',')
			return syntax_error(in, "\",\" or \"}\"", hint_after_element(in));
		in->pos++;
		skip_space(in);
	}
	in->pos++;
	return read_end(in);
}

/*
 * The value of a literal in hex, from its digits on; (Datum) 0 after a soft
 * error.  White space between bytes is skipped, and other characters are errors, as
 * for bytea.
 */
static Datum
hex_input(const char *digits, Node *context)
{
	Size		len = strlen(digits);
	char	   *bytes = palloc(len / 2 + 1);
	uint64		size = roaring64_hex_decode(digits, len, bytes, context);

	if (SOFT_ERROR_OCCURRED(context))
		return (Datum) 0;
	return roaring64_from_bytes(bytes, size, context);
}

/*
 * roaring64_in(cstring) returns roaring64: text input.
 * Errors, softly where the server can: malformed text, a number that is no
 * bigint, a NULL; for hex see roaring64_from_bytes.
 */
PG_FUNCTION_INFO_V1(roaring64_in);
Datum
roaring64_in(PG_FUNCTION_ARGS)
{
	InputState	in = {.start = PG_GETARG_CSTRING(0),.context = fcinfo->context};

	in.pos = in.start;
	skip_space(&in);
	if (in.pos[0] == '{')
	{
		ElementList list = {.capacity = 64};

		list.values = palloc(sizeof(int64) * list.capacity);
		if (!read_elements(&in, &list))
			return (Datum) 0;
		PG_RETURN_ROARING64(r64_from_values(&roaring64_env, list.values, list.n));
	}
	if (in.pos[0] == '\\' && in.pos[1] == 'x')
		return hex_input(in.pos + 2, in.context);
	/* an unknown literal beside an operator is taken for a set */
	(void) syntax_error(&in, "\"{\" or \"\\x\"",
						"Write a set as {1,2,3} and the empty set as {}.  To use an element or a range here, cast it, as in '5'::bigint or '[1,5]'::int8range.");
	return (Datum) 0;
}

/*
 * Whether a type is ours.  It may be in any schema, and others may have types of
 * the same name, so its input function decides.
 */
bool
roaring64_is_type(Oid type)
{
	Oid			input;
	Oid			ioparam;
	FmgrInfo	function;

	if (get_typtype(type) != TYPTYPE_BASE || !get_typisdefined(type))
		return false;
	getTypeInputInfo(type, &input, &ioparam);
	fmgr_info(input, &function);
	return function.fn_addr == roaring64_in;
}

/* Text has the same size limit as values, and takes more bytes. */
static void
check_output_size(Size size)
{
	if (size >= MaxAllocSize)
		roaring64_too_large("text form of a roaring64 value",
							"Fetch the value in binary format, or split it with roaring64_split.");
}

/* The form {1,2,3}, palloc'd. */
static char *
write_elements(r64_set *set)
{
	StringInfoData out;
	int64		from = PG_INT64_MIN;
	int64		batch[OUTPUT_BATCH];
	size_t		n;

	initStringInfo(&out);
	appendStringInfoChar(&out, '{');
	do
	{
		n = r64_read(set, from, PG_INT64_MAX, false, batch, OUTPUT_BATCH);
		check_output_size((Size) out.len + n * OUTPUT_WIDTH);
		enlargeStringInfo(&out, n * OUTPUT_WIDTH);
		for (size_t i = 0; i < n; i++)
		{
			out.len += pg_lltoa(batch[i], out.data + out.len);
			out.data[out.len++] = ',';
		}
		if (n > 0)
			from = batch[n - 1] + (batch[n - 1] < PG_INT64_MAX);
	} while (n == OUTPUT_BATCH && batch[n - 1] < PG_INT64_MAX);

	/* the brace takes the place of the last comma */
	if (out.data[out.len - 1] == ',')
		out.len--;
	appendStringInfoChar(&out, '}');
	return out.data;
}

/* The form \x0123..., palloc'd. */
static char *
write_hex(const r64_set *set)
{
	char	   *out;
	char	   *end;

	check_output_size(3 + 2 * set->size);
	out = palloc(3 + 2 * set->size);
	out[0] = '\\';
	out[1] = 'x';
	end = out + 2 + hex_encode((const char *) set->bytes, set->size, out + 2);
	*end = '\0';
	return out;
}

/* roaring64_out(roaring64) returns cstring: text output. */
PG_FUNCTION_INFO_V1(roaring64_out);
Datum
roaring64_out(PG_FUNCTION_ARGS)
{
	r64_set    *set = PG_GETARG_ROARING64(0);

	if (output_format == OUTPUT_HEX ||
		(output_format == OUTPUT_AUTO &&
		 r64_cardinality(set) > AUTO_ARRAY_MAX))
		PG_RETURN_CSTRING(write_hex(set));
	PG_RETURN_CSTRING(write_elements(set));
}
