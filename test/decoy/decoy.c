/*-------------------------------------------------------------------------
 *
 * decoy.c
 *	  A module that exports every name that CRoaring exports.
 *
 * It stands for any other extension with a CRoaring inside, and makes it plain
 * who calls whom: each of its functions raises an error that gives its name.
 * test/t/001_symbol_clash.pl builds it, with the names in names.h:
 *
 *	DECOY_FUNCTIONS(F)	F(name) for every function
 *	DECOY_OBJECTS(O)	O(name, size) for every variable or table
 *
 * test/decoy/decoy.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <dlfcn.h>

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"

#include "names.h"

PG_MODULE_MAGIC;

#pragma GCC visibility push(default)

#define DECOY_FUNCTION(name) \
	extern void name(void); \
	void name(void) { elog(ERROR, "decoy function %s was called", #name); }
#define DECOY_OBJECT(name, size) \
	extern char name[size]; \
	char name[size];
DECOY_FUNCTIONS(DECOY_FUNCTION)
DECOY_OBJECTS(DECOY_OBJECT)

PG_FUNCTION_INFO_V1(decoy_strangers);
PG_FUNCTION_INFO_V1(decoy_call);
extern Datum decoy_strangers(PG_FUNCTION_ARGS);
extern Datum decoy_call(PG_FUNCTION_ARGS);

#pragma GCC visibility pop

/* Adds name to the list if the dynamic linker took it from another file. */
static void
note_stranger(StringInfo list, const char *name, void *address)
{
	Dl_info		ours;
	Dl_info		theirs;

	if (dladdr((void *) note_stranger, &ours) == 0)
		elog(ERROR, "dladdr does not know this module");
	if (dladdr(address, &theirs) == 0)
		elog(ERROR, "dladdr does not know %s", name);
	if (ours.dli_fbase != theirs.dli_fbase)
		appendStringInfo(list, "%s in %s\n", name, theirs.dli_fname);
}

/*
 * decoy_strangers() returns text: which of this module's names stand for
 * somebody else's functions when this module uses them.  Empty if none.
 */
Datum
decoy_strangers(PG_FUNCTION_ARGS)
{
	StringInfoData list;

	initStringInfo(&list);
#define NOTE_FUNCTION(name) note_stranger(&list, #name, (void *) name);
#define NOTE_OBJECT(name, size) note_stranger(&list, #name, (void *) name);
	DECOY_FUNCTIONS(NOTE_FUNCTION);
	DECOY_OBJECTS(NOTE_OBJECT);
	PG_RETURN_TEXT_P(cstring_to_text_with_len(list.data, list.len));
}

/* decoy_call(text) returns void: calls the function of that name. */
Datum
decoy_call(PG_FUNCTION_ARGS)
{
	char	   *wanted = text_to_cstring(PG_GETARG_TEXT_PP(0));

#define CALL_FUNCTION(name) \
	if (strcmp(wanted, #name) == 0) \
		name();
	DECOY_FUNCTIONS(CALL_FUNCTION);
	elog(ERROR, "there is no decoy function %s", wanted);
	PG_RETURN_VOID();
}
