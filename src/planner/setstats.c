/*-------------------------------------------------------------------------
 *
 * setstats.c
 *	  What the statistics of a column of sets say about a test.
 *
 * All estimates come from one reckoning.  Each element has a frequency, the
 * chance that a row's set has it: of the most common ones it is known; of the
 * others it is that of their neighbours, the occurrences in a bin of the
 * histogram over the different elements in it.  Elements are taken to be
 * independent of each other, as core does for arrays.  So with f running over
 * the elements of a probe,
 *
 *	set && probe	1 - product (1 - f)
 *	set @> probe	product f
 *	set <@ probe	for each cardinality k of the histogram p^k, where p is
 *					the share of all occurrences that the probe has
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
#include "planner/statistics.h"
#include "type/roaring64.h"

/* What a probe has of the elements of a column. */
typedef struct Tally
{
	double		hits;			/* sum of their frequencies */
	double		log_none;		/* logarithm of the chance of none of them */
	double		log_all;		/* and of all of them */
} Tally;

/* One slot of a statistics tuple; empty if there is none. */
static void
load_slot(HeapTuple tuple, int kind, int flags, AttStatsSlot *slot)
{
	if (!get_attstatsslot(slot, tuple, kind, InvalidOid, flags))
		memset(slot, 0, sizeof(*slot));
}

/* Empties a slot whose layout is not the one we know. */
static void
check_slot(AttStatsSlot *slot, bool good)
{
	if (good)
		return;
	free_attstatsslot(slot);
	memset(slot, 0, sizeof(*slot));
}

/* Reads the slot of our own kind, and where its parts are. */
static void
load_rest(HeapTuple tuple, SetStats *stats)
{
	AttStatsSlot *rest = &stats->rest;
	int			others;

	load_slot(tuple, ROARING64_STATISTIC_KIND_REST,
			  ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS, rest);
	others = rest->nnumbers - ROARING64_REST_NUMBERS;
	if (others > 0 && rest->numbers[2] >= 0 && rest->numbers[2] <= others)
	{
		stats->ntop = (int) rest->numbers[2];
		stats->nbins = others - stats->ntop;
	}
	check_slot(rest, rest->valuetype == INT8OID && others > 0 &&
			   rest->nvalues == others + (stats->nbins > 0) &&
			   rest->numbers[1] > 0);
	if (rest->nnumbers > 0)
		stats->distinct = rest->numbers[1];
	else
		stats->ntop = stats->nbins = 0;
}

/*
 * Reads the statistics of a variable that holds sets, of which the most common
 * elements only if asked; to be freed.  function is what will be estimated; if
 * that must not see them (row security) they are taken for missing.
 */
void
roaring64_load_stats(VariableStatData *vardata, Oid function,
					 bool with_common, SetStats *stats)
{
	HeapTuple	tuple = vardata->statsTuple;

	memset(stats, 0, sizeof(*stats));
	stats->nonnull = 1;
	stats->average = stats->distinct = -1;
	stats->common_limit = 1;
	if (!HeapTupleIsValid(tuple))
		return;
	stats->nonnull = 1 - ((Form_pg_statistic) GETSTRUCT(tuple))->stanullfrac;
	if (!statistic_proc_security_check(vardata, function))
		return;

	if (with_common)
		load_slot(tuple, STATISTIC_KIND_MCELEM,
				  ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS, &stats->mcelem);
	check_slot(&stats->mcelem,
			   stats->mcelem.valuetype == INT8OID &&
			   stats->mcelem.nnumbers == stats->mcelem.nvalues + 3);
	load_slot(tuple, STATISTIC_KIND_DECHIST, ATTSTATSSLOT_NUMBERS,
			  &stats->dechist);
	check_slot(&stats->dechist, stats->dechist.nnumbers > 1);
	load_rest(tuple, stats);
	if (stats->dechist.nnumbers > 0)
		stats->average = stats->dechist.numbers[stats->dechist.nnumbers - 1];
	if (stats->mcelem.nvalues > 0)
		stats->common_limit = stats->mcelem.numbers[stats->mcelem.nvalues];
}

void
roaring64_free_stats(SetStats *stats)
{
	free_attstatsslot(&stats->mcelem);
	free_attstatsslot(&stats->dechist);
	free_attstatsslot(&stats->rest);
}

static double
probe_count(const Probe *probe, int64 lo, int64 hi)
{
	if (probe->set != NULL)
		return (double) r64_count_range(probe->set, lo, hi);
	return roaring64_width(Max(lo, probe->lo), Min(hi, probe->hi));
}

static double
probe_size(const Probe *probe)
{
	return probe_count(probe, PG_INT64_MIN, PG_INT64_MAX);
}

/* The first element from v on; false if there is none. */
static bool
probe_next(const Probe *probe, int64 v, int64 *next)
{
	if (probe->set != NULL)
		return r64_next(probe->set, v, next);
	*next = Max(v, probe->lo);
	return *next <= probe->hi;
}

/*
 * The frequency of an element that the statistics do not know: what the known
 * ones leave of the occurrences, shared by as many.
 */
static double
unknown_frequency(const SetStats *stats)
{
	double		frequency = Min(ROARING64_CONTAIN_SHARE, stats->common_limit / 2);
	double		left = stats->average;

	if (stats->average < 0 || stats->mcelem.nvalues == 0)
		return frequency;
	for (int i = 0; i < stats->mcelem.nvalues; i++)
		left -= stats->mcelem.numbers[i];
	return Min(frequency, Max(left, 0) / stats->mcelem.nvalues);
}

/*
 * The bounds of a bin, both inclusive, and how many different elements it has.
 */
static double
get_bin(const SetStats *stats, int bin, int64 *lo, int64 *hi)
{
	int			i = stats->ntop + bin;

	*lo = DatumGetInt64(stats->rest.values[i]);
	*hi = DatumGetInt64(stats->rest.values[i + 1]);
	/* but for the last, up to the next; an element can fill whole bins */
	if (bin < stats->nbins - 1 && *hi > *lo)
		(*hi)--;
	return Max(stats->rest.numbers[ROARING64_REST_NUMBERS + i], 1);
}

/* Adds elements of a frequency, count of them. */
static void
add_to_tally(Tally *tally, double count, double frequency)
{
	if (count <= 0)
		return;
	tally->hits += count * frequency;
	tally->log_none += count * log1p(-Min(frequency, 1));
	tally->log_all += count * log(Max(frequency, 1e-10));
}

/*
 * Adds the elements outside of the histogram's bins, and the elements in its
 * bins.  common has the elements, ascending, that are accounted for already.
 */
static void
tally_rest(const SetStats *stats, const Probe *probe,
		   const int64 *common, int ncommon, Tally *tally)
{
	int			bins = stats->nbins;
	double		outside = probe_size(probe) - ncommon;
	double		least = stats->common_limit;
	int			next = 0;
	int64		element;
	bool		more = probe_next(probe, PG_INT64_MIN, &element);
	bool		is_range = probe->set == NULL && probe->lo < probe->hi;

	for (int bin = 0; bin < bins && outside > 0; bin++)
	{
		int64		lo;
		int64		hi;
		double		count;
		double		width;
		double		distinct = get_bin(stats, bin, &lo, &hi);
		double		frequency = Min(stats->rest.numbers[0] / bins / distinct,
									stats->common_limit);

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
		else if (count > distinct && r64_prev(probe->set, hi, &hi))
			count = distinct * roaring64_width(element, hi) / Max(width, 1);
		add_to_tally(tally, Min(count, distinct), frequency);
	}
	/* what came after ANALYZE, not more than a bin of it, or is in no set */
	if (!is_range)
		add_to_tally(tally, Min(outside, stats->distinct / bins), least / 4);
}

static Tally
make_tally(const SetStats *stats, const Probe *probe)
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
	if (stats->nbins > 0)
		tally_rest(stats, probe, common, n, &tally);
	else if (probe->set != NULL || probe->lo == probe->hi)
		add_to_tally(&tally, probe_size(probe) - n, unknown_frequency(stats));
	pfree(common);
	return tally;
}

static bool
has_elements(const SetStats *stats)
{
	return stats->mcelem.nvalues > 0 || stats->rest.nnumbers > 0;
}

/* The share of the rows with at least so many elements. */
static double
share_of_size(const SetStats *stats, double least)
{
	int			bounds = stats->dechist.nnumbers - 1;
	int			n = 0;

	if (bounds < 1)
		return 1;
	for (int i = 0; i < bounds; i++)
		n += (stats->dechist.numbers[i] >= least);
	return (double) n / bounds;
}

/* The share of the non-null rows whose set overlaps a probe. */
double
roaring64_share_overlapping(const SetStats *stats, const Probe *probe)
{
	Tally		tally;

	if (probe_size(probe) == 0)
		return 0;
	if (!has_elements(stats))
		return ROARING64_OVERLAP_SHARE;
	tally = make_tally(stats, probe);
	return Min(1 - exp(tally.log_none), share_of_size(stats, 1));
}

/* The share of those whose set has all of it. */
double
roaring64_share_containing(const SetStats *stats, const Probe *probe)
{
	double		size = probe_size(probe);

	if (size == 0)
		return 1;
	if (!has_elements(stats))
		return ROARING64_CONTAIN_SHARE;
	if (size == 1)
		return make_tally(stats, probe).hits;
	if (probe->set == NULL)
	{
		/* who has both ends has what is between, if it has so many at all */
		Probe		first = {.lo = probe->lo,.hi = probe->lo};
		Probe		last = {.lo = probe->hi,.hi = probe->hi};

		return Min(make_tally(stats, &first).hits,
				   make_tally(stats, &last).hits) * share_of_size(stats, size);
	}
	return Min(exp(make_tally(stats, probe).log_all),
			   share_of_size(stats, size));
}

#define LARGEST_POWER 32		/* p is not known well enough for more */

/*
 * The share of the non-null rows whose set has only elements that pass a
 * test, which each of them does with chance p, and no more than most.
 */
double
roaring64_share_within(const SetStats *stats, double p, double most)
{
	int			bounds = stats->dechist.nnumbers - 1;
	double		sum = 0;

	if (bounds < 1)
		return ROARING64_CONTAIN_SHARE;
	p = Min(Max(p, 0), 1);
	for (int i = 0; i < bounds; i++)
	{
		double		size = stats->dechist.numbers[i];

		if (size <= most)
			sum += pow(p, Min(size, LARGEST_POWER));
	}
	return sum / bounds;
}

/* The share of those whose set has nothing else. */
double
roaring64_share_contained(const SetStats *stats, const Probe *probe)
{
	if (!has_elements(stats) || stats->average <= 0)
		return roaring64_share_within(stats, 0, 0);
	return roaring64_share_within(stats,
								  make_tally(stats, probe).hits / stats->average,
								  probe_size(probe));
}

/* The chance that a set has a given element of the column; -1 if unknown. */
double
roaring64_average_frequency(const SetStats *stats)
{
	if (stats->distinct < 0 || stats->average < 0)
		return -1;
	return Min(stats->average / stats->distinct, 1);
}

typedef struct CommonInteger
{
	int64		value;
	float4		share;			/* of the rows */
} CommonInteger;

static int
compare_integers(const void *a, const void *b)
{
	int64		x = ((const CommonInteger *) a)->value;
	int64		y = ((const CommonInteger *) b)->value;

	return (x > y) - (x < y);
}

/* Reads a slot of integers, and makes bigints of them. */
static void
load_integers(HeapTuple tuple, int kind, int flags, AttStatsSlot *slot)
{
	load_slot(tuple, kind, flags, slot);
	check_slot(slot, slot->valuetype == INT8OID ||
			   slot->valuetype == INT4OID || slot->valuetype == INT2OID);
	for (int i = 0; i < slot->nvalues && slot->valuetype != INT8OID; i++)
		slot->values[i] = Int64GetDatum(slot->valuetype == INT4OID ?
										DatumGetInt32(slot->values[i]) :
										DatumGetInt16(slot->values[i]));
}

/*
 * Makes statistics of sets of one element out of core's statistics of a column
 * of integers, but as shares of all rows; to be freed.  distinct is how many
 * different integers the column has, most how many of them are asked for.
 */
static void
load_integer_stats(HeapTuple tuple, double distinct, double most,
				   SetStats *stats)
{
	AttStatsSlot *common = &stats->mcelem;
	AttStatsSlot *rest = &stats->rest;
	CommonInteger *sorted;
	float4		left;

	memset(stats, 0, sizeof(*stats));
	load_integers(tuple, STATISTIC_KIND_MCV,
				  ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS, common);
	common->nvalues = Min(common->nvalues, common->nnumbers);
	load_integers(tuple, STATISTIC_KIND_HISTOGRAM, ATTSTATSSLOT_VALUES, rest);
	stats->average = 1 - ((Form_pg_statistic) GETSTRUCT(tuple))->stanullfrac;
	stats->distinct = distinct;
	stats->common_limit = 1;
	left = stats->average;

	sorted = palloc(sizeof(CommonInteger) * Max(common->nvalues, 1));
	for (int i = 0; i < common->nvalues; i++)
	{
		sorted[i].value = DatumGetInt64(common->values[i]);
		sorted[i].share = common->numbers[i];
		stats->common_limit = Min(stats->common_limit, sorted[i].share);
		left -= sorted[i].share;
	}
	qsort(sorted, common->nvalues, sizeof(CommonInteger), compare_integers);
	for (int i = 0; i < common->nvalues; i++)
	{
		common->values[i] = Int64GetDatum(sorted[i].value);
		common->numbers[i] = sorted[i].share;
	}
	pfree(sorted);

	if (rest->nvalues < 2)
		return;
	stats->nbins = rest->nvalues - 1;
	/* bins of the same frequency are one, unless there is too much in one */
	if (most <= (distinct - common->nvalues) / stats->nbins)
	{
		rest->values[1] = rest->values[stats->nbins];
		stats->nbins = 1;
	}
	rest->nnumbers = ROARING64_REST_NUMBERS + stats->nbins;
	rest->numbers = palloc(sizeof(float4) * rest->nnumbers);
	rest->numbers[0] = Max(left, 0);
	for (int i = 0; i < stats->nbins; i++)
		rest->numbers[ROARING64_REST_NUMBERS + i] =
			(distinct - common->nvalues) / stats->nbins;
}

/*
 * The share of the rows of a column of integers, of which so many are different,
 * whose value is in a set.  function is what is estimated.
 */
double
roaring64_share_in_set(VariableStatData *vardata, Oid function,
					   double distinct, r64_set *set)
{
	HeapTuple	tuple = vardata->statsTuple;
	Probe		probe = {.set = set};
	SetStats	stats;
	double		share = -1;
	double		null_share = 0;

	r64_index_set(set);
	if (HeapTupleIsValid(tuple) &&
		statistic_proc_security_check(vardata, function))
	{
		null_share = ((Form_pg_statistic) GETSTRUCT(tuple))->stanullfrac;
		load_integer_stats(tuple, distinct, probe_size(&probe), &stats);
		if (has_elements(&stats))
			share = make_tally(&stats, &probe).hits;
		roaring64_free_stats(&stats);
	}
	return share >= 0 ? share : (1 - null_share) * probe_size(&probe) / distinct;
}

/* The expression with what is known before execution filled in. */
static Node *
reduce(PlannerInfo *root, Node *node)
{
	if (root != NULL && !IsA(node, Const))
		node = estimate_expression_value(root, node);
	while (IsA(node, RelabelType) || IsA(node, PlaceHolderVar))
		node = IsA(node, RelabelType) ? (Node *) ((RelabelType *) node)->arg :
			(Node *) ((PlaceHolderVar *) node)->phexpr;
	return node;
}

/*
 * Whether an expression is a constant that a column can be tested with.  set has
 * room for it if it is a set.  It is good for as long as the current memory
 * context is.  root may be NULL.
 */
bool
roaring64_make_probe(PlannerInfo *root, Node *node, r64_set *set,
					 Probe *probe)
{
	Const	   *constant = (Const *) reduce(root, node);
	Oid			type;

	memset(probe, 0, sizeof(*probe));
	probe->set = set;
	if (!IsA(constant, Const) || constant->constisnull)
		return false;
	type = getBaseType(constant->consttype);
	if (roaring64_is_type(type))
		*set = DatumGetRoaring64(constant->constvalue);
	else if (type == INT8RANGEOID)
		roaring64_datum_bounds(constant->constvalue, &probe->lo, &probe->hi);
	else if (type == INT8OID)
		probe->lo = probe->hi = DatumGetInt64(constant->constvalue);
	else
		return false;
	if (!roaring64_is_type(type))
		probe->set = NULL;
	return true;
}

/* The same of sets only. */
bool
roaring64_constant_set(PlannerInfo *root, Node *node, r64_set *set)
{
	Probe		probe;

	return roaring64_make_probe(root, node, set, &probe) && probe.set != NULL;
}

/*
 * Reads the statistics of an expression that is a column of a relation that the
 * planner knows.  examine_variable insists on that, but support functions are
 * also asked about expressions that are above all relations.
 */
static bool
load_column_stats(PlannerInfo *root, Node *node, bool with_common,
				  SetStats *stats)
{
	Var		   *var = (Var *) node;
	VariableStatData vardata;

	if (root == NULL || !IsA(node, Var) || var->varlevelsup != 0 ||
		root->simple_rel_array == NULL ||
		var->varno <= 0 || var->varno >= root->simple_rel_array_size ||
		root->simple_rel_array[var->varno] == NULL)
		return false;
	examine_variable(root, node, 0, &vardata);
	roaring64_load_stats(&vardata, InvalidOid, with_common, stats);
	ReleaseVariableStats(vardata);
	return true;
}

/* The share of the rows for which an expression is an empty set. */
double
roaring64_share_empty(PlannerInfo *root, Node *node)
{
	SetStats	stats = {0};

	if (!load_column_stats(root, reduce(root, node), false, &stats))
		return ROARING64_CONTAIN_SHARE;
	stats.nonnull *= roaring64_share_within(&stats, 0, 0);
	roaring64_free_stats(&stats);
	return stats.nonnull;
}

/*
 * How many elements of an expression that gives a set are in another set, or
 * in a range; -1 if unknown.
 */
double
roaring64_expected_within(PlannerInfo *root, Node *node, Node *part)
{
	r64_set		set;
	Probe		probe;
	SetStats	stats;
	double		hits = -1;

	if (!roaring64_make_probe(root, part, &set, &probe))
		return roaring64_expected_cardinality(root, node);
	if (probe.set == NULL && roaring64_constant_set(root, node, &set))
		return (double) r64_count_range(&set, probe.lo, probe.hi);
	if (load_column_stats(root, reduce(root, node), true, &stats))
	{
		if (probe.set != NULL)
			r64_index_set(probe.set);
		if (has_elements(&stats))
			hits = make_tally(&stats, &probe).hits;
		roaring64_free_stats(&stats);
	}
	if (hits < 0)
		hits = roaring64_expected_cardinality(root, node);
	return Min(hits, probe_size(&probe));
}

/*
 * How many elements the result of a set operation has, as if the operands had
 * none in common unless the operation is an intersection; -1 if unknown.
 */
static double
operation_cardinality(PlannerInfo *root, Node *node)
{
	Oid			function;
	List	   *args = roaring64_call(node, &function);
	PGFunction	called = roaring64_c_function(function);
	double		left = -1;
	double		right = -1;

	if (list_length(args) != 2)
		return -1;
	if (called == roaring64_and || called == roaring64_and_range)
	{
		left = roaring64_expected_within(root, linitial(args), lsecond(args));
		if (called == roaring64_and)
			right = roaring64_expected_within(root, lsecond(args),
											  linitial(args));
		return left < 0 ? right : right < 0 ? left : Min(left, right);
	}
	left = roaring64_expected_cardinality(root, linitial(args));
	if (called == roaring64_andnot || called == roaring64_andnot_range)
		return left;
	if (called == roaring64_or || called == roaring64_xor)
		right = roaring64_expected_cardinality(root, lsecond(args));
	return left < 0 || right < 0 ? -1 : left + right;
}

/*
 * How many elements an expression has that gives a set: those of a constant,
 * the average of a column; -1 if unknown.
 */
double
roaring64_expected_cardinality(PlannerInfo *root, Node *node)
{
	SetStats	stats;
	r64_set		set;

	node = reduce(root, node);
	if (roaring64_constant_set(root, node, &set))
		return (double) r64_cardinality(&set);
	if (!load_column_stats(root, node, false, &stats))
		return operation_cardinality(root, node);
	roaring64_free_stats(&stats);
	return stats.average;
}
