/*-------------------------------------------------------------------------
 *
 * idstats.c
 *	  What the statistics of a column of integers say about "id <@ set".
 *
 * Core looks each element of an array up in them.  A set can have more elements
 * than there is time for, so it is counted by the bins of the histogram.
 *
 * src/planner/idstats.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/stratnum.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_statistic.h"
#include "catalog/pg_type.h"

#include "planner/planner.h"

/* A set is counted by bins that have so many different integers or more. */
#define MIN_PER_BIN		128

/* What is known is exact enough without what is so many times less. */
#define NOTHING_BESIDE	8

/* Reads a slot of integers, and makes bigints of them. */
static void
load_integers(HeapTuple tuple, int kind, int flags, AttStatsSlot *slot)
{
	Oid			type;

	if (!get_attstatsslot(slot, tuple, kind, InvalidOid, flags))
		return;
	type = getBaseType(slot->valuetype);
	if (type != INT8OID && type != INT4OID && type != INT2OID)
	{
		free_attstatsslot(slot);
		memset(slot, 0, sizeof(*slot));
	}
	for (int i = 0; i < slot->nvalues && type != INT8OID; i++)
		slot->values[i] = Int64GetDatum(type == INT4OID ?
										DatumGetInt32(slot->values[i]) :
										DatumGetInt16(slot->values[i]));
}

/*
 * How much a set has of the rows in a histogram of integers, which so many
 * different ones are in.  common are those that are not in it.
 */
static double
share_in_bins(const AttStatsSlot *bounds, const AttStatsSlot *common,
			  double distinct, r64_set *set)
{
	int			n = bounds->nvalues - 1;

	/* bins of the same frequency can be put together */
	int			bins = r64_cardinality(set) <= distinct / n ? 1 :
		(int) Min(n, Max(distinct / MIN_PER_BIN, 1));
	double		share = 0;

	distinct = Max(distinct / bins, 1);
	for (int bin = 0; bin < bins; bin++)
	{
		int64		lo = DatumGetInt64(bounds->values[bin * n / bins]);
		int64		hi = DatumGetInt64(bounds->values[(bin + 1) * n / bins]);
		double		count;
		int64		first;
		int64		last;

		if (bin < bins - 1 && hi > lo)
			hi--;
		count = (double) r64_count_range(set, lo, hi);
		for (int i = 0; count > 0 && i < common->nvalues; i++)
		{
			int64		v = DatumGetInt64(common->values[i]);

			if (lo <= v && v <= hi && r64_contains(set, v))
				count--;
		}
		/* a set that has too many has integers that are in no row */
		if (count > distinct && r64_next(set, lo, &first) &&
			r64_prev(set, hi, &last))
			count = distinct * roaring64_width(first, last) /
				roaring64_width(lo, hi);
		share += Min(count / distinct, 1) / bins;
	}
	return share;
}

/*
 * The share of the rows of a column of integers that are in a set, each of whose
 * elements has so much, and beyond an end of the histogram.  Core asks an index
 * where the column ends: too slow if it matters little beside what is known, and
 * for each partition.  Beyond what a set has of one, it has what is in the next.
 */
static double
share_beyond(PlannerInfo *root, VariableStatData *vardata, r64_set *set,
			 int64 end, bool above, double each, double known)
{
	int64		bound = above ? PG_INT64_MAX : PG_INT64_MIN;
	int64		v;
	double		most;
	OpExpr	   *beyond;

	if (end == bound || !(above ? r64_next(set, end + 1, &v) :
						  r64_prev(set, end - 1, &v)))
		return 0;
	most = each * r64_count_range(set, above ? v : bound, above ? bound : v);
	if (most <= known / NOTHING_BESIDE)
		return most;
	if (known > 0 && vardata->rel->reloptkind == RELOPT_OTHER_MEMBER_REL)
		return 0;
	beyond = roaring64_compare(INTEGER_BTREE_FAM_OID, vardata->var,
							   above ? BTGreaterEqualStrategyNumber :
							   BTLessEqualStrategyNumber, v);
	return Min(most, restriction_selectivity(root, beyond->opno, beyond->args,
											 InvalidOid, 0));
}

/*
 * The share of the rows of a column of integers, of which so many are different,
 * whose value is in a set.  function is what is estimated.
 */
double
roaring64_share_in_set(PlannerInfo *root, VariableStatData *vardata,
					   Oid function, double distinct, r64_set *set)
{
	HeapTuple	tuple = vardata->statsTuple;
	AttStatsSlot common;
	AttStatsSlot bounds;
	double		left;
	double		each;
	double		share = 0;

	r64_index_set(set);
	if (!HeapTupleIsValid(tuple) ||
		!statistic_proc_security_check(vardata, function))
		return r64_cardinality(set) / distinct;
	left = 1 - ((Form_pg_statistic) GETSTRUCT(tuple))->stanullfrac;
	each = left / distinct;
	load_integers(tuple, STATISTIC_KIND_MCV,
				  ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS, &common);
	load_integers(tuple, STATISTIC_KIND_HISTOGRAM, ATTSTATSSLOT_VALUES,
				  &bounds);
	for (int i = 0; i < Min(common.nvalues, common.nnumbers); i++)
	{
		left -= common.numbers[i];
		if (r64_contains(set, DatumGetInt64(common.values[i])))
			share += common.numbers[i];
	}
	if (bounds.nvalues > 1)
	{
		int64		lo = DatumGetInt64(bounds.values[0]);
		int64		hi = DatumGetInt64(bounds.values[bounds.nvalues - 1]);

		share += Max(left, 0) * share_in_bins(&bounds, &common,
											  distinct - common.nvalues, set);
		share += share_beyond(root, vardata, set, lo, false, each, share);
		share += share_beyond(root, vardata, set, hi, true, each, share);
	}
	else if (common.nvalues == 0)
		share = r64_cardinality(set) * each;
	free_attstatsslot(&common);
	free_attstatsslot(&bounds);
	return share;
}
