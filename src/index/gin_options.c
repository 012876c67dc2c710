/*-------------------------------------------------------------------------
 *
 * gin_options.c
 *	  The option of the GIN operator class: what the keys are.
 *
 *		CREATE INDEX ... USING gin (tags gin_roaring64_ops (key = container))
 *
 * src/index/gin_options.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/reloptions.h"

#include "gin.h"

/* The values of "key" are the distances to shift by. */
#define KEY_ELEMENT		0
#define KEY_CONTAINER	16

/* The option as the server keeps it, a varlena. */
typedef struct GinOptions
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	int			key;
} GinOptions;

static relopt_enum_elt_def key_values[] =
{
	{"element", KEY_ELEMENT},
	{"container", KEY_CONTAINER},
	{(const char *) NULL}
};

/*
 * How far elements are shifted to make keys, in the index that a support
 * function is called for.
 */
int
roaring64_gin_shift(FunctionCallInfo fcinfo)
{
	if (!PG_HAS_OPCLASS_OPTIONS())
		return KEY_ELEMENT;
	return ((GinOptions *) PG_GET_OPCLASS_OPTIONS())->key;
}

/*
 * roaring64_gin_options(internal) returns void: tells the server which
 * options there are.
 */
PG_FUNCTION_INFO_V1(roaring64_gin_options);
Datum
roaring64_gin_options(PG_FUNCTION_ARGS)
{
	local_relopts *relopts = (local_relopts *) PG_GETARG_POINTER(0);

	init_local_reloptions(relopts, sizeof(GinOptions));
	add_local_enum_reloption(relopts, "key", "what the keys of the index are",
							 key_values, KEY_ELEMENT,
							 "Valid values are \"element\" and \"container\".",
							 offsetof(GinOptions, key));
	PG_RETURN_VOID();
}
