/*-------------------------------------------------------------------------
 *
 * model.c
 *	  The oracle's set operations.  Its bytes are made in encode.c.
 *
 * Ranges are compared as "biased" numbers: the element with its sign bit
 * turned over, as unsigned, which has the order of int64.
 *
 * test/unit/model.c
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "unit.h"
#include "model.h"

static uint64_t
bias(int64_t v)
{
	return (uint64_t) v ^ (UINT64_C(1) << 63);
}

static int64_t
unbias(uint64_t u)
{
	return (int64_t) (u ^ (UINT64_C(1) << 63));
}

void
range_list_add(range_list *list, int64_t lo, int64_t hi)
{
	if (list->n == list->room)
	{
		size_t		room = list->room * 2 + 8;
		r64_range  *ranges = unit_alloc(room * sizeof(r64_range));

		if (list->n > 0)
			memcpy(ranges, list->ranges, list->n * sizeof(r64_range));
		list->ranges = ranges;
		list->room = room;
	}
	list->ranges[list->n].lo = lo;
	list->ranges[list->n].hi = hi;
	list->n++;
}

static int
compare_ranges(const void *a, const void *b)
{
	int64_t		x = ((const r64_range *) a)->lo;
	int64_t		y = ((const r64_range *) b)->lo;

	return (x > y) - (x < y);
}

model
model_make(const range_list *list)
{
	model		m;
	r64_range  *sorted = unit_alloc((list->n + 1) * sizeof(r64_range));
	size_t		n = 0;
	bool		in_order = true;

	m.runs = unit_alloc((list->n + 1) * sizeof(r64_range));
	m.n = 0;
	for (size_t i = 0; i < list->n; i++)
	{
		if (list->ranges[i].lo <= list->ranges[i].hi)
			sorted[n++] = list->ranges[i];
	}
	for (size_t i = 1; i < n && in_order; i++)
		in_order = sorted[i - 1].lo <= sorted[i].lo;
	if (!in_order)
		qsort(sorted, n, sizeof(r64_range), compare_ranges);
	for (size_t i = 0; i < n; i++)
	{
		r64_range  *last = m.n > 0 ? &m.runs[m.n - 1] : NULL;

		if (last != NULL && (last->hi == INT64_MAX ||
							 sorted[i].lo <= last->hi + 1))
		{
			if (sorted[i].hi > last->hi)
				last->hi = sorted[i].hi;
		}
		else
			m.runs[m.n++] = sorted[i];
	}
	return m;
}

model
model_from_values(const int64_t *values, size_t n)
{
	range_list	list = {0};

	for (size_t i = 0; i < n; i++)
		range_list_add(&list, values[i], values[i]);
	return model_make(&list);
}

model
model_range(int64_t lo, int64_t hi)
{
	range_list	list = {0};

	range_list_add(&list, lo, hi);
	return model_make(&list);
}

uint64_t
model_cardinality(const model *m)
{
	return model_count_range(m, INT64_MIN, INT64_MAX);
}

/* The first run that ends at or after v; m->n if there is none. */
static size_t
model_find(const model *m, int64_t v)
{
	size_t		lo = 0;
	size_t		hi = m->n;

	while (lo < hi)
	{
		size_t		mid = (lo + hi) / 2;

		if (m->runs[mid].hi < v)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

bool
model_contains(const model *m, int64_t v)
{
	size_t		i = model_find(m, v);

	return i < m->n && m->runs[i].lo <= v;
}

bool
model_equal(const model *a, const model *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
	{
		if (a->runs[i].lo != b->runs[i].lo || a->runs[i].hi != b->runs[i].hi)
			return false;
	}
	return true;
}

/*
 * Whether biased pos is in the set; *end is set to the last position up to
 * which the answer holds.  *i is the caller's place in the runs.
 */
static bool
segment_at(const model *m, size_t *i, uint64_t pos, uint64_t *end)
{
	while (*i < m->n && bias(m->runs[*i].hi) < pos)
		(*i)++;
	if (*i == m->n)
	{
		*end = UINT64_MAX;
		return false;
	}
	if (bias(m->runs[*i].lo) <= pos)
	{
		*end = bias(m->runs[*i].hi);
		return true;
	}
	*end = bias(m->runs[*i].lo) - 1;
	return false;
}

model
model_combine(r64_op op, const model *a, const model *b)
{
	range_list	list = {0};
	size_t		i = 0;
	size_t		j = 0;
	uint64_t	pos = 0;

	for (;;)
	{
		uint64_t	a_end;
		uint64_t	b_end;
		uint64_t	end;
		bool		in_a = segment_at(a, &i, pos, &a_end);
		bool		in_b = segment_at(b, &j, pos, &b_end);
		bool		in = false;

		switch (op)
		{
			case R64_OR:
				in = in_a || in_b;
				break;
			case R64_AND:
				in = in_a && in_b;
				break;
			case R64_ANDNOT:
				in = in_a && !in_b;
				break;
			case R64_XOR:
				in = in_a != in_b;
				break;
		}
		end = a_end < b_end ? a_end : b_end;
		if (in)
			range_list_add(&list, unbias(pos), unbias(end));
		if (end == UINT64_MAX)
			return model_make(&list);
		pos = end + 1;
	}
}

uint64_t
model_count_range(const model *m, int64_t lo, int64_t hi)
{
	uint64_t	count = 0;

	for (size_t i = 0; i < m->n; i++)
	{
		int64_t		from = m->runs[i].lo > lo ? m->runs[i].lo : lo;
		int64_t		to = m->runs[i].hi < hi ? m->runs[i].hi : hi;

		if (from <= to)
			count += (uint64_t) to - (uint64_t) from + 1;
	}
	return count;
}

bool
model_select(const model *m, uint64_t n, int64_t *v)
{
	for (size_t i = 0; i < m->n; i++)
	{
		uint64_t	length = (uint64_t) m->runs[i].hi -
			(uint64_t) m->runs[i].lo + 1;

		if (n < length)
		{
			*v = (int64_t) ((uint64_t) m->runs[i].lo + n);
			return true;
		}
		n -= length;
	}
	return false;
}

bool
model_next(const model *m, int64_t v, int64_t *found)
{
	size_t		i = model_find(m, v);

	if (i == m->n)
		return false;
	*found = m->runs[i].lo > v ? m->runs[i].lo : v;
	return true;
}

bool
model_prev(const model *m, int64_t v, int64_t *found)
{
	size_t		i = model_find(m, v);

	if (i < m->n && m->runs[i].lo <= v)
	{
		*found = v;
		return true;
	}
	if (i == 0)
		return false;
	*found = m->runs[i - 1].hi;
	return true;
}

bool
model_next_absent(const model *m, int64_t v, int64_t *found)
{
	size_t		i = model_find(m, v);

	if (i == m->n || m->runs[i].lo > v)
	{
		*found = v;
		return true;
	}
	if (m->runs[i].hi == INT64_MAX)
		return false;
	*found = m->runs[i].hi + 1;
	return true;
}

bool
model_prev_absent(const model *m, int64_t v, int64_t *found)
{
	size_t		i = model_find(m, v);

	if (i == m->n || m->runs[i].lo > v)
	{
		*found = v;
		return true;
	}
	if (m->runs[i].lo == INT64_MIN)
		return false;
	*found = m->runs[i].lo - 1;
	return true;
}

bool
model_contains_range(const model *m, int64_t lo, int64_t hi)
{
	size_t		i = model_find(m, lo);

	if (lo > hi)
		return true;
	return i < m->n && m->runs[i].lo <= lo && m->runs[i].hi >= hi;
}

bool
model_shift(const model *m, int64_t delta, model *shifted)
{
	range_list	list = {0};

	if (m->n > 0)
	{
		int64_t		first = m->runs[0].lo;
		int64_t		last = m->runs[m->n - 1].hi;

		if (delta > 0 ? last > INT64_MAX - delta : first < INT64_MIN - delta)
			return false;
	}
	for (size_t i = 0; i < m->n; i++)
		range_list_add(&list, m->runs[i].lo + delta, m->runs[i].hi + delta);
	*shifted = model_make(&list);
	return true;
}

int64_t *
model_values(const model *m, size_t *n)
{
	uint64_t	count = model_cardinality(m);
	int64_t    *values = unit_alloc((count + 1) * sizeof(int64_t));
	size_t		k = 0;

	for (size_t i = 0; i < m->n; i++)
	{
		uint64_t	length = (uint64_t) m->runs[i].hi -
			(uint64_t) m->runs[i].lo + 1;

		for (uint64_t j = 0; j < length; j++)
			values[k++] = (int64_t) ((uint64_t) m->runs[i].lo + j);
	}
	*n = k;
	return values;
}

r64_set
model_open(const model *m)
{
	size_t		size;
	uint8_t    *bytes = model_encode(m, &size, NULL);

	bytes = unit_place(bytes, size, (unsigned) unit_below(8));
	return r64_open(&unit_env, bytes, size);
}
