/*-------------------------------------------------------------------------
 *
 * count_many.c
 *	  How many elements a combination of many sets has.
 *
 * The sets are walked side by side.  Containers of the same high half and key
 * are counted together and then forgotten.
 *
 * src/engine/count_many.c
 *
 *-------------------------------------------------------------------------
 */
#include "container.h"
#include "writer.h"

/* Values that are counted one by one, rather than as bits. */
#define FEW_VALUES	32

/* A position in a set's containers: high half and key; END after the last. */
#define END			UINT64_MAX

typedef struct cursor
{
	r64_walk	w;
	uint32_t	i;				/* container in the bucket */
	uint64_t	key;
} cursor;

/* Moves to the next bucket if the current one has ended. */
static void
cursor_settle(cursor *c)
{
	while (c->w.live && c->i == c->w.b.n)
	{
		r64_walk_next(&c->w);
		c->i = 0;
	}
	c->key = !c->w.live ? END :
		(uint64_t) c->w.b.high << 16 | r64_bucket_key(&c->w.b, c->i);
}

static void
cursor_next(cursor *c)
{
	c->i++;
	cursor_settle(c);
}

/* Moves forward to the first container whose key is at least that. */
static void
cursor_seek(cursor *c, uint64_t key)
{
	if (c->key >= key)
		return;
	while (c->w.live && c->w.b.high < key >> 16)
	{
		r64_walk_next(&c->w);
		c->i = 0;
	}
	if (c->w.live && c->w.b.high == key >> 16)
		c->i = r64_bucket_seek(&c->w.b, c->i, key & 0xFFFF);
	cursor_settle(c);
}

static r64_container
cursor_container(const cursor *c)
{
	r64_container found;

	r64_container_at(c->w.set->env, &c->w.b, c->i, &found);
	return found;
}

/* Whether a container has few values, which are in an array. */
static bool
is_small(const r64_container *c, uint32_t limit)
{
	return c->type == R64_ARRAY && c->card <= limit;
}

/* Counts the values of the first container that all others have, or none. */
static uint64_t
count_values_of_first(const r64_container *c, size_t n, bool in_others)
{
	uint64_t	count = 0;

	for (uint32_t v = 0; v < c[0].card; v++)
	{
		uint16_t	low = r64_load16(c[0].data + 2 * (size_t) v);
		size_t		i = 1;

		while (i < n && r64_container_contains(&c[i], low) == in_others)
			i++;
		count += i == n;
	}
	return count;
}

/*
 * Counts the distinct values in arrays, or those that occur an odd number of
 * times.  The arrays have FEW_VALUES values at most, in total.
 */
static uint64_t
count_few_values(const r64_container *c, size_t n, bool odd)
{
	uint16_t	values[FEW_VALUES];
	uint32_t	nvalues = 0;
	uint64_t	count = 0;

	for (size_t i = 0; i < n; i++)
	{
		for (uint32_t v = 0; v < c[i].card; v++)
		{
			uint16_t	low = r64_load16(c[i].data + 2 * (size_t) v);
			uint32_t	at = nvalues++;

			for (; at > 0 && values[at - 1] > low; at--)
				values[at] = values[at - 1];
			values[at] = low;
		}
	}
	for (uint32_t v = 0; v < nvalues;)
	{
		uint32_t	first = v;

		while (v < nvalues && values[v] == values[first])
			v++;
		count += odd ? (v - first) & 1 : 1;
	}
	return count;
}

static uint64_t
count_bits(const r64_env *env, r64_op op, const r64_container *c, size_t n)
{
	r64_words	words;
	r64_words	scratch;
	bitset_container_t sum = r64_as_bitset(env, &c[0], &words);
	int			card = (int) c[0].card;

	for (size_t i = 1; i < n; i++)
	{
		bitset_container_t next = r64_bitset_of(env, &c[i], &scratch);

		if (op == R64_OR)
			card = r64_kernel.bitset_container_or(&sum, &next, &sum);
		else if (op == R64_AND)
			card = r64_kernel.bitset_container_and(&sum, &next, &sum);
		else if (op == R64_ANDNOT)
			card = r64_kernel.bitset_container_andnot(&sum, &next, &sum);
		else
			card = r64_kernel.bitset_container_xor(&sum, &next, &sum);
	}
	return (uint64_t) card;
}

/* Counts containers of the same key; for R64_AND may reorder them. */
static uint64_t
count_containers(const r64_env *env, r64_op op, r64_container *c, size_t n)
{
	uint64_t	cards = 0;
	bool		small = true;

	if (n == 1)
		return c[0].card;
	for (size_t i = 0; i < n; i++)
	{
		if (op == R64_AND && c[i].card < c[0].card)
		{
			r64_container smaller = c[i];

			c[i] = c[0];
			c[0] = smaller;
		}
		small = small && is_small(&c[i], FEW_VALUES);
		cards += c[i].card;
	}
	if (op == R64_AND || op == R64_ANDNOT)
	{
		if (is_small(&c[0], FEW_VALUES))
			return count_values_of_first(c, n, op == R64_AND);
	}
	else if (small && cards <= FEW_VALUES)
		return count_few_values(c, n, op == R64_XOR);
	return count_bits(env, op, c, n);
}

/* Every key that all cursors have. */
static uint64_t
count_common(const r64_env *env, cursor *cursors, r64_container *c, size_t n)
{
	uint64_t	sum = 0;
	uint64_t	key = 0;
	size_t		same = 0;		/* cursors in a row that stand on key */

	for (uint64_t step = 0; key != END; step++)
	{
		cursor	   *at = &cursors[step % n];

		r64_poll_every(env, step, 255);
		cursor_seek(at, key);
		if (at->key != key)
			same = 0;
		key = at->key;
		if (++same < n || key == END)
			continue;
		for (size_t i = 0; i < n; i++)
			c[i] = cursor_container(&cursors[i]);
		sum += count_containers(env, R64_AND, c, n);
		key++;
		same = 0;
	}
	return sum;
}

/* Every key of the first cursor. */
static uint64_t
count_rest(const r64_env *env, cursor *cursors, r64_container *c, size_t n)
{
	uint64_t	sum = 0;

	for (uint64_t step = 0; cursors[0].key != END; step++)
	{
		size_t		found = 0;

		r64_poll_every(env, step, 255);
		c[found++] = cursor_container(&cursors[0]);
		for (size_t i = 1; i < n; i++)
		{
			cursor_seek(&cursors[i], cursors[0].key);
			if (cursors[i].key == cursors[0].key)
				c[found++] = cursor_container(&cursors[i]);
		}
		sum += count_containers(env, R64_ANDNOT, c, found);
		cursor_next(&cursors[0]);
	}
	return sum;
}

/* Restores a heap of cursors, least key first, below position at. */
static void
sift_down(cursor **heap, size_t n, size_t at)
{
	cursor	   *moved = heap[at];

	for (;;)
	{
		size_t		child = 2 * at + 1;

		if (child + 1 < n && heap[child + 1]->key < heap[child]->key)
			child++;
		if (child >= n || heap[child]->key >= moved->key)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moved;
}

/* Every key that any cursor has. */
static uint64_t
count_all(const r64_env *env, r64_op op, cursor *cursors, r64_container *c,
		  size_t n)
{
	uint64_t	sum = 0;
	cursor	  **heap = env->alloc(env->arg, n * sizeof(cursor *));

	for (size_t i = 0; i < n; i++)
		heap[i] = &cursors[i];
	for (size_t i = n / 2; i-- > 0;)
		sift_down(heap, n, i);
	for (uint64_t step = 0; heap[0]->key != END; step++)
	{
		uint64_t	key = heap[0]->key;
		size_t		found = 0;

		r64_poll_every(env, step, 255);
		/* each set once: damaged keys may not ascend */
		while (found < n && heap[0]->key == key)
		{
			c[found++] = cursor_container(heap[0]);
			cursor_next(heap[0]);
			sift_down(heap, n, 0);
		}
		sum += count_containers(env, op, c, found);
	}
	env->release(env->arg, heap);
	return sum;
}

/*
 * Counts the elements of n sets combined, without making a set: of their
 * union, of their intersection, those that only the first set has
 * (R64_ANDNOT), or those that an odd number of sets have (R64_XOR).  Returns
 * 0 if n is 0.
 */
uint64_t
r64_many_cardinality(const r64_env *env, r64_op op, const r64_set *sets,
					 size_t n)
{
	cursor	   *cursors;
	r64_container *c;
	uint64_t	sum;

	if (n == 0)
		return 0;
	cursors = env->alloc(env->arg, n * sizeof(cursor));
	c = env->alloc(env->arg, n * sizeof(r64_container));
	for (size_t i = 0; i < n; i++)
	{
		r64_walk_start(&cursors[i].w, &sets[i]);
		cursors[i].i = 0;
		cursor_settle(&cursors[i]);
	}
	if (op == R64_AND)
		sum = count_common(env, cursors, c, n);
	else if (op == R64_ANDNOT)
		sum = count_rest(env, cursors, c, n);
	else
		sum = count_all(env, op, cursors, c, n);
	env->release(env->arg, c);
	env->release(env->arg, cursors);
	return sum;
}
