/*-------------------------------------------------------------------------
 *
 * typanalyze.c
 *	  What ANALYZE learns about a column of sets.
 *
 * The most common elements are found by the lossy counting of Manku and
 * Motwani ("Approximate Frequency Counts over Data Streams", 2002), as for
 * core's arrays; array_typanalyze.c explains it and its parameters, which are
 * the same here.  Two things differ.
 *
 * The work is bounded, however large the sets are.  Rows are left out evenly
 * when all of them would be too many bytes; from a set with too many elements
 * only a sample is read, in short stretches at even distances, and each
 * element counts for the number that it stands for.  Every element has the
 * same chance to be read, so the frequencies are right on average.
 *
 * And more is kept of the elements that are not among the most common, as they
 * are what most queries ask for: a histogram of their occurrences, and how many
 * different elements each of its bins has.  For that, the elements whose hash
 * begins with some bits of zero are counted exactly, one bit more whenever they
 * become too many; how many more are in the rows that were not read is estimated
 * like the number of distinct values of a column (Haas and Stokes' Duj1; see
 * analyze.c).
 *
 * src/planner/typanalyze.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/detoast.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "commands/vacuum.h"
#include "utils/memutils.h"

#include "planner/statistics.h"
#include "type/roaring64.h"

/* Bytes of sets to read, before compression, and elements, at most. */
#define MAX_BYTES		((uint64) 256 * 1024 * 1024)
#define MAX_ELEMENTS	(4 * 1024 * 1024)

/* Elements that are read side by side when a set is sampled. */
#define STRETCH			64

/* Elements that are counted exactly, to stand for all that are not common. */
#define MAX_SKETCH		16384

/* Elements that are looked at in a join.  The others matter little, being rarer. */
#define MAX_TOP			128

typedef struct ElementCount
{
	int64		element;
	double		seen;			/* occurrences since it is in the table */
	double		missed;			/* at most so many before; of the sketch, how
								 * many of them were read */
	uint32		status;			/* of simplehash */
} ElementCount;

#define SH_PREFIX element_table
#define SH_ELEMENT_TYPE ElementCount
#define SH_KEY_TYPE int64
#define SH_KEY element
#define SH_HASH_KEY(table, key) ((uint32) r64_mix((uint64) (key)))
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

/* How a column would be analyzed without us. */
typedef struct StandardAnalysis
{
	AnalyzeAttrComputeStatsFunc compute_stats;
	void	   *extra_data;
} StandardAnalysis;

typedef struct ElementAnalysis
{
	int			target;			/* of the statistics of the column */
	int			nrows;			/* non-null rows that were read */
	uint64		random;			/* state of the generator */
	double	   *cardinalities;	/* of these rows */

	/* lossy counting */
	element_table_hash *counts;
	int			max_common;		/* elements to keep in the end */
	int			bucket_width;
	int			in_bucket;		/* elements read since the last pruning */
	double		occurrences;	/* that the elements read stand for */
	double		missed;			/* what the last pruning may have dropped */

	/* the sketch: elements with (hash & mask) == 0 */
	element_table_hash *sketch;
	uint64		mask;
	double		elements;		/* read */
} ElementAnalysis;

/* A number in [0, 1), the same for every ANALYZE of the same rows. */
static double
random_fraction(ElementAnalysis *analysis)
{
	analysis->random += UINT64CONST(0x9e3779b97f4a7c15);
	return (r64_mix(analysis->random) >> 11) * (1.0 / (UINT64CONST(1) << 53));
}

static void
begin_analysis(ElementAnalysis *analysis, int target, int samplerows)
{
	memset(analysis, 0, sizeof(*analysis));
	analysis->target = Max(target, 2);
	analysis->cardinalities = palloc(sizeof(double) * samplerows);
	analysis->max_common = analysis->target * 10;
	analysis->bucket_width = analysis->max_common * 1000 / 7;
	analysis->counts = element_table_create(CurrentMemoryContext,
											analysis->bucket_width / 4, NULL);
	analysis->sketch = element_table_create(CurrentMemoryContext,
											MAX_SKETCH, NULL);
}

/* Drops the elements that cannot be common, given how many came since. */
static void
prune(ElementAnalysis *analysis)
{
	element_table_iterator iterator;
	ElementCount *count;

	analysis->missed = floor(analysis->occurrences / analysis->bucket_width);
	element_table_start_iterate(analysis->counts, &iterator);
	while ((count = element_table_iterate(analysis->counts, &iterator)) != NULL)
		if (count->seen + count->missed <= analysis->missed)
			element_table_delete_item(analysis->counts, count);
	analysis->in_bucket = 0;
}

static void
sketch_element(ElementAnalysis *analysis, int64 element, double weight)
{
	bool		found;
	ElementCount *count;

	if ((r64_mix(~(uint64) element) & analysis->mask) != 0)
		return;
	count = element_table_insert(analysis->sketch, element, &found);
	if (!found)
		count->seen = count->missed = 0;
	count->seen += weight;
	count->missed++;
	while (analysis->sketch->members > MAX_SKETCH)
	{
		element_table_iterator iterator;

		analysis->mask = analysis->mask << 1 | 1;
		element_table_start_iterate(analysis->sketch, &iterator);
		while ((count = element_table_iterate(analysis->sketch, &iterator)) != NULL)
			if ((r64_mix(~(uint64) count->element) & analysis->mask) != 0)
				element_table_delete_item(analysis->sketch, count);
	}
}

/* An element that stands for weight of them. */
static void
add_element(ElementAnalysis *analysis, int64 element, double weight)
{
	bool		found;
	ElementCount *count;

	count = element_table_insert(analysis->counts, element, &found);
	if (!found)
	{
		count->seen = 0;
		count->missed = analysis->missed;
	}
	count->seen += weight;
	analysis->occurrences += weight;
	analysis->elements++;
	sketch_element(analysis, element, weight);
	if (++analysis->in_bucket == analysis->bucket_width)
		prune(analysis);
}

/* All elements of a set. */
static void
add_whole_set(ElementAnalysis *analysis, r64_set *set)
{
	int64		batch[STRETCH];
	int64		lo = PG_INT64_MIN;
	size_t		n;

	do
	{
		n = r64_read(set, lo, PG_INT64_MAX, false, batch, STRETCH);
		for (size_t i = 0; i < n; i++)
			add_element(analysis, batch[i], 1);
		if (n == 0 || batch[n - 1] == PG_INT64_MAX)
			break;
		lo = batch[n - 1] + 1;
	} while (n == STRETCH);
}

/*
 * Stretches of a set at even distances from a place at random.  The last may
 * go round to the start, so that no element has a better chance than others.
 */
static void
add_part_of_set(ElementAnalysis *analysis, r64_set *set, double cardinality,
				int stretches)
{
	double		distance = cardinality / stretches;
	double		first = random_fraction(analysis) * cardinality;
	double		weight = distance / STRETCH;

	for (int i = 0; i < stretches; i++)
	{
		double		place = fmod(first + i * distance, cardinality);
		int64		batch[STRETCH];
		int64		element;
		size_t		n = 0;

		roaring64_analyze_delay_point();
		if (r64_select(set, (uint64) place, &element))
			n = r64_read(set, element, PG_INT64_MAX, false, batch, STRETCH);
		if (n < STRETCH)
			n += r64_read(set, PG_INT64_MIN, PG_INT64_MAX, false,
						  batch + n, STRETCH - n);
		for (size_t j = 0; j < n; j++)
			add_element(analysis, batch[j], weight);
	}
}

/* A row; at most max_elements of it are looked at. */
static void
add_set(ElementAnalysis *analysis, Datum value, int max_elements)
{
	struct varlena *stored = (struct varlena *) DatumGetPointer(value);
	struct varlena *flat = pg_detoast_datum_packed(stored);
	r64_set		set = roaring64_view(flat);
	double		cardinality = (double) r64_cardinality(&set);

	if (cardinality <= max_elements)
		add_whole_set(analysis, &set);
	else
		add_part_of_set(analysis, &set, cardinality, max_elements / STRETCH);
	analysis->cardinalities[analysis->nrows++] = cardinality;
	r64_close(&set);
	if (flat != stored)
		pfree(flat);
}

static int
compare_doubles(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

static int
compare_counts_down(const void *a, const void *b)
{
	const ElementCount *x = *(ElementCount *const *) a;
	const ElementCount *y = *(ElementCount *const *) b;

	return (x->seen < y->seen) - (x->seen > y->seen);
}

static int
compare_elements(const void *a, const void *b)
{
	int64		x = (*(ElementCount *const *) a)->element;
	int64		y = (*(ElementCount *const *) b)->element;

	return (x > y) - (x < y);
}

/* A slot that is not used yet; there is always one. */
static int
free_slot(VacAttrStats *stats)
{
	int			slot = 0;

	while (slot < STATISTIC_NUM_SLOTS - 1 && stats->stakind[slot] != 0)
		slot++;
	return slot;
}

/* Gives up the slot of the correlation, which statistics.h explains. */
static void
forget_correlation(VacAttrStats *stats)
{
	for (int slot = 0; slot < STATISTIC_NUM_SLOTS; slot++)
		if (stats->stakind[slot] == STATISTIC_KIND_CORRELATION)
		{
			stats->stakind[slot] = 0;
			stats->staop[slot] = InvalidOid;
			stats->stacoll[slot] = InvalidOid;
			stats->stanumbers[slot] = NULL;
			stats->numnumbers[slot] = 0;
			stats->stavalues[slot] = NULL;
			stats->numvalues[slot] = 0;
		}
}

/* Fills a slot; values may be NULL.  All are in anl_context. */
static void
fill_slot(VacAttrStats *stats, int kind, int64 *values, int nvalues,
		  float4 *numbers, int nnumbers)
{
	int			slot = free_slot(stats);

	stats->stakind[slot] = kind;
	stats->staop[slot] = lookup_type_cache(INT8OID, TYPECACHE_EQ_OPR)->eq_opr;
	stats->stanumbers[slot] = numbers;
	stats->numnumbers[slot] = nnumbers;
	if (values == NULL)
		return;
	stats->stavalues[slot] = MemoryContextAlloc(stats->anl_context,
												sizeof(Datum) * nvalues);
	for (int i = 0; i < nvalues; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(stats->anl_context);

		stats->stavalues[slot][i] = Int64GetDatum(values[i]);
		MemoryContextSwitchTo(old);
	}
	stats->numvalues[slot] = nvalues;
	stats->statypid[slot] = INT8OID;
	stats->statyplen[slot] = sizeof(int64);
	stats->statypbyval[slot] = FLOAT8PASSBYVAL;
	stats->statypalign[slot] = TYPALIGN_DOUBLE;
}

/*
 * The most common elements, ascending, in *common.  Returns how many.  The
 * limit for "common" is that of core's arrays: below it the counts could be
 * off by more than a ninth.
 */
static int
find_common(ElementAnalysis *analysis, ElementCount ***common)
{
	double		cutoff = 9 * floor(analysis->occurrences / analysis->bucket_width);
	ElementCount **found;
	element_table_iterator iterator;
	ElementCount *count;
	int			n = 0;

	found = palloc(sizeof(ElementCount *) * Max(analysis->counts->members, 1));
	element_table_start_iterate(analysis->counts, &iterator);
	while ((count = element_table_iterate(analysis->counts, &iterator)) != NULL)
		if (count->seen > cutoff && count->seen > 1)
			found[n++] = count;
	if (n > analysis->max_common)
	{
		qsort(found, n, sizeof(ElementCount *), compare_counts_down);
		n = analysis->max_common;
	}
	qsort(found, n, sizeof(ElementCount *), compare_elements);
	*common = found;
	return n;
}

/* The share of the rows that has an element. */
static float4
common_share(const ElementAnalysis *analysis, const ElementCount *count)
{
	return Min(1.0, count->seen / analysis->nrows);
}

/* MCELEM, in the layout of core's arrays; no element is ever NULL. */
static void
store_common(VacAttrStats *stats, const ElementAnalysis *analysis,
			 ElementCount **common, int n)
{
	float4	   *numbers;
	int64	   *values;
	float4		least = 1;
	float4		greatest = 0;

	if (n == 0)
		return;
	numbers = MemoryContextAlloc(stats->anl_context, sizeof(float4) * (n + 3));
	values = palloc(sizeof(int64) * n);
	for (int i = 0; i < n; i++)
	{
		values[i] = common[i]->element;
		numbers[i] = common_share(analysis, common[i]);
		least = Min(least, numbers[i]);
		greatest = Max(greatest, numbers[i]);
	}
	numbers[n] = least;
	numbers[n + 1] = greatest;
	numbers[n + 2] = 0;
	fill_slot(stats, STATISTIC_KIND_MCELEM, values, n, numbers, n + 3);
}

/* DECHIST: a histogram of the cardinalities, then their average. */
static void
store_cardinalities(VacAttrStats *stats, ElementAnalysis *analysis)
{
	int			bounds = analysis->target;
	int			last = analysis->nrows - 1;
	float4	   *numbers;

	numbers = MemoryContextAlloc(stats->anl_context,
								 sizeof(float4) * (bounds + 1));
	qsort(analysis->cardinalities, analysis->nrows, sizeof(double),
		  compare_doubles);
	for (int i = 0; i < bounds; i++)
		numbers[i] = analysis->cardinalities[i == bounds - 1 ? last :
											 (int64) analysis->nrows * i / bounds];
	numbers[bounds] = 0;
	if (analysis->nrows > 0)
	{
		double		sum = 0;

		for (int i = 0; i < analysis->nrows; i++)
			sum += analysis->cardinalities[i];
		numbers[bounds] = sum / analysis->nrows;
	}
	fill_slot(stats, STATISTIC_KIND_DECHIST, NULL, 0, numbers, bounds + 1);
}

static bool
is_common(ElementCount **common, int n, int64 element)
{
	ElementCount key = {.element = element};
	const ElementCount *wanted = &key;

	return bsearch(&wanted, common, n, sizeof(ElementCount *),
				   compare_elements) != NULL;
}

/*
 * How many different elements some of the sketch stand for, in all rows.
 * read_share is the share of all occurrences that were read.
 */
static double
estimate_distinct(const ElementAnalysis *analysis, ElementCount **sketch,
				  int nsketch, double read_share)
{
	double		read = 0;
	double		once = 0;

	for (int i = 0; i < nsketch; i++)
	{
		read += sketch[i]->missed;
		once += (sketch[i]->missed == 1);
	}
	return read * nsketch / (read - once + once * read_share) *
		((double) analysis->mask + 1);
}

/*
 * What is known of the elements that are not common, cut into bins; returns how
 * many bins.  bounds and distinct have room for two more than the target.
 */
static int
make_bins(ElementAnalysis *analysis, ElementCount **common, int ncommon,
		  double totalrows, int64 *bounds, float4 *distinct)
{
	double		read_share = analysis->elements /
		(analysis->occurrences * Max(totalrows / analysis->nrows, 1));
	double		mass = 0;
	double		passed = 0;
	int			nsketch = 0;
	int			bins = 0;
	int			first = 0;
	ElementCount **sketch;
	ElementCount *count;
	element_table_iterator iterator;

	sketch = palloc(sizeof(ElementCount *) * Max(analysis->sketch->members, 1));
	element_table_start_iterate(analysis->sketch, &iterator);
	while ((count = element_table_iterate(analysis->sketch, &iterator)) != NULL)
		if (!is_common(common, ncommon, count->element))
		{
			sketch[nsketch++] = count;
			mass += count->seen;
		}
	qsort(sketch, nsketch, sizeof(ElementCount *), compare_elements);

	/* bins of the same mass each, or of one element that has more */
	for (int i = 0; i < nsketch; i++)
	{
		passed += sketch[i]->seen;
		if (passed * analysis->target < mass * (bins + 1) && i < nsketch - 1)
			continue;
		bounds[bins] = sketch[first]->element;
		bounds[bins + 1] = sketch[Min(i + 1, nsketch - 1)]->element;
		distinct[bins] = Min(estimate_distinct(analysis, sketch + first,
											   i + 1 - first, read_share),
							 roaring64_width(bounds[bins], bounds[bins + 1]));
		bins++;
		first = i + 1;
	}
	return bins;
}

/* The slot of our own; statistics.h says what is in it. */
static void
store_rest(VacAttrStats *stats, ElementAnalysis *analysis,
		   ElementCount **common, int ncommon, double totalrows)
{
	int			room = MAX_TOP + analysis->target + 2;
	int			ntop = Min(ncommon, MAX_TOP);
	int			bins = 0;
	double		rest = analysis->occurrences;
	double		all = ncommon;
	int64	   *values = palloc(sizeof(int64) * room);
	float4	   *numbers = MemoryContextAlloc(stats->anl_context,
											 sizeof(float4) * (ROARING64_REST_NUMBERS + room));
	float4	   *shares = numbers + ROARING64_REST_NUMBERS;
	ElementCount **top = palloc(sizeof(ElementCount *) * Max(ncommon, 1));

	for (int i = 0; i < ncommon; i++)
	{
		rest -= common[i]->seen;
		top[i] = common[i];
	}
	if (rest > 0)
		bins = make_bins(analysis, common, ncommon, totalrows,
						 values + ntop, shares + ntop);
	if (ntop + bins == 0)
		return;
	for (int bin = 0; bin < bins; bin++)
		all += shares[ntop + bin];
	qsort(top, ncommon, sizeof(ElementCount *), compare_counts_down);
	qsort(top, ntop, sizeof(ElementCount *), compare_elements);
	for (int i = 0; i < ntop; i++)
	{
		values[i] = top[i]->element;
		shares[i] = common_share(analysis, top[i]);
	}
	numbers[0] = Max(rest, 0) / analysis->nrows;
	numbers[1] = all;
	numbers[2] = ntop;
	fill_slot(stats, ROARING64_STATISTIC_KIND_REST,
			  values, ntop + bins + (bins > 0),
			  numbers, ROARING64_REST_NUMBERS + ntop + bins);
}

/*
 * Reads the non-null ones of the sample rows; if that were too many bytes,
 * every nth of them.
 */
static void
read_rows(ElementAnalysis *analysis, VacAttrStats *stats,
		  AnalyzeAttrFetchFunc fetch, int samplerows)
{
	uint64		bytes = 0;
	int			every;
	int			max_elements;

	for (int i = 0; i < samplerows; i++)
	{
		bool		isnull;
		Datum		value = fetch(stats, i, &isnull);

		if (!isnull)
			bytes += toast_raw_datum_size(value);
	}
	every = (int) Min(bytes / MAX_BYTES + 1, (uint64) samplerows);
	max_elements = Max(MAX_ELEMENTS / (samplerows / every + 1), STRETCH);
	for (int i = every / 2; i < samplerows; i += every)
	{
		bool		isnull;
		Datum		value;

		roaring64_analyze_delay_point();
		value = fetch(stats, i, &isnull);
		if (!isnull)
			add_set(analysis, value, max_elements);
	}
}

/* compute_stats of a column of sets: the standard part, then ours. */
static void
compute_set_stats(VacAttrStats *stats, AnalyzeAttrFetchFunc fetch,
				  int samplerows, double totalrows)
{
	StandardAnalysis *standard = stats->extra_data;
	ElementAnalysis analysis;
	ElementCount **common;
	int			ncommon;

	stats->extra_data = standard->extra_data;
	standard->compute_stats(stats, fetch, samplerows, totalrows);
	stats->extra_data = standard;
	if (!stats->stats_valid)
		return;

	begin_analysis(&analysis, roaring64_statistics_target(stats), samplerows);
	read_rows(&analysis, stats, fetch, samplerows);
	if (analysis.nrows == 0)
		return;
	forget_correlation(stats);
	ncommon = find_common(&analysis, &common);
	store_common(stats, &analysis, common, ncommon);
	store_cardinalities(stats, &analysis);
	store_rest(stats, &analysis, common, ncommon,
			   totalrows * (1 - stats->stanullfrac));
}

/* roaring64_typanalyze(internal) returns boolean: ANALYZE of the type. */
PG_FUNCTION_INFO_V1(roaring64_typanalyze);
Datum
roaring64_typanalyze(PG_FUNCTION_ARGS)
{
	VacAttrStats *stats = (VacAttrStats *) PG_GETARG_POINTER(0);
	StandardAnalysis *standard;

	if (!std_typanalyze(stats))
		PG_RETURN_BOOL(false);
	standard = palloc(sizeof(StandardAnalysis));
	standard->compute_stats = stats->compute_stats;
	standard->extra_data = stats->extra_data;
	stats->compute_stats = compute_set_stats;
	stats->extra_data = standard;
	PG_RETURN_BOOL(true);
}
