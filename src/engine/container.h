/*-------------------------------------------------------------------------
 *
 * container.h
 *	  Questions to one container.
 *
 * Two containers are combined in setops.c.
 *
 * src/engine/container.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef R64_CONTAINER_H
#define R64_CONTAINER_H

#include "format.h"

#define R64_LOW_MAX 0xFFFF

/* Whether a container has all values, as in long runs. */
static inline bool
r64_container_is_full(const r64_container *c)
{
	return c->card == R64_LOW_MAX + 1 && c->type == R64_RUN;
}

extern int32_t r64_find_run(const uint8_t *runs, uint32_t n, uint32_t x);
extern bool r64_container_contains(const r64_container *c, uint32_t low);
extern uint16_t r64_container_max(const r64_container *c);
extern uint32_t r64_container_below(const r64_container *c, uint32_t low);
extern uint16_t r64_container_select(const r64_container *c, uint32_t n);
extern uint16_t r64_container_run_end(const r64_container *c, uint32_t low);
extern size_t r64_container_read(const r64_container *c, uint64_t base,
								 uint32_t lo, uint32_t hi, bool reverse,
								 int64_t *out, size_t n);
extern uint32_t r64_in_common(const r64_env *env, const r64_container *a,
							  const r64_container *b);
extern bool r64_container_is_subset(const r64_env *env, const r64_container *a,
									const r64_container *b);

#endif							/* R64_CONTAINER_H */
