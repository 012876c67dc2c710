/*-------------------------------------------------------------------------
 *
 * accumulator.c
 *	  A set that grows, by values, ranges or sets.
 *
 * Additions wait in one of three buffers: values, ranges, or sets.  A buffer that
 * outgrows a fixed share of the flat set is merged into it.  So the additions
 * since the last merge pay for the next one, and all merges together cost a few
 * times the input, whatever its shape.  Until it is read, the flat set may be
 * changed in place; then it is legal, but perhaps not canonical.
 *
 * A call that fails leaves the accumulated set as it was: an addition waits until
 * it is merged.  Nothing is taken out again here, as a moving window needs
 * (aggregate/moving.c).
 *
 * src/engine/accumulator.c
 *
 *-------------------------------------------------------------------------
 */
#include "accumulator.h"
#include "setops.h"

/*
 * A buffer starts small, because there can be an accumulator for each of many
 * groups.  It grows to LEAST bytes, unless memory is scarce, or with the flat
 * set: sets to its size, values to half of it, because they are sorted into a
 * second buffer.
 */
#define FIRST_VALUES	8
#define FIRST_RANGES	4
#define FIRST_SETS		128		/* bytes */
#define LEAST_VALUES	(64 * 1024)
#define LEAST_SETS		(128 * 1024)
#define LEAST_SCARCE	(4 * 1024)	/* of either */
#define MOST_BYTES		((size_t) 1 << 30)

/* A set that is smaller than this part of the flat set waits. */
#define IN_PLACE_SHARE	8

/*
 * Up to FEW_VALUES values that wait are searched, not merged, to test an element.
 * To count, more of them are left waiting beside a large flat set: one for each
 * FEW_SHARE bytes.
 */
#define FEW_VALUES		1024
#define FEW_SHARE		128

/* More values than this are faster merged than settled. */
#define FEW_NEW			32

#define UNKNOWN			UINT64_MAX	/* a cardinality */

static const uint8_t empty_set[R64_HEADER_SIZE];

static r64_set
flat_set(const r64_accumulator *acc)
{
	if (acc->flat.base == NULL)
		return r64_open(acc->env, empty_set, sizeof(empty_set));
	return r64_open_buf(acc->env, acc->flat);
}

/* The flat set with an index, which stays until the flat set changes. */
static r64_set
indexed_flat_set(r64_accumulator *acc)
{
	r64_set		flat = flat_set(acc);

	flat.index = acc->index;
	r64_index_set(&flat);
	acc->index = flat.index;
	return flat;
}

static void
release(const r64_accumulator *acc, void *p)
{
	if (p != NULL)
		acc->env->release(p);
}

/* Drops the index and the counts of the flat set, which changes. */
static void
forget_flat(r64_accumulator *acc)
{
	release(acc, acc->index);
	acc->index = NULL;
	acc->card = UNKNOWN;
	acc->settled = 0;
}

static void
replace_flat(r64_accumulator *acc, r64_buf flat)
{
	forget_flat(acc);
	release(acc, acc->flat.base);
	acc->flat = flat;
}

/* Whether a bitset of the flat set takes more bytes than its runs would. */
static bool
has_long_bitset(const r64_accumulator *acc)
{
	r64_set		flat = flat_set(acc);
	r64_cursor	cur;

	for (r64_cursor_start(&cur, &flat); cur.live; r64_cursor_next(&cur))
		for (uint32_t i = 0; i < cur.b.n; i++)
		{
			r64_container c;
			r64_words	scratch;
			bitset_container_t view;

			r64_poll_every(acc->env, i + 1, 1023);
			r64_container_at(acc->env, &cur.b, i, &c);
			if (c.type != R64_BITSET)
				continue;
			view = r64_view_bitset(&c, &scratch);
			if (r64_prefers_runs(c.card, r64_bitset_runs(view.words)))
				return true;
		}
	return false;
}

/* Makes the flat set canonical after changes in place. */
static void
tidy_flat(r64_accumulator *acc)
{
	if (acc->changed_in_place && has_long_bitset(acc))
		replace_flat(acc, r64_canonicalise(acc->env,
										   acc->flat.base + acc->env->headroom,
										   acc->flat.size));
	acc->changed_in_place = false;
}

/* Releases the buffer of sets, which must be empty. */
static void
release_sets(r64_accumulator *acc)
{
	release(acc, acc->sets);
	acc->sets = NULL;
	acc->sets_capacity = 0;
}

/* Returns the bytes that an accumulator takes at first. */
size_t
r64_accumulator_size(void)
{
	return sizeof(r64_accumulator);
}

/* Starts with the empty set. */
void
r64_accumulator_init(r64_accumulator *acc, const r64_env *env)
{
	memset(acc, 0, sizeof(*acc));
	acc->env = env;
	acc->card = UNKNOWN;
}

/* Makes it the empty set again. */
void
r64_accumulator_clear(r64_accumulator *acc)
{
	r64_buf		none = {.base = NULL};

	replace_flat(acc, none);
	acc->nvalues = acc->nranges = acc->sets_size = 0;
	acc->changed_in_place = false;
}

/*
 * Returns the flat set, to which size bytes are to be added.  A bitset that is
 * too long must not make the result so.
 */
static r64_set
flat_set_with(r64_accumulator *acc, size_t size)
{
	if (acc->flat.size + size > acc->env->max_size)
		tidy_flat(acc);
	return flat_set(acc);
}

/* Combines only the flat set with another set, which stays the caller's. */
static void
combine_flat(r64_accumulator *acc, r64_op op, const r64_set *s)
{
	r64_set		a = flat_set_with(acc, s->size);

	replace_flat(acc, r64_combine(op, &a, s));
}

/* Unites the flat set with a set in a buffer, and takes over the buffer. */
static void
unite(r64_accumulator *acc, r64_buf more)
{
	r64_set		b = r64_open_buf(acc->env, more);

	if (acc->flat.base == NULL)
	{
		replace_flat(acc, more);
		return;
	}
	combine_flat(acc, R64_OR, &b);
	release(acc, more.base);
}

static void
merge_values(r64_accumulator *acc)
{
	/* they are sorted, and stay if that fails */
	acc->settled = 0;
	if (acc->nvalues > 0)
		unite(acc, r64_from_values(acc->env, acc->values, acc->nvalues));
	acc->nvalues = 0;
}

static void
merge_ranges(r64_accumulator *acc)
{
	if (acc->nranges > 0)
		unite(acc, r64_from_ranges(acc->env, acc->ranges, acc->nranges));
	acc->nranges = 0;
}

static void
merge_sets(r64_accumulator *acc)
{
	r64_set		a = flat_set_with(acc, acc->sets_size);

	if (acc->sets_size > 0)
		replace_flat(acc, r64_merge_list(acc->sets_op, &a, acc->sets,
										 acc->sets_size));
	acc->sets_size = 0;
}

/* Merges what waits, in the order in which it came: see r64_accumulator_combine. */
static void
merge_all(r64_accumulator *acc)
{
	merge_sets(acc);
	merge_values(acc);
	merge_ranges(acc);
}

/* How many bytes may wait in a buffer: size, within limits. */
static size_t
share(const r64_env *env, size_t size, size_t least)
{
	if (size < least && env->scarce())
		least = LEAST_SCARCE;
	return size < least ? least : size < MOST_BYTES ? size : MOST_BYTES;
}

static void *
resize_buffer(const r64_env *env, void *buffer, size_t size)
{
	return buffer == NULL ? env->alloc(size) : env->resize(buffer, size);
}

/*
 * Lets at least one more value or range wait: grows their buffer, which is full, or
 * merges all that waits.  Returns the buffer.
 */
static void *
grow_or_merge(r64_accumulator *acc, void *items, uint32_t *capacity,
			  uint32_t first, size_t size)
{
	size_t		limit = share(acc->env, acc->flat.size / 2, LEAST_VALUES) / size;
	uint32_t	grown = *capacity == 0 ? first :
		2 * *capacity < limit ? 2 * *capacity : (uint32_t) limit;

	if (*capacity >= limit)
		merge_all(acc);
	else
	{
		items = resize_buffer(acc->env, items, grown * size);
		*capacity = grown;
	}
	return items;
}

/* Adds a value. */
void
r64_accumulate(r64_accumulator *acc, int64_t v)
{
	if (acc->nvalues == acc->values_capacity)
		acc->values = grow_or_merge(acc, acc->values, &acc->values_capacity,
									FIRST_VALUES, sizeof(int64_t));
	acc->values[acc->nvalues++] = v;
}

/* Adds the integers of [lo, hi]. */
void
r64_accumulate_range(r64_accumulator *acc, int64_t lo, int64_t hi)
{
	if (lo > hi)
		return;
	if (acc->nranges == acc->ranges_capacity)
		acc->ranges = grow_or_merge(acc, acc->ranges, &acc->ranges_capacity,
									FIRST_RANGES, sizeof(r64_range));
	acc->ranges[acc->nranges].lo = lo;
	acc->ranges[acc->nranges++].hi = hi;
}

/* Adds a set to the waiting sets; returns false if it should not wait. */
static bool
list_set(r64_accumulator *acc, r64_op op, const r64_set *s)
{
	size_t		size = r64_listed_size(s);
	size_t		limit = share(acc->env, acc->flat.size, LEAST_SETS);

	/* a buffer that is there is used */
	if (limit < acc->sets_capacity)
		limit = acc->sets_capacity;
	/* one that waits alone gains nothing */
	if (size > limit / 2)
		return false;
	if (acc->sets_size + size > limit)
		merge_sets(acc);
	if (acc->sets_size + size > acc->sets_capacity)
	{
		size_t		capacity = acc->sets_capacity > 0 ? acc->sets_capacity : FIRST_SETS;

		while (capacity < acc->sets_size + size)
			capacity *= 2;
		if (capacity > limit)
			capacity = limit;
		acc->sets = resize_buffer(acc->env, acc->sets, capacity);
		acc->sets_capacity = (uint32_t) capacity;
	}
	acc->sets_op = op;
	r64_list_set(acc->sets + acc->sets_size, s);
	acc->sets_size += (uint32_t) size;
	return true;
}

/*
 * Combines the flat set with another in place, if that meets only bitsets, or
 * nothing new.  Returns false if it has to be combined in another way.
 *
 * A set much smaller than the flat set waits, unless the result is asked for each
 * time.
 */
static bool
combine_in_place(r64_accumulator *acc, r64_op op, const r64_set *s)
{
	r64_set		flat = flat_set(acc);
	bool		changed;

	if (acc->flat.base == NULL ||
		(s->size < flat.size / IN_PLACE_SHARE && !acc->asked))
		return false;
	if (!r64_combine_in_place(op, &flat, s, &changed))
		return false;
	if (changed)
	{
		forget_flat(acc);
		acc->changed_in_place = true;
	}
	/* the next sets will probably be combined in place, too */
	if (acc->sets_size == 0)
		release_sets(acc);
	return true;
}

/*
 * Replaces the accumulated set by itself op s.
 *
 * Sets wait for a merge if that can be done in any order: unions or symmetric
 * differences, but not both.  Values and ranges that were added before them
 * may wait with unions only.  Those that are added after them may wait, since
 * they are merged after them.
 */
void
r64_accumulator_combine(r64_accumulator *acc, r64_op op, const r64_set *s)
{
	bool		waits = op == R64_OR || op == R64_XOR;
	r64_set		flat;

	if (!waits || (acc->sets_size > 0 && acc->sets_op != op) ||
		(op == R64_XOR && (acc->nvalues > 0 || acc->nranges > 0)))
		merge_all(acc);
	flat = flat_set(acc);
	if (waits && r64_is_empty(&flat))
		replace_flat(acc, r64_copy(acc->env, s));
	else if (op == R64_ANDNOT ||
			 (!combine_in_place(acc, op, s) &&
			  (!waits || acc->asked || !list_set(acc, op, s))))
		combine_flat(acc, op, s);
	acc->asked = false;
}

/*
 * Whether v is an element.  If only few values wait they are not merged, as a
 * loop that looks before it adds must not merge every time.
 */
bool
r64_accumulator_contains(r64_accumulator *acc, int64_t v)
{
	r64_set		flat;

	if (acc->nvalues > FEW_VALUES || acc->nranges > 0 || acc->sets_size > 0)
		merge_all(acc);
	for (uint32_t i = 0; i < acc->nvalues; i++)
		if (acc->values[i] == v)
			return true;
	flat = indexed_flat_set(acc);
	return r64_contains(&flat, v);
}

/*
 * Whether there is no element.  Not to be called between symmetric differences:
 * sets that wait for one count as elements.
 */
bool
r64_accumulator_is_empty(const r64_accumulator *acc)
{
	/* asked for each row, so it does not open the set: has it a bucket? */
	return acc->flat.size <= R64_HEADER_SIZE && acc->nvalues == 0 &&
		acc->nranges == 0 && acc->sets_size == 0;
}

/*
 * Settles the values that wait: drops values that repeat or that the flat set
 * has, and sorts the others.
 */
static void
settle_values(r64_accumulator *acc)
{
	r64_set		flat = indexed_flat_set(acc);

	while (acc->settled < acc->nvalues)
	{
		int64_t		v = acc->values[acc->settled];
		uint32_t	at = 0;

		R64_SEARCH(at, acc->settled, i, acc->values[i] < v);
		if ((at < acc->settled && acc->values[at] == v) ||
			r64_contains(&flat, v))
		{
			acc->values[acc->settled] = acc->values[--acc->nvalues];
			continue;
		}
		memmove(acc->values + at + 1, acc->values + at,
				(acc->settled - at) * sizeof(int64_t));
		acc->values[at] = v;
		acc->settled++;
	}
}

/*
 * Returns the number of elements.  If only few values wait they are not
 * merged, as a count after each of many values must not copy the set each time.
 */
uint64_t
r64_accumulator_cardinality(r64_accumulator *acc)
{
	if (acc->sets_size > 0 || acc->nranges > 0 ||
		acc->nvalues > FEW_VALUES + acc->flat.size / FEW_SHARE ||
		acc->nvalues - acc->settled > FEW_NEW)
		merge_all(acc);
	else if (acc->nvalues > acc->settled)
		settle_values(acc);
	acc->asked = true;
	if (acc->card == UNKNOWN)
	{
		r64_set		flat = flat_set(acc);

		acc->card = r64_cardinality(&flat);
	}
	return acc->card + acc->nvalues;
}

/* Returns how many elements it has in common with a set. */
uint64_t
r64_accumulator_and_cardinality(r64_accumulator *acc, const r64_set *s)
{
	r64_set		flat;

	merge_all(acc);
	flat = flat_set(acc);
	return r64_and_cardinality(&flat, s);
}

/*
 * Returns the accumulated set; the view is valid until the accumulator
 * changes.
 */
r64_set
r64_accumulator_set(r64_accumulator *acc)
{
	merge_all(acc);
	tidy_flat(acc);
	acc->asked = true;
	release(acc, acc->values);
	release(acc, acc->ranges);
	release_sets(acc);
	acc->values = NULL;
	acc->ranges = NULL;
	acc->values_capacity = acc->ranges_capacity = 0;
	return flat_set(acc);
}
