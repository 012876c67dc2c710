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
 * With R64_LINK_KERNELS defined, a program links CRoaring as usual.  That is
 * for programs of their own, such as the tests: sanitizers do not bear
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

/*
 * A CRoaring that was in the process before us may have been bound to another
 * library's functions of the same names.  There is no telling inside from
 * outside, but in that case the other library comes first in the global scope.
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
	bool		preloaded = false;
	void	   *library = dlopen(ROARING_SONAME, RTLD_NOW | RTLD_NOLOAD);

	if (library != NULL)
	{
		preloaded = true;
		dlclose(library);
	}

	library = dlopen(ROARING_SONAME, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
	if (library == NULL)
		return dlerror();

	/* dlsym gives void *; POSIX lets it hold a function's address. */
#define R64_KERNEL_LOAD(name) \
	if (preloaded && is_interposed(library, #name)) \
		return "another library in this process has replaced " #name "()"; \
	*(void **) &r64_kernel.name = dlsym(library, #name); \
	if (r64_kernel.name == NULL) \
		return ROARING_SONAME " has no function " #name "()";
	R64_KERNELS(R64_KERNEL_LOAD)

	return NULL;
}

#endif							/* R64_LINK_KERNELS */
