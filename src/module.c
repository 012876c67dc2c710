/*-------------------------------------------------------------------------
 *
 * module.c
 *	  The server loads the library: CRoaring is found, and settings, hooks and the
 *	  custom scan are registered.  Nothing else is done before the first call.
 *
 * src/module.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "index/scans.h"
#include "planner/planner.h"
#include "type/roaring64.h"

ROARING64_MODULE_MAGIC;

/* fmgr.h declares it from 16 on */
extern PGDLLEXPORT void _PG_init(void);

/*
 * CRoaring is bound here and not by the dynamic linker: see
 * engine/croaring.c.  This comes first because the next call repeats a failed
 * load, and a setting or a scan can be defined only once.
 */
void
_PG_init(void)
{
	const char *problem = r64_load_kernels();

	if (problem != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FILE),
				 errmsg("could not load the CRoaring library: %s", problem),
				 errhint("Install the version of CRoaring that roaring64 was built with.  If another library has replaced its functions, load roaring64 first.")));
	RegisterCustomScanMethods(&roaring64_lookup_methods);
	roaring64_install_planner_hooks();
	roaring64_define_settings();
}
