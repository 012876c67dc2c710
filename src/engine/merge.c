/*-------------------------------------------------------------------------
 *
 * merge.c
 *	  Many sets merged with one, for union and symmetric difference.
 *
 * The containers of all sets are listed and sorted by prefix.  Those of one prefix
 * are combined at once: in a bitset, unless they have few values.  So each value
 * costs setting one bit, and the canonical form of the result is chosen only once.
 * Two sets are combined in setops.c.
 *
 * src/engine/merge.c
 *
 *-------------------------------------------------------------------------
 */
#include "container.h"
#include "setops.h"
#include "sort.h"

#define FEW_VALUES 64			/* sorted rather than put into a bitset */

/* A container of a listed set. */
typedef struct item
{
	uint64_t	prefix_card;	/* high half, key, cardinality - 1 */
	uint64_t	data;			/* twice its offset in the list; + 1: runs */
} item;

typedef struct merge
{
	const r64_operation *op;
	const uint8_t *list;
	r64_writer	w;
} merge;

/* Puts a set into a list, where it takes r64_listed_size bytes. */
void
r64_list_set(uint8_t *at, const r64_set *s)
{
	r64_store64(at, s->size);
	memcpy(at + sizeof(uint64_t), s->bytes, s->size);
}

/* Returns the set at offset *at of a list, and moves that to the next one. */
static r64_set
listed_set(const r64_env *env, const uint8_t *list, size_t *at)
{
	r64_set		s = r64_open(env, list + *at + sizeof(uint64_t),
							 r64_load64(list + *at));

	*at += r64_listed_size(&s);
	return s;
}

/*
 * Lists the containers of all sets of a list in items, unless that is NULL, and
 * returns their number.
 */
static size_t
list_containers(const r64_env *env, const uint8_t *list, size_t size,
				item *items)
{
	size_t		n = 0;

	for (size_t at = 0; at < size;)
	{
		r64_set		s = listed_set(env, list, &at);
		r64_cursor	cur;

		for (r64_cursor_start(&cur, &s); cur.live; r64_cursor_next(&cur))
		{
			for (uint32_t i = 0; items != NULL && i < cur.b.n; i++)
			{
				item	   *it = &items[n + i];
				r64_container c;

				r64_poll_every(env, i + 1, 0x3FFF);
				r64_container_at(env, &cur.b, i, &c);
				it->prefix_card = (uint64_t) cur.b.high << 32 |
					(uint32_t) c.key << 16 | (c.card - 1);
				it->data = (uint64_t) (c.data - list) << 1 |
					(c.type == R64_RUN);
			}
			n += cur.b.n;
		}
	}
	return n;
}

static inline void
open_item(const merge *m, const item *it, r64_container *c)
{
	c->data = m->list + (it->data >> 1);
	c->key = R64_KEY(it->prefix_card);
	c->card = (uint32_t) R64_LOW(it->prefix_card) + 1;
	c->type = it->data & 1 ? R64_RUN :
		c->card <= R64_ARRAY_MAX ? R64_ARRAY : R64_BITSET;
	c->nruns = c->type == R64_RUN ? r64_load16(c->data - 2) : 0;
}

/*
 * Combines n items if they are arrays of at most FEW_VALUES values together, and
 * returns the number of values of the result; else returns UINT32_MAX.
 */
static uint32_t
combine_few(const merge *m, const item *items, size_t n, uint16_t *values)
{
	uint32_t	nvalues = 0;
	uint32_t	kept = 0;

	for (size_t k = 0; k < n; k++)
	{
		nvalues += (uint32_t) R64_LOW(items[k].prefix_card) + 1;
		if (nvalues > FEW_VALUES || items[k].data & 1)
			return UINT32_MAX;
	}
	nvalues = 0;
	for (size_t k = 0; k < n; k++)
	{
		r64_container c;

		open_item(m, &items[k], &c);
		for (uint32_t i = 0; i < c.card; i++)
		{
			uint16_t	v = r64_load16(c.data + 2 * (size_t) i);
			uint32_t	at = nvalues++;

			for (; at > 0 && values[at - 1] > v; at--)
				values[at] = values[at - 1];
			values[at] = v;
		}
	}
	for (uint32_t i = 0, next; i < nvalues; i = next)
	{
		next = i + 1;
		while (next < nvalues && values[next] == values[i])
			next++;
		if (m->op->code == R64_OR || (next - i) % 2 == 1)
			values[kept++] = values[i];
	}
	return kept;
}

/*
 * Applies a container, which for an intersection is not an array, to a bitset.
 * Returns the bitset's cardinality, or 0 if that has to be counted.
 */
uint32_t
r64_apply_container(const r64_operation *op, const r64_env *env,
					uint64_t *words, const r64_container *c)
{
	if (c->type == R64_ARRAY && op->code == R64_OR)
		r64_set_values(words, c->data, c->card);
	else if (c->type == R64_ARRAY)
		r64_flip_values(words, c->data, c->card);
	else if (c->type == R64_RUN && c->nruns <= R64_FEW_RUNS &&
			 op->code == R64_OR)
		r64_set_runs(env, words, c->data, c->nruns);
	else
	{
		r64_words	scratch;
		bitset_container_t x = {.words = words};
		bitset_container_t y = r64_view_as_bitset(env, c, &scratch);

		return (uint32_t) op->bitsets(&x, &y, &x);
	}
	return 0;
}

/*
 * Appends the result for one prefix, from n items and the container that the
 * one set has there, if any.
 */
static void
combine_items(merge *m, const item *items, size_t n, const r64_container *own)
{
	uint16_t	values[FEW_VALUES];
	r64_words	words;
	uint32_t	card = 0;
	r64_container c;

	open_item(m, &items[0], &c);
	if (n > 1)
	{
		c.type = R64_ARRAY;
		c.data = (const uint8_t *) values;
		c.card = combine_few(m, items, n, values);
	}
	if (c.card == 0)
	{
		if (own != NULL)
			r64_writer_container(&m->w, own);
		return;
	}
	if (c.card != UINT32_MAX)
	{
		if (own != NULL)
			r64_combine_containers(m->op, &m->w, own, &c);
		else if (n > 1)
			r64_writer_array(&m->w, c.key, values, c.card);
		else
			r64_writer_container(&m->w, &c);
		return;
	}

	if (own != NULL)
		(void) r64_copy_as_bitset(m->w.env, own, &words);
	else
		memset(words.w, 0, R64_BITSET_BYTES);
	for (size_t i = 0; i < n; i++)
	{
		r64_poll_every(m->w.env, i + 1, 1023);
		open_item(m, &items[i], &c);
		card = r64_apply_container(m->op, m->w.env, words.w, &c);
	}
	r64_writer_bitset(&m->w, R64_KEY(items->prefix_card), words.w, card);
}

/* Merges n items of one high half with the one set's bucket, if any. */
static void
merge_bucket(merge *m, const item *items, size_t n, const r64_bucket *b)
{
	uint32_t	keys = 1;
	uint32_t	j = 0;

	for (size_t i = 1; i < n; i++)
		keys += items[i].prefix_card >> 16 != items[i - 1].prefix_card >> 16;

	/* the one set has most of the keys, or few */
	r64_writer_begin(&m->w, R64_HIGH(items->prefix_card),
					 b != NULL && b->n > keys ? b->n : keys,
					 b != NULL && b->run_flags != NULL);
	for (size_t i = 0, next; i < n; i = next)
	{
		uint64_t	prefix = items[i].prefix_card >> 16;
		r64_container own;
		bool		has_own = false;

		next = i + 1;
		while (next < n && items[next].prefix_card >> 16 == prefix)
			next++;
		if (b != NULL)
		{
			uint32_t	first = j;

			j = r64_bucket_seek(b, j, (uint16_t) prefix);
			if (first < j)
				r64_writer_copy(&m->w, b, first, j);
			has_own = j < b->n && r64_bucket_key(b, j) == (uint16_t) prefix;
			if (has_own)
				r64_container_at(m->w.env, b, j++, &own);
		}
		combine_items(m, items + i, next - i, has_own ? &own : NULL);
		r64_poll_every(m->w.env, i, 63);
	}
	if (b != NULL && j < b->n)
		r64_writer_copy(&m->w, b, j, b->n);
	r64_writer_end(&m->w);
}

static r64_buf
merge_items(merge *m, const r64_set *s, const item *items, size_t n)
{
	r64_cursor	cur;

	r64_cursor_start(&cur, s);
	for (size_t i = 0, next; i < n; i = next)
	{
		uint32_t	high = R64_HIGH(items[i].prefix_card);

		if (cur.live && cur.b.high < high)
			r64_pass_buckets(&m->w, &cur, true, &high);
		next = i + 1;
		while (next < n && R64_HIGH(items[next].prefix_card) == high)
			next++;
		if (cur.live && cur.b.high == high)
		{
			merge_bucket(m, items + i, next - i, &cur.b);
			r64_cursor_next(&cur);
		}
		else
			merge_bucket(m, items + i, next - i, NULL);
	}
	if (cur.live)
		r64_pass_buckets(&m->w, &cur, true, NULL);
	return r64_writer_finish(&m->w);
}

/*
 * Returns s op all sets of a list at once; op is R64_OR or R64_XOR, so their
 * order does not matter.  The list is size bytes: sets that r64_list_set has
 * put there one after the other.
 */
r64_buf
r64_merge_list(r64_op opcode, const r64_set *s, const uint8_t *list,
			   size_t size)
{
	const r64_env *env = s->env;
	r64_operation op = r64_get_operation(opcode);
	merge		m = {.op = &op,.list = list};
	size_t		at = 0;
	r64_set		first = listed_set(env, list, &at);
	item	   *items;
	size_t		n;
	r64_buf		result;

	if (at == size)
		return r64_combine(opcode, s, &first);
	n = list_containers(env, list, size, NULL);
	items = env->alloc((n + 1) * sizeof(item));
	(void) list_containers(env, list, size, items);
	r64_sort_items(env, &items->prefix_card, n, sizeof(item) / sizeof(uint64_t),
				   16);
	r64_writer_init(&m.w, env, s->size + size);
	result = merge_items(&m, s, items, n);
	env->release(items);
	return result;
}
