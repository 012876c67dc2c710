/*-------------------------------------------------------------------------
 *
 * setstats.c
 *	  What the statistics of a column of sets say about a test.
 *
 * All estimates come from one reckoning.  Each element has a frequency, the
 * chance that a row's set has it: of the most common ones it is known; of the
 * others it is that of their neighbours, the occurrences in a bin of the
 * histogram over the different elements in it.  A set of twice as many elements
 * has each of them twice as often; apart from that elements are taken to be
 * independent of each other, as core does for arrays.  So with f running over
 * the elements of a probe, for each cardinality k of the histogram
 *
 *	set && probe	1 - product (1 - f)
 *	set @> probe	product f
 *	set <@ probe	p^k, where p is the share of all occurrences that the probe
 *					has
 *
 * The most common sets are tested instead, of which the empty one can have most
 * rows.  What they have of the probe's elements the other rows have not.
 *
 * However large the probe is, no more is done than to look up the most common
 * elements in it and to count it by bins.
 *
 * src/planner/setstats.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"

#include "planner/planner.h"
#include "type/roaring64.h"

/* Most common sets of a column to test; to join with those of another one. */
#define MAX_COMMON_SETS		100
#define MAX_SETS_JOINED		32

/*
 * A probe of more bytes is not compared with them.  They have a kilobyte at
 * most, and the comparison reads all of it.
 */
#define MAX_COMPARED_SIZE	8192

#define LARGEST_POWER	32		/* the chances are not known well enough */

#define MAX_CLASSES		128		/* there are fewer powers of 1.5 to 2^64 */
#define MAX_GROUPS		(MAX_CLASSES + MAX_COMMON_SETS)

/* What a probe has of the elements of a column. */
typedef struct Tally
{
	double		count;			/* of them */
	double		hits;			/* sum of their frequencies */
	double		log_none;		/* logarithm of the chance of none of them */
	double		log_all;		/* and of all of them */
} Tally;

/* Empties a slot whose layout is not the one we know. */
static void
check_slot(AttStatsSlot *slot, bool good)
{
	if (good)
		return;
	free_attstatsslot(slot);
	memset(slot, 0, sizeof(*slot));
}

/*
 * Reads the statistics of a variable that holds sets, those of their elements
 * only if asked; to be freed.  function is what will be estimated; if that must
 * not see them (row security) they are taken for missing.
 */
void
roaring64_load_stats(VariableStatData *vardata, Oid function,
					 bool with_elements, SetStats *stats)
{
	HeapTuple	tuple = vardata->statsTuple;

	memset(stats, 0, sizeof(*stats));
	stats->nonnull = 1;
	stats->average = stats->distinct = -1;
	if (!HeapTupleIsValid(tuple))
		return;
	stats->nonnull = 1 - ((Form_pg_statistic) GETSTRUCT(tuple))->stanullfrac;
	if (!statistic_proc_security_check(vardata, function))
		return;

	/* a slot that is not there is left empty */
	get_attstatsslot(&stats->sets, tuple, STATISTIC_KIND_MCV, InvalidOid,
					 ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS);
	check_slot(&stats->sets, stats->sets.nvalues == stats->sets.nnumbers);
	get_attstatsslot(&stats->dechist, tuple, STATISTIC_KIND_DECHIST, InvalidOid,
					 ATTSTATSSLOT_NUMBERS);
	check_slot(&stats->dechist, stats->dechist.nnumbers > 1);
	if (stats->dechist.nnumbers > 0)
		stats->average = stats->dechist.numbers[stats->dechist.nnumbers - 1];
	if (!with_elements)
		return;
	get_attstatsslot(&stats->mcelem, tuple, STATISTIC_KIND_MCELEM, InvalidOid,
					 ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS);
	check_slot(&stats->mcelem, stats->mcelem.valuetype == INT8OID &&
			   stats->mcelem.nnumbers >= stats->mcelem.nvalues);
	get_attstatsslot(&stats->rest, tuple, ROARING64_STATISTIC_KIND_REST,
					 InvalidOid, ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS);
	check_slot(&stats->rest, stats->rest.valuetype == INT8OID &&
			   stats->rest.nnumbers > 1 &&
			   stats->rest.nnumbers == stats->rest.nvalues);
	stats->distinct = stats->mcelem.nvalues;
	for (int bin = 1; bin < stats->rest.nnumbers; bin++)
		stats->distinct += stats->rest.numbers[bin];
}

void
roaring64_free_stats(SetStats *stats)
{
	free_attstatsslot(&stats->sets);
	free_attstatsslot(&stats->mcelem);
	free_attstatsslot(&stats->dechist);
	free_attstatsslot(&stats->rest);
}

static double
probe_count(Probe *probe, int64 lo, int64 hi)
{
	if (probe->is_set)
		return (double) r64_count_range(&probe->set, lo, hi);
	return roaring64_width(Max(lo, probe->lo), Min(hi, probe->hi));
}

/* How many elements a probe has. */
double
roaring64_probe_size(Probe *probe)
{
	return probe_count(probe, PG_INT64_MIN, PG_INT64_MAX);
}

/* The first element from v on; false if there is none. */
static bool
probe_next(Probe *probe, int64 v, int64 *next)
{
	if (probe->is_set)
		return r64_next(&probe->set, v, next);
	*next = Max(v, probe->lo);
	return *next <= probe->hi;
}

/* Adds elements of a frequency, count of them. */
static void
add_to_tally(Tally *tally, double count, double frequency)
{
	if (count <= 0)
		return;
	tally->count += count;
	tally->hits += count * frequency;
	tally->log_none += count * log1p(-Min(frequency, 1));
	tally->log_all += count * log(Max(frequency, 1e-10));
}

/*
 * Adds the elements outside of the histogram's bins, and the elements in its
 * bins.  common has the elements, ascending, that are accounted for already.
 */
static void
tally_rest(const SetStats *stats, Probe *probe,
		   const int64 *common, int ncommon, Tally *tally)
{
	int			bins = stats->rest.nnumbers - 1;
	double		outside = roaring64_probe_size(probe) - ncommon;
	double		least = 1;
	int			next = 0;
	int64		element;
	bool		more = probe_next(probe, PG_INT64_MIN, &element);
	bool		is_range = !probe->is_set && probe->lo < probe->hi;

	for (int bin = 0; bin < bins && outside > 0; bin++)
	{
		int64		lo = DatumGetInt64(stats->rest.values[bin]);
		int64		hi = DatumGetInt64(stats->rest.values[bin + 1]);
		double		distinct = Max(stats->rest.numbers[bin + 1], 1);
		double		frequency = stats->rest.numbers[0] / bins / distinct;
		double		count;
		double		width;

		/* but for the last, up to the next; an element can fill whole bins */
		if (bin < bins - 1 && hi > lo)
			hi--;
		least = Min(least, frequency);
		if (more && element < lo)
			more = probe_next(probe, lo, &element);
		if (!more || element > hi)
			continue;
		count = probe_count(probe, lo, hi);
		width = roaring64_width(lo, hi);
		while (next < ncommon && common[next] < lo)
			next++;
		for (int i = next; i < ncommon && common[i] <= hi; i++)
		{
			count--;
			width--;
		}
		outside -= count;
		/* a range has integers that are in no set; a set, if it has too many */
		if (is_range)
			count *= Min(distinct / Max(width, 1), 1);
		else if (count > distinct && r64_prev(&probe->set, hi, &hi))
			count = distinct * roaring64_width(element, hi) / Max(width, 1);
		add_to_tally(tally, Min(count, distinct), frequency);
	}
	/* what came after ANALYZE, not more than a bin of it, or is in no set */
	if (!is_range)
		add_to_tally(tally, Min(outside, stats->distinct / bins), least / 4);
}

static Tally
make_tally(const SetStats *stats, Probe *probe)
{
	Tally		tally = {0};
	int64	   *common = palloc(sizeof(int64) * Max(stats->mcelem.nvalues, 1));
	int			n = 0;
	int64		next;
	bool		more = probe_next(probe, PG_INT64_MIN, &next);

	/* both ascend, so a probe of few elements is searched few times */
	for (int i = 0; more && i < stats->mcelem.nvalues; i++)
	{
		int64		element = DatumGetInt64(stats->mcelem.values[i]);

		if (next < element)
			more = probe_next(probe, element, &next);
		if (more && next == element)
		{
			add_to_tally(&tally, 1, stats->mcelem.numbers[i]);
			common[n++] = element;
		}
	}
	/* without bins these are all elements */
	if (stats->rest.nnumbers > 0)
		tally_rest(stats, probe, common, n, &tally);
	else if (probe->is_set || probe->lo == probe->hi)
		add_to_tally(&tally, roaring64_probe_size(probe) - n, 0);
	pfree(common);
	return tally;
}

/* How many elements of a probe a non-null row has, on average; -1 if unknown. */
double
roaring64_expected_hits(const SetStats *stats, Probe *probe)
{
	return stats->distinct > 0 ? make_tally(stats, probe).hits : -1;
}

/* The chance that a set has a given element of the column; -1 if unknown. */
double
roaring64_average_frequency(const SetStats *stats)
{
	if (stats->distinct <= 0 || stats->average < 0)
		return -1;
	return Min(stats->average / stats->distinct, 1);
}

/*
 * Rows of one side of a test: those that have one of the most common sets, or a
 * set of like size, at most half as large again as the least.
 */
typedef struct RowGroup
{
	double		share;			/* of the non-null rows */
	double		least;
	double		size;			/* on average */
	bool		is_known;		/* the set is */
	Probe		probe;			/* if so */
} RowGroup;

/* The groups of rows of a column, at most so many by a set.  Returns how many. */
static int
describe_column(const SetStats *stats, int nsets, RowGroup *groups)
{
	int			bounds = stats->dechist.nnumbers - 1;
	int			n = 0;
	int			nclasses;

	memset(groups, 0, sizeof(RowGroup) * MAX_GROUPS);
	for (int i = 0; i < bounds; i++)
	{
		double		size = stats->dechist.numbers[i];
		RowGroup   *class;

		/* statistics that were imported can say anything */
		if (n == 0 || (size > 1.5 * groups[n - 1].least && n < MAX_CLASSES))
			groups[n++].least = size;
		class = &groups[n - 1];
		class->share += 1.0 / bounds;
		class->size += (size - class->size) / (class->share * bounds);
	}
	nclasses = n;
	for (int i = 0; i < Min(stats->sets.nvalues, nsets); i++)
	{
		RowGroup   *set = &groups[n++];
		RowGroup   *class = &groups[nclasses - 1];

		set->is_known = set->probe.is_set = true;
		set->probe.set = DatumGetRoaring64(stats->sets.values[i]);
		set->size = roaring64_probe_size(&set->probe);
		set->share = stats->sets.numbers[i] / Max(stats->nonnull, 1e-10);
		while (class > groups && class->least > set->size)
			class--;
		/* the empty set is known more exactly than by the histogram */
		class->share = set->size == 0 ? 0 : Max(class->share - set->share, 0);
	}
	return n;
}

/*
 * The chance that two sets of such sizes pass a test.  They are expected to have
 * hits in common, times as many as the tally has.
 */
static double
chance(TestKind kind, double left, double right, const Tally *tally,
	   double hits, double times)
{
	double		inner = kind == TEST_CONTAINS ? right : left;

	if (kind == TEST_OVERLAPS)
		return times > 0 ? 1 - exp(tally->log_none * times) : 0;
	if (inner > (kind == TEST_CONTAINS ? left : right))
		return 0;
	if (kind == TEST_CONTAINS && tally->count > 0)
		return exp(Min(tally->log_all + tally->count * log(Max(times, 1e-10)),
					   0));
	return inner == 0 ? 1 :
		pow(Min(hits / inner, 1), Min(inner, LARGEST_POWER));
}

/*
 * The share of all pairs of non-null rows of two sides whose sets pass a test.
 * tally is what two sets have in common on average; what known ones have is taken
 * from that.  In *tested, the share of the pairs that are of known sets.
 */
static double
share_of_pairs(TestKind kind, RowGroup *a, int na, RowGroup *b, int nb,
			   const Tally *tally, double *tested)
{
	double		hits = tally->hits;
	double		passing = 0;
	double		pairs = 0;
	double		product = 0;
	double		sum = 0;

	*tested = 0;
	for (int i = 0; i < na * nb; i++)
	{
		RowGroup   *x = &a[i / nb];
		RowGroup   *y = &b[i % nb];
		double		share = x->share * y->share;

		if (x->is_known && y->is_known)
		{
			double		both = !y->probe.is_set ?
				probe_count(&x->probe, y->probe.lo, y->probe.hi) :
				(double) r64_and_cardinality(&x->probe.set, &y->probe.set);
			bool		passes = kind == TEST_OVERLAPS ? both > 0 :
				both == (kind == TEST_CONTAINS ? y : x)->size;

			*tested += share;
			passing += passes ? share : 0;
			/* a range that is to be contained is one element of the tally */
			hits -= share * (kind == TEST_CONTAINS && !y->probe.is_set ? passes : both);
		}
		else
		{
			pairs += share;
			product += share * x->size * y->size;
		}
	}
	hits = Max(hits, 0);
	if (*tested >= 1 || pairs <= 0)
		return passing;
	if (kind == TEST_CONTAINS && tally->count == 1 && b->size == 1)
		return passing + hits;
	/* hits for each pair of elements */
	hits = product > 0 ? hits / (1 - *tested) * pairs / product : 0;
	for (int i = 0; i < na * nb; i++)
	{
		RowGroup   *x = &a[i / nb];
		RowGroup   *y = &b[i % nb];
		double		expected = hits * x->size * y->size;

		if (!x->is_known || !y->is_known)
			sum += x->share * y->share *
				chance(kind, x->size, y->size, tally, expected,
					   expected / Max(tally->hits, 1e-100));
	}
	return passing + (1 - *tested) * sum / pairs;
}

/*
 * The share of the non-null rows of a column whose set passes a test with a
 * probe; or with one that has so many elements and is else not known, if probe is
 * NULL.
 */
double
roaring64_share_passing(const SetStats *stats, TestKind kind, Probe *probe,
						double size)
{
	bool		is_range = probe != NULL && !probe->is_set;
	double		tested;
	Tally		tally = {0};
	RowGroup	column[MAX_GROUPS];
	RowGroup	other = {.share = 1};

	if (probe != NULL)
		size = roaring64_probe_size(probe);
	if (size == 0 && kind != TEST_CONTAINED)
		return kind == TEST_CONTAINS ? 1 : 0;
	if (stats->average < 0 ||
		(size > 0 && stats->average > 0 && stats->distinct <= 0))
		return ROARING64_DEFAULT_SHARE;
	if (probe == NULL)
		add_to_tally(&tally, size, roaring64_average_frequency(stats));
	else if (kind == TEST_CONTAINS && is_range)
	{
		/* a set with both ends has what is between, if it has so many at all */
		Probe		first = {.lo = probe->lo,.hi = probe->lo};
		Probe		last = {.lo = probe->hi,.hi = probe->hi};

		add_to_tally(&tally, 1, Min(make_tally(stats, &first).hits,
									make_tally(stats, &last).hits));
	}
	else if (size > 0 && stats->average > 0)
		tally = make_tally(stats, probe);
	other.size = size;
	other.is_known = probe != NULL &&
		(is_range || probe->set.size <= MAX_COMPARED_SIZE);
	if (other.is_known)
		other.probe = *probe;
	return share_of_pairs(kind, column,
						  describe_column(stats, MAX_COMMON_SETS, column),
						  &other, 1, &tally, &tested);
}

/*
 * How many elements sets of two columns have in common, on average; -1 if
 * unknown.  The most common elements are matched, the others are taken to be
 * drawn from the larger of the two stocks.
 */
static double
expected_common(const SetStats *a, const SetStats *b)
{
	double		left_a = a->average;
	double		left_b = b->average;
	double		distinct = Max(a->distinct, b->distinct);
	double		common = 0;
	int			j = 0;

	if (roaring64_average_frequency(a) < 0 ||
		roaring64_average_frequency(b) < 0)
		return -1;
	for (int i = 0; i < a->mcelem.nvalues; i++)
	{
		int64		element = DatumGetInt64(a->mcelem.values[i]);
		double		share_a = a->mcelem.numbers[i];
		double		share_b;

		while (j < b->mcelem.nvalues &&
			   DatumGetInt64(b->mcelem.values[j]) < element)
			j++;
		if (j == b->mcelem.nvalues)
			break;
		if (DatumGetInt64(b->mcelem.values[j]) != element)
			continue;
		share_b = b->mcelem.numbers[j];
		common += share_a * share_b;
		left_a -= share_a;
		left_b -= share_b;
		distinct--;
	}
	return common + Max(left_a, 0) * Max(left_b, 0) / Max(distinct, 1);
}

/*
 * The share of the pairs of non-null rows of two columns whose sets pass a test,
 * the left one from a.  In *tested, the share of which this is known.
 */
double
roaring64_share_of_join(TestKind kind, const SetStats *a, const SetStats *b,
						double *tested)
{
	double		common = expected_common(a, b);
	Tally		tally = {.hits = common,.log_none = -common};
	RowGroup	left[MAX_GROUPS];
	RowGroup	right[MAX_GROUPS];

	*tested = 0;
	if (common < 0)
		return ROARING64_DEFAULT_SHARE;
	return share_of_pairs(kind, left, describe_column(a, MAX_SETS_JOINED, left),
						  right, describe_column(b, MAX_SETS_JOINED, right),
						  &tally, tested);
}
