/*-------------------------------------------------------------------------
 *
 * shapes.h
 *	  Random sets of every shape, and numbers worth asking them about.
 *
 * test/unit/shapes.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef SHAPES_H
#define SHAPES_H

#include "model.h"

/*
 * The containers that the sets of one case live in: few and often neighbours
 * or at a limit, so that two sets meet in them.
 */
#define UNIVERSE_MAX 8
typedef struct universe
{
	int			n;
	uint64_t	chunks[UNIVERSE_MAX];	/* upper 48 bits of elements */
} universe;

extern universe shape_universe(void);

/* How large a set may be. */
typedef enum shape_size
{
	SHAPE_SMALL,				/* a few hundred bytes, mostly */
	SHAPE_MEDIUM,				/* some containers of any kind */
	SHAPE_LARGE					/* whole buckets, by chance */
} shape_size;

/* A set; its shape's name is noted for the case. */
extern model shape_set(const universe *u, shape_size size);

/* A set that has something to do with m: a part, a neighbour, itself. */
extern model shape_relative(const universe *u, const model *m);

/* Two sets, by chance related. */
extern void shape_pair(shape_size size, universe *u, model *a, model *b);

/* An element, an edge of a run, a limit, or any number. */
extern int64_t shape_probe(const universe *u, const model *m);

/* Two probes in order, by chance close together or out of order. */
extern void shape_range(const universe *u, const model *m,
						int64_t *lo, int64_t *hi);

#endif							/* SHAPES_H */
