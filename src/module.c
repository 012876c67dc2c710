/*-------------------------------------------------------------------------
 *
 * module.c
 *	  What happens when the server loads the library.
 *
 * src/module.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "type/roaring64.h"

PG_MODULE_MAGIC;

/*
 * CRoaring is bound here and not by the dynamic linker; engine/croaring.c
 * says why.  It comes first because a load that fails is tried again by the
 * next call, and a setting can be defined only once.
 */
void
_PG_init(void)
{
	const char *problem = r64_load_kernels();

	if (problem != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FILE),
				 errmsg("could not load the CRoaring library"),
				 errdetail("The reason is: %s.", problem),
				 errhint("Install the CRoaring that roaring64 was built with, and load roaring64 before a library that replaces its functions.")));
	roaring64_define_settings();
}
