/*-------------------------------------------------------------------------
 *
 * croaring.c
 *	  Finds CRoaring and fills the table of its functions.
 *
 * The library is opened here instead of being a dependency of the module, for
 * two reasons.  RTLD_DEEPBIND makes CRoaring's calls to itself stay in itself
 * although another library in the process may export the same names, and
 * RTLD_LOCAL keeps CRoaring's names from reaching that other library.
 *
 * Without RTLD_DEEPBIND (musl, macOS), CRoaring's calls to itself reach
 * whichever library exports their names first, so we refuse to work if a
 * library that was loaded before us exports one of them.  One that is loaded
 * later changes nothing, since RTLD_NOW has bound all calls by then.
 *
 * With R64_LINK_KERNELS defined, CRoaring is linked as usual.  That is for a
 * module that has CRoaring's code in it, with its names hidden, and for
 * standalone programs, such as the tests: sanitizers do not work with
 * RTLD_DEEPBIND.
 *
 * src/engine/croaring.c
 *
 *-------------------------------------------------------------------------
 */
#ifndef R64_LINK_KERNELS
#ifndef _GNU_SOURCE
#define _GNU_SOURCE				/* RTLD_DEEPBIND, RTLD_DEFAULT */
#endif
#include <dlfcn.h>
#endif

#include "croaring.h"

r64_kernels r64_kernel;

#ifdef R64_LINK_KERNELS

/*
 * Finds the functions of CRoaring.  Call it once, before anything else.
 * Returns NULL, or a message that says why CRoaring cannot be used.
 */
const char *
r64_load_kernels(void)
{
#define R64_KERNEL_LINK(name) r64_kernel.name = name;
	R64_KERNELS(R64_KERNEL_LINK);
	return NULL;
}

#else

/* To test this on a system with RTLD_DEEPBIND: COPT=-DR64_NO_DEEPBIND. */
#if defined(RTLD_DEEPBIND) && !defined(R64_NO_DEEPBIND)
#define DEEPBIND RTLD_DEEPBIND
#else
#define DEEPBIND 0
#endif

/*
 * A CRoaring that was loaded before us, or without RTLD_DEEPBIND, may have
 * been bound to another library's functions of the same names.  We cannot see
 * that directly, but in that case the other library comes first in the global
 * scope.
 */
static bool
is_interposed(void *library, const char *name)
{
	void	   *first = dlsym(RTLD_DEFAULT, name);

	return first != NULL && first != dlsym(library, name);
}

const char *
r64_load_kernels(void)
{
	bool		at_risk = DEEPBIND == 0;
	void	   *library = dlopen(ROARING_SONAME, RTLD_NOW | RTLD_NOLOAD);

	if (library != NULL)
	{
		at_risk = true;
		dlclose(library);
	}

	library = dlopen(ROARING_SONAME, RTLD_NOW | RTLD_LOCAL | DEEPBIND);
	if (library == NULL)
		return dlerror();

	/* dlsym gives void *; POSIX lets it hold a function's address. */
#define R64_KERNEL_LOAD(name) \
	if (at_risk && is_interposed(library, #name)) \
		return "another library in this process has replaced " #name "()"; \
	*(void **) &r64_kernel.name = dlsym(library, #name); \
	if (r64_kernel.name == NULL) \
		return ROARING_SONAME " has no function " #name "()";
	R64_KERNELS(R64_KERNEL_LOAD);

	return NULL;
}

#endif							/* R64_LINK_KERNELS */
