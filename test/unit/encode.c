/*-------------------------------------------------------------------------
 *
 * encode.c
 *	  A model's bytes, written by the format's description.
 *
 * The container rule and the layout are spelled out here a second time, from
 * RoaringFormatSpec and the head of r64.h, and not taken from the engine.
 *
 * test/unit/encode.c
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "unit.h"
#include "model.h"

#define LEGAL_MAX (1 << 20)		/* bytes after which legal means canonical */

typedef struct piece
{
	uint16_t	first;
	uint16_t	last;
} piece;

/* The part of a set that one container holds. */
typedef struct container
{
	uint64_t	number;			/* the elements' upper 48 bits */
	size_t		from;			/* its pieces, each a maximal run */
	size_t		npieces;
	uint32_t	card;
} container;

typedef enum container_type
{
	ARRAY,
	BITSET,
	RUN
} container_type;

typedef struct encoder
{
	piece	   *pieces;
	size_t		npieces;
	size_t		pieces_room;
	container  *chunks;
	size_t		nchunks;
	size_t		chunks_room;
	uint8_t    *out;
	size_t		size;
	size_t		room;
	bool		canonical;
	r64_stats	stats;
} encoder;

/* Room for one more item of an array; gives the array's new place. */
static void *
grow(void *items, size_t n, size_t *room, size_t item_size)
{
	void	   *larger;

	if (n < *room)
		return items;
	*room = *room * 2 + 64;
	larger = unit_alloc(*room * item_size);
	if (n > 0)
		memcpy(larger, items, n * item_size);
	return larger;
}

static void
add_piece(encoder *e, uint64_t number, uint16_t first, uint16_t last)
{
	container  *c;

	if (e->nchunks == 0 || e->chunks[e->nchunks - 1].number != number)
	{
		e->chunks = grow(e->chunks, e->nchunks, &e->chunks_room,
						 sizeof(container));
		c = &e->chunks[e->nchunks++];
		c->number = number;
		c->from = e->npieces;
		c->npieces = 0;
		c->card = 0;
	}
	c = &e->chunks[e->nchunks - 1];
	e->pieces = grow(e->pieces, e->npieces, &e->pieces_room, sizeof(piece));
	e->pieces[e->npieces].first = first;
	e->pieces[e->npieces].last = last;
	e->npieces++;
	c->npieces++;
	c->card += (uint32_t) (last - first) + 1;
}

/* Cuts the part of the model that lies in [lo, hi] into chunks. */
static void
cut(encoder *e, const model *m, int64_t lo, int64_t hi)
{
	for (size_t i = 0; i < m->n; i++)
	{
		int64_t		from = m->runs[i].lo > lo ? m->runs[i].lo : lo;
		int64_t		to = m->runs[i].hi < hi ? m->runs[i].hi : hi;
		uint64_t	first;
		uint64_t	last;

		if (from > to)
			continue;
		first = (uint64_t) from >> 16;
		last = (uint64_t) to >> 16;
		for (uint64_t number = first; number <= last; number++)
			add_piece(e, number,
					  number == first ? (uint16_t) (uint64_t) from : 0,
					  number == last ? (uint16_t) (uint64_t) to : 0xffff);
	}
}

static void
make_room(encoder *e, size_t nbytes)
{
	uint8_t    *larger;

	if (e->size + nbytes <= e->room)
		return;
	e->room = e->room * 2 + nbytes + 256;
	larger = unit_alloc(e->room);
	if (e->size > 0)
		memcpy(larger, e->out, e->size);
	e->out = larger;
}

static void
put(encoder *e, uint64_t value, unsigned nbytes)
{
	make_room(e, nbytes);
	for (unsigned i = 0; i < nbytes; i++)
		e->out[e->size++] = (uint8_t) (value >> (8 * i));
}

static container_type
choose(const encoder *e, const container *c)
{
	bool		small = c->card <= 4096;
	bool		run;

	if (small)
		run = 2 + 4 * c->npieces < 2 * c->card;
	else
		run = 2 + 4 * c->npieces < 8192;
	/* but not 65536 full containers as bitsets */
	if (!e->canonical && e->size < LEGAL_MAX)
		run = unit_one_in(2);
	return run ? RUN : small ? ARRAY : BITSET;
}

/* Sets the bits first to last. */
static void
set_bits(uint8_t *bits, uint32_t first, uint32_t last)
{
	uint32_t	v = first;

	while (v <= last)
	{
		if (v % 8 == 0 && v + 7 <= last)
		{
			bits[v / 8] = 0xff;
			v += 8;
		}
		else
		{
			bits[v / 8] |= (uint8_t) (1 << (v % 8));
			v++;
		}
	}
}

static void
put_container(encoder *e, const container *c, container_type type)
{
	const piece *pieces = e->pieces + c->from;
	uint8_t		bits[8192];

	switch (type)
	{
		case ARRAY:
			e->stats.arrays++;
			for (size_t i = 0; i < c->npieces; i++)
			{
				for (uint32_t v = pieces[i].first; v <= pieces[i].last; v++)
					put(e, v, 2);
			}
			break;
		case BITSET:
			e->stats.bitsets++;
			memset(bits, 0, sizeof(bits));
			for (size_t i = 0; i < c->npieces; i++)
				set_bits(bits, pieces[i].first, pieces[i].last);
			make_room(e, sizeof(bits));
			memcpy(e->out + e->size, bits, sizeof(bits));
			e->size += sizeof(bits);
			break;
		case RUN:
			e->stats.runs++;
			put(e, c->npieces, 2);
			for (size_t i = 0; i < c->npieces; i++)
			{
				put(e, pieces[i].first, 2);
				put(e, (uint64_t) (pieces[i].last - pieces[i].first), 2);
			}
			break;
	}
}

/* One bucket of n chunks, all of one high half. */
static void
put_bucket(encoder *e, const container *chunks, uint32_t n)
{
	container_type *types = unit_alloc(n * sizeof(container_type));
	bool		has_runs = false;
	size_t		cookie;
	size_t		offsets = 0;
	bool		has_offsets;

	e->stats.buckets++;
	for (uint32_t i = 0; i < n; i++)
	{
		types[i] = choose(e, &chunks[i]);
		has_runs |= types[i] == RUN;
	}
	if (!e->canonical && unit_one_in(8))
		has_runs = true;
	put(e, chunks[0].number >> 16, 4);
	cookie = e->size;
	if (has_runs)
	{
		put(e, 12347 | (uint64_t) (n - 1) << 16, 4);
		for (uint32_t i = 0; i < n; i += 8)
		{
			unsigned	flags = 0;

			for (uint32_t j = i; j < n && j < i + 8; j++)
				flags |= (unsigned) (types[j] == RUN) << (j - i);
			put(e, flags, 1);
		}
	}
	else
	{
		put(e, 12346, 4);
		put(e, n, 4);
	}
	for (uint32_t i = 0; i < n; i++)
	{
		put(e, chunks[i].number & 0xffff, 2);
		put(e, chunks[i].card - 1, 2);
	}
	has_offsets = !has_runs || n >= 4;
	if (has_offsets)
	{
		offsets = e->size;
		for (uint32_t i = 0; i < n; i++)
			put(e, 0, 4);
	}
	for (uint32_t i = 0; i < n; i++)
	{
		if (has_offsets)
		{
			uint32_t	at = (uint32_t) (e->size - cookie);

			memcpy(e->out + offsets + 4 * (size_t) i, &at, 4);
		}
		e->stats.cardinality += chunks[i].card;
		put_container(e, &chunks[i], types[i]);
	}
}

static void
put_empty_bucket(encoder *e, uint64_t high)
{
	put(e, high, 4);
	put(e, 12346, 4);
	put(e, 0, 4);
}

static uint8_t *
encode(encoder *e, const model *m, size_t *size)
{
	uint64_t	nbuckets = 0;
	int64_t		last_high = -1;
	size_t		i = 0;

	/* stored order is unsigned: non-negative elements come first */
	cut(e, m, 0, INT64_MAX);
	cut(e, m, INT64_MIN, -1);
	put(e, 0, 8);
	while (i < e->nchunks)
	{
		int64_t		high = (int64_t) (e->chunks[i].number >> 16);
		size_t		n = 1;

		while (i + n < e->nchunks &&
			   (int64_t) (e->chunks[i + n].number >> 16) == high)
			n++;
		if (!e->canonical && high > last_high + 1 && unit_one_in(4))
		{
			put_empty_bucket(e, (uint64_t) last_high + 1 +
							 unit_below((uint64_t) (high - last_high - 1)));
			nbuckets++;
		}
		put_bucket(e, e->chunks + i, (uint32_t) n);
		nbuckets++;
		last_high = high;
		i += n;
	}
	if (!e->canonical && last_high < 0xffffffff && unit_one_in(4))
	{
		put_empty_bucket(e, unit_between((uint64_t) (last_high + 1),
										 0xffffffff));
		nbuckets++;
	}
	memcpy(e->out, &nbuckets, 8);
	*size = e->size;
	return e->out;
}

uint8_t *
model_encode(const model *m, size_t *size, r64_stats *stats)
{
	encoder		e = {0};
	uint8_t    *bytes;

	e.canonical = true;
	bytes = encode(&e, m, size);
	if (stats != NULL)
		*stats = e.stats;
	return bytes;
}

uint8_t *
model_encode_legal(const model *m, size_t *size)
{
	encoder		e = {0};

	return encode(&e, m, size);
}
