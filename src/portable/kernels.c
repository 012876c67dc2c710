/*-------------------------------------------------------------------------
 *
 * kernels.c
 *	  Finds CRoaring and fills the table of its functions.
 *
 * The library is opened here, not named as a dependency of the module, for
 * two reasons.  RTLD_DEEPBIND makes CRoaring's calls to itself stay in itself
 * although another library in the process may export the same names, and
 * RTLD_LOCAL keeps CRoaring's names from reaching that other library.
 *
 * Where there is no RTLD_DEEPBIND (musl, macOS), CRoaring's calls to itself
 * end in whatever exports their names first, so we refuse to work when a
 * library has come before us that exports one of them.  One that comes later
 * changes nothing, since RTLD_NOW has bound all calls by then.
 *
 * With R64_LINK_KERNELS defined, CRoaring is linked as usual.  That is for a
 * module that has CRoaring's code in it, with its names hidden, and for
 * programs of their own, such as the tests: sanitizers do not bear
 * RTLD_DEEPBIND.
 *
 * src/portable/kernels.c
 *
 *-------------------------------------------------------------------------
 */
#ifndef R64_LINK_KERNELS
#ifndef _GNU_SOURCE
#define _GNU_SOURCE				/* RTLD_DEEPBIND, RTLD_DEFAULT */
#endif
#include <dlfcn.h>
#endif

#include "kernels.h"

r64_kernels r64_kernel;

#ifdef R64_LINK_KERNELS

const char *
r64_load_kernels(void)
{
#define R64_KERNEL_LINK(name) r64_kernel.name = name;
	R64_KERNELS(R64_KERNEL_LINK)
	return NULL;
}

#else

/* R64_NO_DEEPBIND is to try this where there is one: COPT=-DR64_NO_DEEPBIND. */
#if defined(RTLD_DEEPBIND) && !defined(R64_NO_DEEPBIND)
#define DEEPBIND RTLD_DEEPBIND
#else
#define DEEPBIND 0
#endif

/*
 * A CRoaring that was in the process before us, or that comes without
 * RTLD_DEEPBIND, may have been bound to another library's functions of the
 * same names.  There is no telling inside from outside, but in that case the
 * other library comes first in the global scope.
 */
static bool
is_interposed(void *library, const char *name)
{
	void	   *global = dlsym(RTLD_DEFAULT, name);

	return global != NULL && global != dlsym(library, name);
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
	R64_KERNELS(R64_KERNEL_LOAD)

	return NULL;
}

#endif							/* R64_LINK_KERNELS */
