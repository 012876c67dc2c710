/*-------------------------------------------------------------------------
 *
 * format.h
 *	  The portable format as structs: buckets, containers, and reading them.  Sets
 *	  are written in writer.c, and bytes from elsewhere judged in validate.c.
 *
 * Layout of a set (RoaringFormatSpec; all numbers little-endian):
 *
 *	u64 number of buckets, then per bucket, ascending:
 *		u32 high half
 *		u32 12346 and u32 number of containers n		(no run container), or
 *		u32 12347 | (n - 1) << 16 and (n + 7) / 8 bytes of run flags
 *		n x (u16 key, u16 cardinality - 1)
 *		n x u32 offset from the cookie	(absent if run flags and n < 4)
 *		n containers:	array	u16 values
 *						bitset	8192 bytes
 *						run		u16 number of runs, (u16 start, u16 length - 1)
 *
 * Nothing is aligned, so everything is read through memcpy.
 *
 * src/engine/format.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef R64_FORMAT_H
#define R64_FORMAT_H

#include <string.h>

#include "r64.h"

#if defined(__GNUC__)
#define R64_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define R64_ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define R64_UNLIKELY(x) (x)
#define R64_ALWAYS_INLINE inline
#endif

#define R64_COOKIE_NO_RUN	12346
#define R64_COOKIE_RUN		12347
#define R64_NO_OFFSET_LIMIT 4	/* run cookie: fewer containers have no
								 * offsets */
#define R64_ARRAY_MAX		4096	/* most values in an array container */
#define R64_BITSET_BYTES	8192
#define R64_BITSET_WORDS	1024
#define R64_RUNS_MAX		2047	/* most runs worth a run container */
#define R64_HEADER_SIZE		8	/* the number of buckets */
#define R64_MIN_BUCKET		12	/* high half, cookie, count; no container */

/*
 * Binary search: moves lo to the first position of [lo, lo + n) for which the
 * condition is false, or to the end.  The condition is an expression of the
 * position at, true up to somewhere and false from there on.  The loop's is the
 * only branch to predict.
 */
#define R64_SEARCH(lo, n, at, condition) \
	for (__typeof__(lo) n_ = (n); n_ > 0;) \
	{ \
		__typeof__(lo) half_ = (n_ + 1) / 2; \
		__typeof__(lo) at = (lo) + half_ - 1; \
		\
		(lo) += half_ & ((__typeof__(lo)) 0 - (condition)); \
		n_ -= half_; \
	}

#define R64_HIGH(u)		((uint32_t) ((u) >> 32))
#define R64_KEY(u)		((uint16_t) ((u) >> 16))
#define R64_LOW(u)		((uint16_t) (u))

static inline uint16_t
r64_load16(const uint8_t *p)
{
	uint16_t	v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t
r64_load32(const uint8_t *p)
{
	uint32_t	v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t
r64_load64(const uint8_t *p)
{
	uint64_t	v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline void
r64_store16(uint8_t *p, uint16_t v)
{
	memcpy(p, &v, sizeof(v));
}

static inline void
r64_store32(uint8_t *p, uint32_t v)
{
	memcpy(p, &v, sizeof(v));
}

static inline void
r64_store64(uint8_t *p, uint64_t v)
{
	memcpy(p, &v, sizeof(v));
}

/* The number of buckets, from a set's first bytes. */
static inline uint64_t
r64_bucket_count(const r64_set *s)
{
	return r64_load64(s->bytes);
}

/* Bytes before the first container of a bucket, counted from the cookie. */
static inline size_t
r64_bucket_header_size(uint32_t n, bool has_runs)
{
	if (!has_runs)
		return 8 + 8 * (size_t) n;
	return 4 + (n + 7) / 8 + 4 * (size_t) n +
		(n >= R64_NO_OFFSET_LIMIT ? 4 * (size_t) n : 0);
}

/*
 * Whether card values in nruns runs are stored as a run container: if that
 * takes fewer bytes than an array or, above 4096 values, a bitset.  On a tie
 * the container stays an array, as with CRoaring's run_optimize.
 */
static inline bool
r64_prefers_runs(uint32_t card, uint32_t nruns)
{
	return card <= R64_ARRAY_MAX ? 2 * nruns + 1 < card :
		nruns <= R64_RUNS_MAX;
}

/* One bucket, whose header has been checked to lie within the set. */
typedef struct r64_bucket
{
	uint32_t	high;
	uint32_t	n;				/* containers, at least 1 */
	const uint8_t *start;		/* the high half */
	const uint8_t *cookie;
	const uint8_t *run_flags;	/* NULL if no container is a run */
	const uint8_t *keycards;	/* n x (key, cardinality - 1) */
	const uint8_t *offsets;		/* NULL if there is no offset header */
	const uint8_t *data;		/* first container */
	const uint8_t *end;			/* past the last container */
} r64_bucket;

typedef enum r64_type
{
	R64_ARRAY,
	R64_BITSET,
	R64_RUN
} r64_type;

/* One container, whose data has been checked to lie within its bucket. */
typedef struct r64_container
{
	r64_type	type;
	uint16_t	key;
	uint32_t	card;			/* 1 .. 65536, as the header says */
	uint32_t	nruns;			/* run containers only, at least 1 */
	const uint8_t *data;		/* values, words, or (start, length - 1)s */
} r64_container;

static inline uint16_t
r64_bucket_key(const r64_bucket *b, uint32_t i)
{
	return r64_load16(b->keycards + 4 * (size_t) i);
}

static inline uint32_t
r64_bucket_card(const r64_bucket *b, uint32_t i)
{
	return (uint32_t) r64_load16(b->keycards + 4 * (size_t) i + 2) + 1;
}

static inline bool
r64_bucket_is_run(const r64_bucket *b, uint32_t i)
{
	return b->run_flags != NULL && (b->run_flags[i / 8] >> (i % 8)) & 1;
}

/* High half and key, to which the values of a container are added. */
static inline uint64_t
r64_base(const r64_bucket *b, uint16_t key)
{
	return (uint64_t) b->high << 32 | (uint32_t) key << 16;
}

static inline uint16_t
r64_run_start(const uint8_t *runs, uint32_t i)
{
	return r64_load16(runs + 4 * (size_t) i);
}

/* Length minus one, as stored. */
static inline uint16_t
r64_run_length(const uint8_t *runs, uint32_t i)
{
	return r64_load16(runs + 4 * (size_t) i + 2);
}

/* The last value of a run; beyond the container if that is damaged. */
static inline uint32_t
r64_run_last(const uint8_t *runs, uint32_t i)
{
	return (uint32_t) r64_run_start(runs, i) + r64_run_length(runs, i);
}

/*
 * Reads the header of a bucket from its cookie on.  Its first eight bytes are
 * enough: they give its length, data - cookie.  Sets all but high, start and
 * end.  Returns NULL or an error; n may be 0, which canonical sets do not have.
 */
static R64_ALWAYS_INLINE const char *
r64_header_read(const uint8_t *cookie, r64_bucket *b)
{
	uint32_t	word = r64_load32(cookie);
	bool		has_runs = word != R64_COOKIE_NO_RUN;

	if (R64_UNLIKELY(has_runs && (word & 0xFFFF) != R64_COOKIE_RUN))
		return "unknown cookie";
	b->n = has_runs ? (word >> 16) + 1 : r64_load32(cookie + 4);
	if (R64_UNLIKELY(b->n > UINT16_MAX + 1))
		return "more than 65536 containers";
	b->cookie = cookie;
	b->run_flags = has_runs ? cookie + 4 : NULL;
	b->keycards = has_runs ? cookie + 4 + (b->n + 7) / 8 : cookie + 8;
	b->offsets = has_runs && b->n < R64_NO_OFFSET_LIMIT ? NULL :
		b->keycards + 4 * (size_t) b->n;
	b->data = cookie + r64_bucket_header_size(b->n, has_runs);
	return NULL;
}

/*
 * Reads the buckets in stored order.  The cursor is on bucket b while live is
 * true; pos is the offset of the next one.
 */
typedef struct r64_cursor
{
	const r64_set *set;
	uint64_t	remaining;		/* buckets after the current one */
	size_t		pos;
	bool		live;
	r64_bucket	b;
} r64_cursor;

extern void r64_corrupt(const r64_env *env, const char *reason) R64_NORETURN;
extern void r64_bucket_open(const r64_set *s, size_t pos, r64_bucket *b);

/* Bytes of a container's data. */
static inline size_t
r64_container_size(const r64_container *c)
{
	return c->type == R64_RUN ? 4 * (size_t) c->nruns :
		c->type == R64_ARRAY ? 2 * (size_t) c->card : R64_BITSET_BYTES;
}

/*
 * Reads the header's entry of container i, which has neither its data nor the
 * number of its runs.
 */
static R64_ALWAYS_INLINE void
r64_container_describe(const r64_bucket *b, uint32_t i, r64_container *c)
{
	c->key = r64_bucket_key(b, i);
	c->card = r64_bucket_card(b, i);
	c->nruns = 0;
	c->type = r64_bucket_is_run(b, i) ? R64_RUN :
		c->card <= R64_ARRAY_MAX ? R64_ARRAY : R64_BITSET;
}

/*
 * Reads container i, which starts at p and must end before limit.  Returns
 * its end.
 */
static R64_ALWAYS_INLINE const uint8_t *
r64_container_read_at(const r64_env *env, const r64_bucket *b, uint32_t i,
					  const uint8_t *p, const uint8_t *limit,
					  r64_container *c)
{
	size_t		available = (size_t) (limit - p);
	size_t		size;

	r64_container_describe(b, i, c);
	if (c->type == R64_RUN)
	{
		if (R64_UNLIKELY(available < 2))
			r64_corrupt(env, "run container past the end");
		c->nruns = r64_load16(p);
		if (R64_UNLIKELY(c->nruns == 0))
			r64_corrupt(env, "run container without runs");
		p += 2;
		available -= 2;
	}
	size = r64_container_size(c);
	if (R64_UNLIKELY(size > available))
		r64_corrupt(env, "container past the end");
	c->data = p;
	return p + size;
}

extern size_t r64_container_offset_summed(const r64_env *env,
										  const r64_bucket *b, uint32_t i);

/* Where container i starts, from the cookie; i = n gives the end. */
static inline size_t
r64_container_offset(const r64_env *env, const r64_bucket *b, uint32_t i)
{
	size_t		offset;

	if (i == b->n)
		return (size_t) (b->end - b->cookie);
	if (R64_UNLIKELY(b->offsets == NULL))
		return r64_container_offset_summed(env, b, i);
	offset = r64_load32(b->offsets + 4 * (size_t) i);
	if (R64_UNLIKELY(offset < (size_t) (b->data - b->cookie) ||
					 offset > (size_t) (b->end - b->cookie)))
		r64_corrupt(env, "container offset outside its bucket");
	return offset;
}

/* Container i < b->n of a bucket. */
static R64_ALWAYS_INLINE void
r64_container_at(const r64_env *env, const r64_bucket *b, uint32_t i,
				 r64_container *c)
{
	(void) r64_container_read_at(env, b, i,
								 b->cookie + r64_container_offset(env, b, i),
								 b->end, c);
}

extern void r64_cursor_start(r64_cursor *cur, const r64_set *s);
extern void r64_cursor_next(r64_cursor *cur);
extern uint32_t r64_bucket_seek(const r64_bucket *b, uint32_t i, uint32_t key);
extern uint64_t r64_bucket_cards(const r64_bucket *b, uint32_t from, uint32_t to);

/* Polls in a loop, at each step that has no bit of mask. */
static inline void
r64_poll_every(const r64_env *env, uint64_t step, uint64_t mask)
{
	if (R64_UNLIKELY((step & mask) == 0))
		env->poll();
}

#endif							/* R64_FORMAT_H */
