/*-------------------------------------------------------------------------
 *
 * writer.h
 *	  Writing a set: buckets and containers appended in ascending order.
 *
 * A bucket's header comes before its containers but depends on their number and
 * types.  So r64_writer_begin reserves space for the header that the caller
 * expects, the containers are written behind it, and their header entries are
 * kept aside.  r64_writer_end writes the header, and moves the containers if the
 * guess was wrong.
 *
 * src/engine/writer.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef R64_WRITER_H
#define R64_WRITER_H

#include "views.h"

/* A container's entry in the header of the open bucket. */
typedef struct r64_staged
{
	uint32_t	keycard;		/* key | (cardinality - 1) << 16 */
	uint32_t	offset;			/* from the first container */
	bool		is_run;
} r64_staged;

typedef struct r64_writer
{
	const r64_env *env;
	uint8_t    *base;			/* from env->alloc, owned until finish */
	size_t		cap;			/* bytes there, headroom apart */
	size_t		len;			/* bytes used, headroom apart */
	uint64_t	nbuckets;

	/* the open bucket, or the last one */
	uint32_t	high;
	size_t		start;			/* of its high half */
	size_t		data;			/* of its first container */
	uint32_t	n;				/* containers so far */
	uint32_t	nruns;			/* run containers among them */
	uint32_t	staged_capacity;
	r64_staged *staged;			/* from env->alloc, or NULL */
} r64_writer;

extern void r64_writer_init(r64_writer *w, const r64_env *env, size_t expected);
extern r64_buf r64_writer_finish(r64_writer *w);
extern void r64_writer_buckets(r64_writer *w, const uint8_t *bytes, size_t size,
							   uint64_t n);
extern void r64_writer_begin(r64_writer *w, uint32_t high, uint32_t expected,
							 bool expect_runs);
extern void r64_writer_end(r64_writer *w);
extern void r64_writer_copy(r64_writer *w, const r64_bucket *b,
							uint32_t from, uint32_t to);
extern void r64_writer_container(r64_writer *w, const r64_container *c);
extern void r64_writer_array(r64_writer *w, uint16_t key,
							 const uint16_t *values, uint32_t card);
extern void r64_writer_bitset(r64_writer *w, uint16_t key,
							  const uint64_t *words, uint32_t card);
extern void r64_writer_runs(r64_writer *w, uint16_t key,
							const rle16_t *runs, uint32_t nruns);
extern uint32_t r64_bitset_runs(const uint64_t *words);

/*
 * The parts of the functions above, inline because containers can be so small
 * that a call would cost more than the work.
 */
static inline uint8_t *
r64_writer_at(r64_writer *w, size_t pos)
{
	return w->base + w->env->headroom + pos;
}

extern void r64_writer_grow(r64_writer *w, size_t more);
extern void r64_writer_stage(r64_writer *w, uint32_t n);

/* Reserves more bytes at the end, where the caller writes and advances len. */
static inline uint8_t *
r64_writer_reserve(r64_writer *w, size_t more)
{
	if (R64_UNLIKELY(more > w->cap - w->len))
		r64_writer_grow(w, more);
	return r64_writer_at(w, w->len);
}

/* Stages a container's header entry; returns where to write its size bytes. */
static inline uint8_t *
r64_writer_append(r64_writer *w, uint16_t key, uint32_t card, bool is_run,
				  size_t size)
{
	uint8_t    *p = r64_writer_reserve(w, size);

	if (R64_UNLIKELY(w->n == w->staged_capacity))
		r64_writer_stage(w, w->n + 1);
	w->staged[w->n].keycard = key | (card - 1) << 16;
	w->staged[w->n].offset = (uint32_t) (w->len - w->data);
	w->staged[w->n].is_run = is_run;
	w->n++;
	w->nruns += is_run;
	w->len += size;
	return p;
}

#endif							/* R64_WRITER_H */
