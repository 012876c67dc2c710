/*-------------------------------------------------------------------------
 *
 * typanalyze.c
 *	  ANALYZE of a column of sets; its statistics are used in setstats.c.
 *
 * As for core's arrays the most common elements are counted in a hash table.  Most
 * queries are about other elements, so there is also a histogram of their
 * occurrences, with the number of distinct elements of each bin.  The elements of
 * rows that were not read are estimated like the distinct values of a column (Haas
 * and Stokes' Duj1; see analyze.c).
 *
 * The work is bounded, however large the sets are.  Rows are skipped evenly when
 * they are too many, or too many bytes; of a set with too many elements only some
 * are drawn, and each counts for the number that it stands for.  Every element has
 * the same chance, so the frequencies are right on average.
 *
 * src/planner/typanalyze.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"
#include "commands/vacuum.h"
#include "utils/typcache.h"

#include "planner/planner.h"
#include "type/roaring64.h"

/* Bytes of sets to read, before compression, and elements, at most. */
#define MAX_BYTES		((uint64) 256 * 1024 * 1024)
#define MAX_ELEMENTS	(1024 * 1024)

/* Rows to read, at most: each gets at least 32 elements. */
#define MAX_ROWS		(MAX_ELEMENTS / 32)

/*
 * An element is common if it has this part of the average of an element, were
 * there only as many elements as are kept.  It is core's limit for arrays.
 */
#define MIN_COMMON		0.063

typedef struct ElementCount
{
	int64		element;
	float		seen;			/* occurrences that it stands for */
	uint32		read;			/* occurrences in the rows read */
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

typedef struct ElementAnalysis
{
	int			target;			/* of the statistics of the column */
	int			nrows;			/* non-null rows that were read */
	uint64	   *cardinalities;	/* of these rows */

	element_table_hash *counts;
	double		elements;		/* read */
	double		occurrences;	/* that they stand for: all of these rows */
} ElementAnalysis;

/* Counts a row's elements, or a sample of n; elements is memory for them. */
static void
add_set(ElementAnalysis *analysis, Datum value, int64 *elements, int n)
{
	struct varlena *stored = (struct varlena *) DatumGetPointer(value);
	struct varlena *flat = pg_detoast_datum_packed(stored);
	r64_set		set = roaring64_view(flat);
	uint64		cardinality = r64_cardinality(&set);

	if (cardinality > n)
	{
		r64_buf		buf = r64_sample(&set, n, analysis->nrows);
		r64_set		sample = r64_open_buf(&roaring64_env, buf);

		n = (int) r64_read(&sample, PG_INT64_MIN, PG_INT64_MAX, false, elements, n);
		r64_close(&sample);
		pfree(buf.base);
	}
	else
		n = (int) r64_read(&set, PG_INT64_MIN, PG_INT64_MAX, false, elements, n);
	for (int i = 0; i < n; i++)
	{
		bool		found;
		ElementCount *count = element_table_insert(analysis->counts,
												   elements[i], &found);

		if (!found)
			count->seen = count->read = 0;
		count->seen += (double) cardinality / n;
		count->read++;
	}
	analysis->elements += n;
	analysis->occurrences += (double) cardinality;
	analysis->cardinalities[analysis->nrows++] = cardinality;
	r64_close(&set);
	if (flat != stored)
		pfree(flat);
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

/*
 * Fills an unused slot, or that of the correlation (planner.h says why); there is
 * always one.  values may be NULL.
 */
static void
fill_slot(VacAttrStats *stats, int kind, int64 *values, int nvalues,
		  float4 *numbers, int nnumbers)
{
	int			slot = 0;

	while (slot < STATISTIC_NUM_SLOTS - 1 && stats->stakind[slot] != 0 &&
		   stats->stakind[slot] != STATISTIC_KIND_CORRELATION)
		slot++;
	stats->stakind[slot] = kind;
	stats->staop[slot] = lookup_type_cache(INT8OID, TYPECACHE_EQ_OPR)->eq_opr;
	stats->stanumbers[slot] = numbers;
	stats->numnumbers[slot] = nnumbers;
	if (values == NULL)
		return;
	stats->stavalues[slot] = palloc(sizeof(Datum) * nvalues);
	for (int i = 0; i < nvalues; i++)
		stats->stavalues[slot][i] = Int64GetDatum(values[i]);
	stats->numvalues[slot] = nvalues;
	stats->statypid[slot] = INT8OID;
	stats->statyplen[slot] = sizeof(int64);
	stats->statypbyval[slot] = FLOAT8PASSBYVAL;
	stats->statypalign[slot] = TYPALIGN_DOUBLE;
}

/*
 * Sorts the elements: first the common ones, ascending, then the others, ascending.
 * Returns how many are common.
 */
static int
sort_elements(ElementAnalysis *analysis, ElementCount **elements)
{
	int			most = analysis->target * 10;	/* as core */
	double		least = MIN_COMMON * analysis->occurrences / most;
	element_table_iterator iterator;
	ElementCount *count;
	int			n = 0;
	int			last = analysis->counts->members;
	int			all = last;

	element_table_start_iterate(analysis->counts, &iterator);
	while ((count = element_table_iterate(analysis->counts, &iterator)) != NULL)
		elements[count->seen > Max(least, 1) ? n++ : --last] = count;
	if (n > most)
	{
		qsort(elements, n, sizeof(ElementCount *), compare_counts_down);
		n = most;
	}
	qsort(elements, n, sizeof(ElementCount *), compare_elements);
	qsort(elements + n, all - n, sizeof(ElementCount *), compare_elements);
	return n;
}

/* MCELEM, without the extremes that core adds for arrays: nothing asks for them. */
static void
store_common(VacAttrStats *stats, const ElementAnalysis *analysis,
			 ElementCount **common, int n)
{
	float4	   *numbers = palloc(sizeof(float4) * n);
	int64	   *values = palloc(sizeof(int64) * n);

	for (int i = 0; i < n; i++)
	{
		values[i] = common[i]->element;
		numbers[i] = Min(1.0, common[i]->seen / analysis->nrows);
	}
	if (n > 0)
		fill_slot(stats, STATISTIC_KIND_MCELEM, values, n, numbers, n);
}

/* DECHIST: a histogram of the cardinalities, then their average. */
static void
store_cardinalities(VacAttrStats *stats, ElementAnalysis *analysis)
{
	int			bounds = analysis->target;
	int			last = analysis->nrows - 1;
	float4	   *numbers = palloc(sizeof(float4) * (bounds + 1));

	r64_sort(&roaring64_env, analysis->cardinalities, analysis->nrows);
	for (int i = 0; i < bounds; i++)
		numbers[i] = analysis->cardinalities[i == bounds - 1 ? last :
											 (int64) analysis->nrows * i / bounds];
	numbers[bounds] = analysis->occurrences / analysis->nrows;
	fill_slot(stats, STATISTIC_KIND_DECHIST, NULL, 0, numbers, bounds + 1);
}

/*
 * The number of distinct elements of all rows, from n elements of the rows read.
 * read_share is the share of all occurrences that was read.
 */
static double
estimate_distinct(ElementCount **elements, int n, double read_share)
{
	double		read = 0;
	double		once = 0;

	for (int i = 0; i < n; i++)
	{
		read += elements[i]->read;
		once += (elements[i]->read == 1);
	}
	return read * n / (read - once + once * read_share);
}

/*
 * Fills the slot of our own kind (planner.h) with n elements, ascending, that are
 * not common.
 */
static void
store_rest(VacAttrStats *stats, const ElementAnalysis *analysis,
		   ElementCount **elements, int n, double totalrows)
{
	int64	   *bounds = palloc(sizeof(int64) * (analysis->target + 3));
	float4	   *numbers = palloc(sizeof(float4) * (analysis->target + 3));
	double		read_share = analysis->elements /
		(analysis->occurrences * Max(totalrows / analysis->nrows, 1));
	double		mass = 0;
	double		passed = 0;
	int			bins = 0;
	int			first = 0;

	for (int i = 0; i < n; i++)
		mass += elements[i]->seen;
	numbers[0] = mass / analysis->nrows;
	/* bins of the same mass each, or of one element that has more */
	for (int i = 0; i < n; i++)
	{
		passed += elements[i]->seen;
		if (passed * analysis->target < mass * (bins + 1) && i < n - 1)
			continue;
		bounds[bins] = elements[first]->element;
		bounds[bins + 1] = elements[Min(i + 1, n - 1)]->element;
		numbers[bins + 1] = estimate_distinct(elements + first, i + 1 - first, read_share);
		numbers[bins + 1] = Min(numbers[bins + 1],
								roaring64_width(bounds[bins], bounds[bins + 1]));
		bins++;
		first = i + 1;
	}
	if (bins > 0)
		fill_slot(stats, ROARING64_STATISTIC_KIND_REST, bounds, bins + 1,
				  numbers, bins + 1);
}

/* Reads the non-null sample rows, or every nth row if all would be too much. */
static void
read_rows(ElementAnalysis *analysis, VacAttrStats *stats,
		  AnalyzeAttrFetchFunc fetch, int samplerows)
{
	uint64		bytes = 0;
	int			every;
	int			n;
	int64	   *elements;

	for (int i = 0; i < samplerows; i++)
	{
		bool		isnull;
		Datum		value = fetch(stats, i, &isnull);

		if (!isnull)
			bytes += toast_raw_datum_size(value);
	}
	every = (int) Min(Max(bytes / MAX_BYTES, samplerows / MAX_ROWS) + 1,
					  (uint64) samplerows);
	n = MAX_ELEMENTS / (samplerows / every + 1);
	elements = palloc(sizeof(int64) * n);
	for (int i = every / 2; i < samplerows; i += every)
	{
		bool		isnull;
		Datum		value;

		roaring64_analyze_delay_point();
		value = fetch(stats, i, &isnull);
		if (!isnull)
			add_set(analysis, value, elements, n);
	}
}

/* compute_stats of a column of sets: the standard part, then ours. */
static void
compute_set_stats(VacAttrStats *stats, AnalyzeAttrFetchFunc fetch,
				  int samplerows, double totalrows)
{
	ElementAnalysis analysis = {.target = Max(roaring64_statistics_target(stats), 2)};
	ElementCount **elements;
	int			ncommon;
	MemoryContext oldcontext;

	/* the standard analysis sets its own compute_stats */
	if (std_typanalyze(stats))
		stats->compute_stats(stats, fetch, samplerows, totalrows);
	if (!stats->stats_valid)
		return;

	analysis.cardinalities = palloc(sizeof(uint64) * samplerows);
	analysis.counts = element_table_create(CurrentMemoryContext,
										   MAX_ELEMENTS / 8, NULL);
	read_rows(&analysis, stats, fetch, samplerows);
	if (analysis.nrows == 0)
		return;
	elements = palloc(sizeof(ElementCount *) *
					  Max(analysis.counts->members, 1));
	ncommon = sort_elements(&analysis, elements);
	/* statistics must outlive the analysis */
	oldcontext = MemoryContextSwitchTo(stats->anl_context);
	store_common(stats, &analysis, elements, ncommon);
	store_cardinalities(stats, &analysis);
	store_rest(stats, &analysis, elements + ncommon,
			   analysis.counts->members - ncommon,
			   totalrows * (1 - stats->stanullfrac));
	MemoryContextSwitchTo(oldcontext);
}

/* roaring64_typanalyze(internal) returns boolean: ANALYZE of the type. */
PG_FUNCTION_INFO_V1(roaring64_typanalyze);
Datum
roaring64_typanalyze(PG_FUNCTION_ARGS)
{
	VacAttrStats *stats = (VacAttrStats *) PG_GETARG_POINTER(0);

	if (!std_typanalyze(stats))
		PG_RETURN_BOOL(false);
	stats->compute_stats = compute_set_stats;
	PG_RETURN_BOOL(true);
}
