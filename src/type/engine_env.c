/*-------------------------------------------------------------------------
 *
 * engine_env.c
 *	  The engine's link to the server: memory, failures, interrupts.
 *
 * Everything the engine allocates is palloc'd in CurrentMemoryContext, so what
 * a failing call leaves behind is freed with the context.  Its buffers may
 * exceed MaxAllocSize by its slack, hence the huge variants.  Its results
 * never do, because of max_size.
 *
 * src/type/engine_env.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/memnodes.h"
#include "utils/memutils.h"

#include "roaring64.h"

static void env_fail(r64_error error, const char *reason) R64_NORETURN;

static void *
env_alloc(size_t size)
{
	return MemoryContextAllocHuge(CurrentMemoryContext, size);
}

/*
 * Many groups share a context.  Once it has half of work_mem, the buffers of each
 * group must stay below the size that the planner assumes for a state (SSPACE).
 */
static bool
env_scarce(void)
{
	return CurrentMemoryContext->mem_allocated > (Size) work_mem * 1024 / 2;
}

static void
env_poll(void)
{
	CHECK_FOR_INTERRUPTS();
}

/*
 * Reports that a value, array or text would not fit.  The hint is a full
 * sentence that says what to do instead.
 */
void
roaring64_too_large(const char *what, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("%s exceeds the maximum allowed size (%zu bytes)",
					what, (size_t) MaxAllocSize),
			 errhint("%s", hint)));
}

/*
 * Reports a damaged stored value; no other function does. bytes.c reports
 * bytes from elsewhere.
 */
static void
env_fail(r64_error error, const char *reason)
{
	switch (error)
	{
		case R64_CORRUPT:
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("invalid roaring64 value"),
					 errdetail("The stored bytes are damaged: %s.", reason)));
			break;
		case R64_TOO_LARGE:
			roaring64_too_large("roaring64 value",
								"Split the set into several values with roaring64_split.");
			break;
	}
	elog(ERROR, "unrecognized roaring64 engine error: %d", (int) error);
}

#define ENV_HOOKS \
	.alloc = env_alloc, \
	.resize = repalloc_huge, \
	.release = pfree, \
	.scarce = env_scarce, \
	.poll = env_poll, \
	.fail = env_fail

const r64_env roaring64_env = {
	ENV_HOOKS,
	.headroom = VARHDRSZ,
	.max_size = MaxAllocSize - VARHDRSZ
};

const r64_env roaring64_count_env = {
	ENV_HOOKS,
	.headroom = VARHDRSZ,
	.max_size = MaxAllocHugeSize / 2
};
