/*-------------------------------------------------------------------------
 *
 * inplace.c
 *	  A set combined with another in place.
 *
 * This is possible where only bitsets change, and stay such, or nothing does.
 * All containers of the other set are tried first, so that a set is changed as
 * a whole or not at all.
 *
 * src/engine/inplace.c
 *
 *-------------------------------------------------------------------------
 */
#include "container.h"
#include "setops.h"

/* A set that is walked, and a container of it. */
typedef struct inplace_side
{
	r64_walk	walk;
	uint32_t	next;			/* container in the walk's bucket */
	r64_container c;
} inplace_side;

/* The containers of one of two sets, each with its partner in the other one. */
typedef struct inplace_pairs
{
	inplace_side own;			/* of the set that changes */
	inplace_side other;
	inplace_side *each;
	inplace_side *partner;
} inplace_pairs;

/* An intersection changes all of a; the other operations only what b has. */
static void
start_pairs(inplace_pairs *p, r64_op op, const r64_set *a, const r64_set *b)
{
	r64_walk_start(&p->own.walk, a);
	r64_walk_start(&p->other.walk, b);
	p->own.next = p->other.next = 0;
	p->each = op == R64_AND ? &p->own : &p->other;
	p->partner = op == R64_AND ? &p->other : &p->own;
}

/*
 * Moves to the next pair.  Returns false at the end, or where a container has
 * no partner, which is before the end of the walk.
 */
static inline bool
next_pair(inplace_pairs *p)
{
	inplace_side *each = p->each;
	inplace_side *partner = p->partner;
	const r64_bucket *x = &each->walk.b;
	const r64_bucket *y = &partner->walk.b;
	uint16_t	key;

	while (each->walk.live && each->next == x->n)
	{
		r64_walk_next(&each->walk);
		each->next = partner->next = 0;
	}
	if (!each->walk.live)
		return false;
	while (partner->walk.live && y->high < x->high)
		r64_walk_next(&partner->walk);
	if (!partner->walk.live || y->high != x->high)
		return false;
	key = r64_bucket_key(x, each->next);
	partner->next = r64_bucket_seek(y, partner->next, key);
	if (partner->next == y->n || r64_bucket_key(y, partner->next) != key)
		return false;
	r64_container_at(each->walk.set->env, x, each->next++, &each->c);
	r64_container_at(partner->walk.set->env, y, partner->next++, &partner->c);
	r64_poll_every(each->walk.set->env, each->next, 255);
	return true;
}

/*
 * Whether c can be applied to own in place: if a union adds nothing, as when it
 * has become large, or if a bitset keeps too many values for an array.  That is
 * counted only where it is fast.  Fails if c is damaged.
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

/* Applies container c to the other set's, in place. */
static void
apply(const r64_operation *op, inplace_side *own, const r64_container *c)
{
	r64_words	scratch;
	bitset_container_t bitset;
	uint8_t    *keycard;
	uint32_t	card;

	if (own->c.type != R64_BITSET)
		return;
	bitset = r64_view_bitset(&own->c, &scratch);
	r64_apply_container(op, own->walk.set->env, &bitset, c);
	card = r64_count_bits(&bitset);
	/* fewer only if a container has not what its header says */
	if (card <= R64_ARRAY_MAX)
		card = R64_ARRAY_MAX + 1;
	if (bitset.words == scratch.w)
		memcpy((uint8_t *) (uintptr_t) own->c.data, scratch.w, R64_BITSET_BYTES);
	keycard = (uint8_t *) (uintptr_t) own->walk.b.keycards +
		4 * (size_t) (own->next - 1);
	r64_store16(keycard + 2, (uint16_t) (card - 1));
}

static void
poll_later(void)
{
}

/*
 * Replaces a by a op b in place, if that is possible; a's bytes must be writable.
 * *changed says whether a bitset was, even if it is as it was.  Returns false if it
 * is not possible, and nothing has been done.  Fails before anything
 * is, if the runs of b do not ascend.  The bitsets stay such, even where runs
 * would take fewer bytes: a is a legal set then, but perhaps not canonical.
 */
bool
r64_combine_in_place(r64_op opcode, const r64_set *a, const r64_set *b,
					 bool *changed)
{
	r64_operation op = r64_get_operation(opcode);
	r64_env		env = *a->env;
	r64_set		target = *a;
	r64_set		other = *b;
	inplace_pairs p;

	*changed = false;
	start_pairs(&p, opcode, a, b);
	while (next_pair(&p))
	{
		if (!can_apply(a->env, opcode, &p.own.c, &p.other.c))
			return false;
		*changed |= p.own.c.type == R64_BITSET;
	}
	if (p.each->walk.live)
		return false;
	if (!*changed)
		return true;

	/* once begun, it has to be completed */
	env.poll = poll_later;
	target.env = other.env = &env;
	start_pairs(&p, opcode, &target, &other);
	while (next_pair(&p))
		apply(&op, &p.own, &p.other.c);
	return true;
}
