/*-------------------------------------------------------------------------
 *
 * idstats.c
 *	  The share of a column of integers that is in a set, by core's statistics.
 *
 * Core looks up each element of an array in them.  A set can have more elements
 * than there is time for, so it is counted by the bins of the histogram.  Columns
 * of sets are in setstats.c.
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

/* A bin by which a set is counted has at least this many distinct integers. */
#define MIN_PER_BIN		128

/* A share this many times smaller than the known one need not be exact. */
#define NOTHING_BESIDE	8

/* Reads a slot of integers as bigints. */
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
 * The share of the rows of a histogram whose integer is in a set.  The histogram
 * stands for so many distinct integers, and lacks the common ones.
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
		double		width;
		double		values;
		double		count;
		int64		first;
		int64		last;

		if (bin < bins - 1 && hi > lo)
			hi--;
		width = roaring64_width(lo, hi);
		count = (double) r64_count_range(set, lo, hi);
		for (int i = 0; count > 0 && i < common->nvalues; i++)
		{
			int64		v = DatumGetInt64(common->values[i]);

			if (lo > v || v > hi)
				continue;
			width--;
			if (r64_contains(set, v))
				count--;
		}
		values = Max(Min(distinct, width), 1);

		/*
		 * A larger set has integers that are in no row.  If the rows'
		 * integers lie close together it has them by chance; else chance
		 * would give next to none, and it is taken to have all between its
		 * ends.
		 */
		if (count > values && values * count > width)
			count = values * count / width;
		else if (count > values && r64_next(set, lo, &first) &&
				 r64_prev(set, hi, &last))
			count = values * roaring64_width(first, last) / width;
		share += Min(count / values, 1) / bins;
	}
	return share;
}

/*
 * The share of the rows whose integer is in a set and beyond an end of the
 * histogram, if each element has the share each.  To find where the column ends,
 * core reads an index, which is too slow if the share matters little beside the
 * known one, and for each partition: the elements beyond one are in the next.
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
 * The share of the rows of a column, with so many distinct integers, whose integer
 * is in a set.  function is the test, for the check of who may see statistics.
 */
double
roaring64_share_in_set(PlannerInfo *root, VariableStatData *vardata,
					   Oid function, double distinct, r64_set *set)
{
	HeapTuple	tuple = vardata->statsTuple;
	AttStatsSlot common;
	AttStatsSlot bounds;
	double		uncommon;
	double		each;
	double		share = 0;

	r64_index_set(set);
	if (!HeapTupleIsValid(tuple) ||
		!statistic_proc_security_check(vardata, function))
		return r64_cardinality(set) / distinct;
	uncommon = 1 - ((Form_pg_statistic) GETSTRUCT(tuple))->stanullfrac;
	each = uncommon / distinct;
	load_integers(tuple, STATISTIC_KIND_MCV,
				  ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS, &common);
	load_integers(tuple, STATISTIC_KIND_HISTOGRAM, ATTSTATSSLOT_VALUES,
				  &bounds);
	for (int i = 0; i < Min(common.nvalues, common.nnumbers); i++)
	{
		uncommon -= common.numbers[i];
		if (r64_contains(set, DatumGetInt64(common.values[i])))
			share += common.numbers[i];
	}
	if (bounds.nvalues > 1)
	{
		int64		lo = DatumGetInt64(bounds.values[0]);
		int64		hi = DatumGetInt64(bounds.values[bounds.nvalues - 1]);

		share += Max(uncommon, 0) * share_in_bins(&bounds, &common,
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
