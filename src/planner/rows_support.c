/*-------------------------------------------------------------------------
 *
 * rows_support.c
 *	  How many rows our functions give, by the size of the set.
 *
 * Of a constant set we know all.  Looking is bounded: what is counted piece by
 * piece is counted up to a thousand pieces, and the rest is taken to be like
 * them.  Of a column of sets ANALYZE knows the average.
 *
 * src/planner/rows_support.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"

#include "planner/planner.h"
#include "planner/statistics.h"
#include "type/roaring64.h"
#include "type/snowflake.h"

/* Pieces of a constant set to count before the rest is guessed. */
#define MAX_PIECES		1024

/*
 * In how many runs a set falls, or, if bits is not negative, in how many chunks
 * of so many bits; about, if they are many.
 */
static double
count_pieces(r64_set *set, int bits)
{
	int64		from = PG_INT64_MIN;
	int64		first;
	int64		last = PG_INT64_MAX;
	double		n = 0;

	while (bits < 0 ? r64_next_run(set, from, PG_INT64_MAX, &first, &last) :
		   r64_next(set, from, &first))
	{
		if (bits >= 0)
			last = (int64) ((uint64) first | roaring64_low_bits(bits));
		n++;
		if (last == PG_INT64_MAX)
			break;
		if (n == MAX_PIECES)
			return n * (double) r64_cardinality(set) /
				(double) r64_count_range(set, PG_INT64_MIN, last);
		from = last + 1;
	}
	return n;
}

/* How many runs of consecutive elements a set has, or about. */
double
roaring64_count_runs(r64_set *set)
{
	return count_pieces(set, -1);
}

/*
 * How many rows a function gives that has a set as its first argument; -1 if
 * unknown.  second is its second argument, or NULL.
 */
static double
count_rows(PlannerInfo *root, PGFunction called, Node *node, Node *second)
{
	r64_set		set;
	bool		is_known = roaring64_constant_set(root, node, &set);
	int64		lo = PG_INT64_MIN;
	int64		hi = PG_INT64_MAX;
	int			number;

	if (called == roaring64_elements_range)
		return roaring64_expected_within(root, node, second);
	if (called == roaring64_elements ||
		(called == roaring64_ranges && !is_known))
		return roaring64_expected_cardinality(root, node, HUGE_VAL);
	if (called == roaring64_ranges)
		return roaring64_count_runs(&set);
	if (second == NULL || !IsA(second, Const) ||
		((Const *) second)->constisnull)
		return -1;
	number = DatumGetInt32(((Const *) second)->constvalue);
	/* it fails with other numbers when it is executed */
	if (called == roaring64_split)
		return is_known && number >= 0 && number <= 63 ?
			count_pieces(&set, number) : -1;
	/* roaring64_histogram */
	if (is_known && (!r64_min(&set, &lo) || !r64_max(&set, &hi)))
		return 0;
	return Min(number, roaring64_width(lo, hi));
}

/*
 * roaring64_rows_support(internal) returns internal: rows of the functions
 * that return the elements of a set, or parts of it.
 */
PG_FUNCTION_INFO_V1(roaring64_rows_support);
Datum
roaring64_rows_support(PG_FUNCTION_ARGS)
{
	SupportRequestRows *request = (SupportRequestRows *) PG_GETARG_POINTER(0);
	List	   *args;
	Node	   *second = NULL;

	if (!IsA(request, SupportRequestRows) || !IsA(request->node, FuncExpr))
		PG_RETURN_POINTER(NULL);
	args = ((FuncExpr *) request->node)->args;
	if (list_length(args) > 1)
		second = estimate_expression_value(request->root, lsecond(args));
	request->rows = count_rows(request->root,
							   roaring64_c_function(request->funcid),
							   linitial(args), second);
	PG_RETURN_POINTER(request->rows < 0 ? NULL : request);
}
