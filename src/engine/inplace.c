/*-------------------------------------------------------------------------
 *
 * inplace.c
 *	  A set combined with another in place.
 *
 * This is possible where only bitsets change and remain bitsets, or nothing
 * changes.  All containers of the other set are tried first, so that a set is
 * changed as a whole or not at all; where it cannot be, the caller makes a new set.
 *
 * src/engine/inplace.c
 *
 *-------------------------------------------------------------------------
 */
#include "container.h"
#include "pairs.h"
#include "setops.h"

/*
 * Whether c can be applied to own in place: if a union adds nothing, as to a set
 * that has become large, or if a bitset keeps too many values for an array, which
 * are counted only where that is fast.  Fails if c is damaged.
 */
static bool
can_apply(const r64_env *env, r64_op op, const r64_container *own,
		  const r64_container *c)
{
	uint32_t	sum = own->card + c->card;

	if (own->type != R64_BITSET)
		return op == R64_OR && r64_container_is_subset(env, c, own);
	if (c->type == R64_RUN)
		r64_check_runs(env, c);
	if (op == R64_AND)
		return sum > UINT16_MAX + 1 + R64_ARRAY_MAX;
	if (op == R64_OR || own->card > c->card + R64_ARRAY_MAX)
		return true;
	return c->type == R64_BITSET &&
		sum - 2 * r64_in_common(env, own, c) > R64_ARRAY_MAX;
}

/* Applies container c to own, in place; keycard is own's in its bucket's header. */
static void
apply(const r64_operation *op, const r64_env *env, const r64_container *own,
	  const uint8_t *keycard, const r64_container *c)
{
	r64_words	scratch;
	bitset_container_t bitset;
	uint32_t	card;

	if (own->type != R64_BITSET)
		return;
	bitset = r64_view_bitset(own, &scratch);
	card = r64_apply_container(op, env, bitset.words, c);
	if (card == 0)
		card = (uint32_t)
			r64_kernel.bitset_container_compute_cardinality(&bitset);
	/* fewer only if a container does not match its header */
	if (card <= R64_ARRAY_MAX)
		card = R64_ARRAY_MAX + 1;
	if (bitset.words == scratch.w)
		memcpy((uint8_t *) (uintptr_t) own->data, scratch.w, R64_BITSET_BYTES);
	r64_store16((uint8_t *) (uintptr_t) keycard + 2, (uint16_t) (card - 1));
}

static void
poll_later(void)
{
}

/*
 * Replaces a by a op b in place, if that is possible; a's bytes must be writable.
 * *changed says whether a bitset was rewritten, even to the same bits.  Returns
 * false, with a as it was, if it is not possible.  Fails, with a as it was, if
 * the runs of b do not ascend.  Bitsets remain bitsets, even where runs would take
 * fewer bytes: then a is a legal set, but perhaps not canonical.
 *
 * An intersection changes all of a, so that each container of a needs a partner;
 * the other operations change only what b has, so that each of b does.
 */
bool
r64_combine_in_place(r64_op opcode, const r64_set *a, const r64_set *b,
					 bool *changed)
{
	r64_operation op = r64_get_operation(opcode);
	r64_env		env = *a->env;
	r64_set		sets[2] = {*a, *b};
	int			n = opcode == R64_AND ? 0 : 1;	/* each container of this set
												 * needs a partner */
	r64_container c[2];
	r64_container *own = &c[n];
	r64_container *other = &c[1 - n];
	r64_pairs	p;

	*changed = false;
	r64_pairs_start(&p, &sets[n], &sets[1 - n], true);
	while (r64_pairs_next(&p, &c[0], &c[1]))
	{
		if (!can_apply(a->env, opcode, own, other))
			return false;
		*changed |= own->type == R64_BITSET;
	}
	if (!r64_pairs_complete(&p))
		return false;
	if (!*changed)
		return true;

	/* once begun, it has to be completed */
	env.poll = poll_later;
	sets[0].env = sets[1].env = &env;
	r64_pairs_start(&p, &sets[n], &sets[1 - n], true);
	while (r64_pairs_next(&p, &c[0], &c[1]))
		apply(&op, &env, own, n == 0 ? p.a.b.keycards + 4 * (size_t) (p.i - 1) :
			  p.b.b.keycards + 4 * (size_t) (p.j - 1), other);
	return true;
}
