/*-------------------------------------------------------------------------
 *
 * version.c
 *	  The versions of the loaded library.  SQL compares them with those of installed
 *	  scripts (sql/parts/version.sql).
 *
 * src/version.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"

#include <roaring/roaring_version.h>

/*
 * _roaring64_library(what text) returns text: the version of the library; for
 * 'croaring', of the CRoaring that it was built with.
 */
PG_FUNCTION_INFO_V1(roaring64_library);
Datum
roaring64_library(PG_FUNCTION_ARGS)
{
	bool		croaring = strcmp(text_to_cstring(PG_GETARG_TEXT_PP(0)),
								  "croaring") == 0;

	PG_RETURN_TEXT_P(cstring_to_text(croaring ? ROARING_VERSION :
									 ROARING64_VERSION));
}
