/*-------------------------------------------------------------------------
 *
 * r64.h
 *	  A set of 64-bit integers kept as portable 64-bit Roaring bytes.
 *
 * This is all that the rest of the tree sees of the engine, which knows nothing
 * of PostgreSQL: it is C11 over CRoaring's container kernels, and everything it
 * needs from its caller (memory, a way to report failure, a chance to be
 * interrupted) comes through an r64_env.
 *
 * The bytes are those of RoaringFormatSpec, "Extension for 64-bit
 * implementations": a 64-bit count of buckets, then for every bucket its
 * 32-bit high half and a 32-bit Roaring bitmap in the portable format.  A
 * set has exactly one such byte string, its canonical form:
 *
 *	- buckets strictly ascending by unsigned high half, containers strictly
 *	  ascending by key, none of them empty, no byte after the last;
 *	- a container of c values in r runs is a run container iff that takes
 *	  fewer bytes, 4r + 2 < 2c (for c <= 4096) or 4r + 2 < 8192 (above); else
 *	  it is an array up to 4096 values and a bitset above.  This is what
 *	  CRoaring's remove_run_compression followed by run_optimize leaves;
 *	- the run cookie only where a run container is present, its spare flag
 *	  bits zero.
 *
 * Unless said otherwise every function takes canonical bytes.  That they are
 * canonical is trusted; that they are in bounds never is: a damaged set makes
 * a function answer wrongly or fail with R64_CORRUPT, but not read or write
 * out of bounds.
 *
 * Elements are int64_t and ordered as such.  On the wire the same 64 bits
 * are unsigned, so a set's negative elements are stored after its
 * non-negative ones; the engine hides that.
 *
 * src/engine/r64.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef R64_H
#define R64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "roaring64 supports little-endian machines only"
#endif

#if defined(__GNUC__)
#define R64_NORETURN __attribute__((noreturn))
#else
#define R64_NORETURN
#endif

/* Why a call failed. */
typedef enum r64_error
{
	R64_CORRUPT,				/* stored bytes are not a set */
	R64_TOO_LARGE				/* the result would exceed env->max_size */
} r64_error;

/*
 * What the engine needs from its caller.  One env serves any number of sets.
 * Memory that a failing call has obtained is not released: an env over
 * malloc needs an arena that it can drop, as PostgreSQL's contexts are.
 */
typedef struct r64_env
{
	/* never NULL; working memory can be larger than max_size */
	void	   *(*alloc) (size_t size);
	void	   *(*resize) (void *p, size_t size);
	void		(*release) (void *p);
	/* memory is short: accumulators should buffer little */
	bool		(*scarce) (void);
	/* called often enough in long loops; may leave by longjmp */
	void		(*poll) (void);
	/* must not return; reason is a constant lower-case phrase */
	void		(*fail) (r64_error error, const char *reason) R64_NORETURN;
	size_t		headroom;		/* bytes left free before every result */
	size_t		max_size;		/* largest result in bytes, headroom apart */
} r64_env;

/* A set to read: a view of bytes that the caller owns and keeps. */
typedef struct r64_set
{
	const r64_env *env;
	const uint8_t *bytes;
	size_t		size;
	/* made on demand by r64_index_set, owned by the view; see r64_close */
	struct r64_index *index;
} r64_set;

/*
 * A set that was made.  base was obtained from env->alloc; the size bytes of
 * the set start at base + env->headroom.
 */
typedef struct r64_buf
{
	uint8_t    *base;
	size_t		size;
} r64_buf;

/* croaring.c */
extern const char *r64_load_kernels(void);

/* reader.c: views, and questions that bucket headers answer. */
extern r64_set r64_open(const r64_env *env, const void *bytes, size_t size);

/* A view on a set that was made by env, or by one with its headroom. */
static inline r64_set
r64_open_buf(const r64_env *env, r64_buf buf)
{
	return r64_open(env, buf.base + env->headroom, buf.size);
}

extern void r64_close(r64_set *s);
extern bool r64_is_empty(const r64_set *s);
extern bool r64_contains(const r64_set *s, int64_t v);
extern uint64_t r64_cardinality(const r64_set *s);
extern bool r64_min(const r64_set *s, int64_t *v);
extern bool r64_max(const r64_set *s, int64_t *v);

/* The parts of a set. */
typedef struct r64_stats
{
	uint64_t	cardinality;
	uint64_t	buckets;
	uint64_t	arrays;
	uint64_t	bitsets;
	uint64_t	runs;
} r64_stats;
extern r64_stats r64_get_stats(const r64_set *s);

/*
 * partial.c: questions to a set that should not be fetched whole.  fetch
 * returns size bytes from offset on, which lie within the set and stay valid
 * until the next fetch of the same kind of part; it may fail by leaving through
 * the env.  This pays for sets of few buckets only, since fetching the headers of
 * many costs more than fetching the set: see r64_source_buckets.
 */
typedef enum r64_part
{
	R64_PART_HEADER,			/* of the set or of a bucket */
	R64_PART_DATA				/* of a container */
} r64_part;

#define R64_PARTS 2

typedef struct r64_source
{
	const r64_env *env;
	void	   *arg;			/* handed to fetch */
	const uint8_t *(*fetch) (void *arg, r64_part part, size_t offset,
							 size_t size);
	size_t		size;			/* of the set */
} r64_source;

extern uint64_t r64_source_buckets(const r64_source *source);
extern r64_buf r64_source_restrict(const r64_source *source, const r64_set *few,
								   uint64_t *cardinality);

/*
 * query.c, index.c: order statistics and iteration.  These work on an index of
 * the set's buckets, which the first call on a view builds (one pass over the
 * bucket headers) and keeps in it, so that further calls are logarithmic.
 * lo and hi are inclusive; lo > hi is an empty range.
 */
extern void r64_index_set(r64_set *s);
extern uint64_t r64_count_range(r64_set *s, int64_t lo, int64_t hi);
extern bool r64_select(r64_set *s, uint64_t n, int64_t *v);
extern bool r64_next(r64_set *s, int64_t v, int64_t *found);
extern bool r64_prev(r64_set *s, int64_t v, int64_t *found);
extern bool r64_next_absent(r64_set *s, int64_t v, int64_t *found);
extern bool r64_prev_absent(r64_set *s, int64_t v, int64_t *found);
extern size_t r64_read(r64_set *s, int64_t lo, int64_t hi, bool reverse,
					   int64_t *out, size_t n);
extern bool r64_next_run(r64_set *s, int64_t lo, int64_t hi,
						 int64_t *first, int64_t *last);
extern bool r64_contains_range(r64_set *s, int64_t lo, int64_t hi);

/* relations.c: two sets compared, without making a third. */
extern bool r64_is_subset(const r64_set *a, const r64_set *b);
extern bool r64_overlaps(const r64_set *a, const r64_set *b);
extern uint64_t r64_and_cardinality(const r64_set *a, const r64_set *b);

/* setops.c */
typedef enum r64_op
{
	R64_OR,						/* a or b */
	R64_AND,					/* a and b */
	R64_ANDNOT,					/* a and not b */
	R64_XOR						/* exactly one of them */
} r64_op;
extern r64_buf r64_combine(r64_op op, const r64_set *a, const r64_set *b);

/* The mixer of SplitMix64: a hash of 64 bits, which can be undone. */
static inline uint64_t
r64_mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
	return x ^ x >> 31;
}

/* sample.c */
extern r64_buf r64_sample(const r64_set *s, uint64_t n, uint64_t seed);

/* range.c, setops.c: a set cut or copied. */
extern r64_buf r64_combine_range(r64_op op, r64_set *a, int64_t lo, int64_t hi);
extern r64_buf r64_copy(const r64_env *env, const r64_set *s);

/* build.c: sets from values, or moved. */
#define R64_SINGLETON_SIZE 30
extern r64_set r64_singleton(const r64_env *env, int64_t v,
							 uint8_t out[R64_SINGLETON_SIZE]);
extern r64_buf r64_from_values(const r64_env *env, int64_t *values, size_t n);

typedef struct r64_range
{
	int64_t		lo;
	int64_t		hi;				/* inclusive; empty if < lo */
} r64_range;
extern r64_buf r64_from_ranges(const r64_env *env, const r64_range *ranges,
							   size_t n);
extern r64_buf r64_shift(r64_set *s, int64_t delta);
extern void r64_sort(const r64_env *env, uint64_t *numbers, size_t n);

/*
 * accumulator.c: a set that grows.  Additions wait as they came and are merged
 * into the flat set in batches, so that a union of many costs about the sum of
 * its inputs.  The caller provides its memory, r64_accumulator_size() bytes; all
 * other memory comes from the env.  There can be millions of accumulators.
 */
typedef struct r64_accumulator r64_accumulator;

extern size_t r64_accumulator_size(void);
extern void r64_accumulator_init(r64_accumulator *acc, const r64_env *env);
extern void r64_accumulator_clear(r64_accumulator *acc);
extern void r64_accumulate(r64_accumulator *acc, int64_t v);
extern void r64_accumulate_range(r64_accumulator *acc, int64_t lo, int64_t hi);
extern void r64_accumulator_combine(r64_accumulator *acc, r64_op op,
									const r64_set *s);

extern bool r64_accumulator_contains(r64_accumulator *acc, int64_t v);
extern bool r64_accumulator_is_empty(const r64_accumulator *acc);
extern uint64_t r64_accumulator_cardinality(r64_accumulator *acc);
extern uint64_t r64_accumulator_and_cardinality(r64_accumulator *acc,
												const r64_set *s);
extern r64_set r64_accumulator_set(r64_accumulator *acc);

/* validate.c: bytes from elsewhere. */
typedef enum r64_verdict
{
	R64_INVALID,				/* not a set; see reason and offset */
	R64_LEGAL,					/* a set, but not in canonical form */
	R64_CANONICAL
} r64_verdict;
typedef struct r64_diagnosis
{
	const char *reason;			/* constant lower-case phrase */
	size_t		offset;			/* byte at which it shows */
	bool		is_32bit;		/* all bytes are one 32-bit bitmap */
} r64_diagnosis;

extern r64_verdict r64_check(const r64_env *env, const void *bytes, size_t size,
							 r64_diagnosis *why);
extern r64_buf r64_canonicalise(const r64_env *env, const void *bytes,
								size_t size);

#endif							/* R64_H */
