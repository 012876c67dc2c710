/*-------------------------------------------------------------------------
 *
 * model.h
 *	  The oracle: a set as a list of ranges, and its bytes by the book.
 *
 * A model is a sorted array of ranges that neither overlap nor touch.  That
 * is slow and plain, holds 2^32 elements as easily as one, and shares nothing
 * with the engine.  All memory is the current case's.
 *
 * test/unit/model.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef MODEL_H
#define MODEL_H

#include "engine/r64.h"

typedef struct model
{
	r64_range  *runs;			/* ascending, lo <= hi, gaps between */
	size_t		n;
} model;

/* A list of ranges under construction, in any order, overlaps allowed. */
typedef struct range_list
{
	r64_range  *ranges;
	size_t		n;
	size_t		room;
} range_list;

extern void range_list_add(range_list *list, int64_t lo, int64_t hi);

extern model model_make(const range_list *list);
extern model model_from_values(const int64_t *values, size_t n);
extern model model_range(int64_t lo, int64_t hi);

extern uint64_t model_cardinality(const model *m);
extern bool model_contains(const model *m, int64_t v);
extern bool model_equal(const model *a, const model *b);
extern model model_combine(r64_op op, const model *a, const model *b);
extern uint64_t model_count_range(const model *m, int64_t lo, int64_t hi);
extern bool model_select(const model *m, uint64_t n, int64_t *v);
extern bool model_next(const model *m, int64_t v, int64_t *found);
extern bool model_prev(const model *m, int64_t v, int64_t *found);
extern bool model_next_absent(const model *m, int64_t v, int64_t *found);
extern bool model_prev_absent(const model *m, int64_t v, int64_t *found);
extern bool model_contains_range(const model *m, int64_t lo, int64_t hi);

/* False if an element would leave the range of int64. */
extern bool model_shift(const model *m, int64_t delta, model *shifted);

/* All elements, which must be few. */
extern int64_t *model_values(const model *m, size_t *n);

/* The canonical bytes; stats may be NULL. */
extern uint8_t *model_encode(const model *m, size_t *size, r64_stats *stats);

/*
 * Other legal bytes of the same set, by chance the canonical ones: container
 * types as they come, empty buckets, run cookies without runs.
 */
extern uint8_t *model_encode_legal(const model *m, size_t *size);

/* A view on the canonical bytes, in a block that ends where they end. */
extern r64_set model_open(const model *m);

#endif							/* MODEL_H */
