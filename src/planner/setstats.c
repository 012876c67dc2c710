/*-------------------------------------------------------------------------
 *
 * setstats.c
 *	  The share of the rows of a column of sets that pass a test, by its statistics,
 *	  which ANALYZE makes (typanalyze.c).
 *
 * All estimates come from one model.  Each element has a frequency, the chance
 * that a row's set has it.  For the most common elements it is known; for the
 * others it is the mean of their bin of the histogram, occurrences divided by
 * distinct elements.  A set of twice as many elements has each of them twice as
 * often; apart from that elements are taken to be independent of each other, as
 * core does for arrays.  So with f running over the elements of a probe, for each
 * cardinality k of the histogram
 *
 *	set && probe	1 - product (1 - f)
 *	set @> probe	product f
 *	set <@ probe	p^k, where p is the share of all occurrences that the probe
 *					has
 *
 * The most common sets are tested instead; the empty set can have most rows.  Their
 * share of the probe's elements is subtracted from the other rows'.
 *
 * However large the probe is, the work is to look up the most common elements in it
 * and to count it by bins.
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

/* Most common sets of a column to test. */
#define MAX_COMMON_SETS		100

/*
 * A probe of more bytes is not compared with them.  Each has a kilobyte at most,
 * but the comparison reads all of the probe.
 */
#define MAX_COMPARED_SIZE	8192

#define LARGEST_POWER	32		/* the chances are not known well enough */

#define MAX_CLASSES		128		/* there are fewer powers of 1.5 to 2^64 */
#define MAX_GROUPS		(MAX_CLASSES + MAX_COMMON_SETS)

/* The elements of a probe that a column has. */
typedef struct Tally
{
	double		count;			/* of them */
	double		hits;			/* sum of their frequencies */
	double		log_none;		/* logarithm of the chance that a set has none */
	double		log_all;		/* and that it has all */
} Tally;

/* Empties a slot of unknown layout. */
static void
check_slot(AttStatsSlot *slot, bool good)
{
	if (good)
		return;
	free_attstatsslot(slot);
	memset(slot, 0, sizeof(*slot));
}

/*
 * Reads the statistics of a variable that holds sets, with those of their elements
 * if asked; to be freed.  If function, which is to be estimated, must not see them
 * (row security), they are taken for missing.
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

	/* a missing slot remains empty */
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

/*
 * The average of min(size, most) over the non-null rows of a variable that holds
 * sets, by the histogram if any is larger; -1 if unknown.
 */
double
roaring64_mean_size(VariableStatData *vardata, double most)
{
	AttStatsSlot slot;
	double		mean = 0;
	int			bounds;

	if (!HeapTupleIsValid(vardata->statsTuple) ||
		!get_attstatsslot(&slot, vardata->statsTuple, STATISTIC_KIND_DECHIST,
						  InvalidOid, ATTSTATSSLOT_NUMBERS))
		return -1;
	bounds = slot.nnumbers - 1;
	for (int i = 0; i < bounds; i++)
		mean += Min(slot.numbers[i], most) / bounds;
	if (bounds < 1)
		mean = -1;
	else if (slot.numbers[bounds - 1] <= most || mean > slot.numbers[bounds])
		mean = slot.numbers[bounds];
	free_attstatsslot(&slot);
	return mean;
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
 * Adds the elements in the histogram's bins and outside of them, except the common
 * ones, which ascend and are in the tally already.
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

		/* a bin but the last excludes its end, unless one element fills it */
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
	/* new since ANALYZE, and at most a bin of such, or in no set */
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

/*
 * How many elements of a probe a non-null row has, on average; all of the row's if
 * nothing is known of its elements, and -1 if their number is not known either.
 */
double
roaring64_expected_hits(const SetStats *stats, Probe *probe)
{
	return stats->distinct > 0 ? make_tally(stats, probe).hits :
		stats->average;
}

/*
 * Rows of a column: those with one of the most common sets, or those with sets of
 * similar size, up to 1.5 times the least.  Or the other side of a test.
 */
typedef struct RowGroup
{
	double		share;			/* of the non-null rows */
	double		least;
	double		size;			/* on average */
	bool		is_known;		/* the set is */
	Probe		probe;			/* if so */
} RowGroup;

/* The groups of rows of a column.  Returns how many. */
static int
describe_column(const SetStats *stats, RowGroup *groups)
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
	for (int i = 0; i < Min(stats->sets.nvalues, MAX_COMMON_SETS); i++)
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
 * The chance that two sets of such sizes pass a test, if they are expected to have
 * hits in common, which is times the hits of the tally.
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
 * The share of the rows of n groups whose sets pass a test with another set or a
 * range.  tally is the average over all rows, from which that of known sets is
 * subtracted.
 */
static double
share_of_groups(TestKind kind, RowGroup *groups, int n, RowGroup *other,
				const Tally *tally)
{
	double		hits = tally->hits;
	double		passing = 0;
	double		tested = 0;
	double		untested = 0;
	double		size = 0;
	double		sum = 0;

	for (int i = 0; i < n; i++)
	{
		RowGroup   *x = &groups[i];

		if (x->is_known && other->is_known)
		{
			double		both = !other->probe.is_set ?
				probe_count(&x->probe, other->probe.lo, other->probe.hi) :
				(double) r64_and_cardinality(&x->probe.set, &other->probe.set);
			bool		passes = kind == TEST_OVERLAPS ? both > 0 :
				both == (kind == TEST_CONTAINS ? other : x)->size;

			tested += x->share;
			passing += passes ? x->share : 0;
			/* a range that is to be contained is one element of the tally */
			hits -= x->share * (kind == TEST_CONTAINS && !other->probe.is_set ?
								passes : both);
		}
		else
		{
			untested += x->share;
			size += x->share * x->size;
		}
	}
	hits = Max(hits, 0);
	if (tested >= 1 || untested <= 0)
		return passing;
	if (kind == TEST_CONTAINS && tally->count == 1 && other->size == 1)
		return passing + hits;
	/* hits for each element of a row's set */
	hits = size > 0 ? hits / (1 - tested) * untested / size : 0;
	for (int i = 0; i < n; i++)
	{
		RowGroup   *x = &groups[i];
		double		expected = hits * x->size;

		if (!x->is_known || !other->is_known)
			sum += x->share * chance(kind, x->size, other->size, tally, expected,
									 expected / Max(tally->hits, 1e-100));
	}
	return passing + (1 - tested) * sum / untested;
}

/*
 * The share of the non-null rows of a column whose set passes a test with a probe;
 * or, if probe is NULL, with an unknown set of so many elements.
 */
double
roaring64_share_passing(const SetStats *stats, TestKind kind, Probe *probe,
						double size)
{
	bool		is_range = probe != NULL && !probe->is_set;
	Tally		tally = {0};
	RowGroup	groups[MAX_GROUPS];
	RowGroup	other = {.share = 1};

	if (probe != NULL)
		size = roaring64_probe_size(probe);
	if (size == 0 && kind != TEST_CONTAINED)
		return kind == TEST_CONTAINS ? 1 : 0;
	if (stats->average < 0 ||
		(size > 0 && stats->average > 0 && stats->distinct <= 0))
		return ROARING64_DEFAULT_SHARE;
	if (probe == NULL)
		add_to_tally(&tally, size,
					 Min(stats->average / Max(stats->distinct, 1), 1));
	else if (kind == TEST_CONTAINS && is_range)
	{
		/* a set with both ends, if large enough, is taken to have all between */
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
	return share_of_groups(kind, groups, describe_column(stats, groups), &other,
						   &tally);
}
