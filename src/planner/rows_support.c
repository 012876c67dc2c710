/*-------------------------------------------------------------------------
 *
 * rows_support.c
 *	  How many rows the functions give that return a set's elements.
 *
 * Of a constant set we know all.  Of a column of sets ANALYZE knows the average.
 *
 * src/planner/rows_support.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "planner/planner.h"
#include "planner/statistics.h"
#include "type/roaring64.h"

/* Runs of a constant set to count before the rest is taken to be like them. */
#define MAX_RUNS		256

/* How many runs of consecutive elements a set has, or about, if they are many. */
double
roaring64_count_runs(r64_set *set)
{
	int64		from = PG_INT64_MIN;
	int64		first;
	int64		last;
	double		n = 0;

	while (r64_next_run(set, from, PG_INT64_MAX, &first, &last))
	{
		n++;
		if (last == PG_INT64_MAX)
			break;
		if (n == MAX_RUNS)
			return n * (double) r64_cardinality(set) /
				(double) r64_count_range(set, PG_INT64_MIN, last);
		from = last + 1;
	}
	return n;
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
	PGFunction	called;
	Node	   *node;
	r64_set		set;

	if (!IsA(request, SupportRequestRows) || !IsA(request->node, FuncExpr))
		PG_RETURN_POINTER(NULL);
	called = roaring64_c_function(request->funcid);
	node = linitial(((FuncExpr *) request->node)->args);
	if (called == roaring64_elements_range)
		request->rows = roaring64_expected_within(request->root, node,
												  lsecond(((FuncExpr *) request->node)->args));
	else if (called == roaring64_ranges &&
			 roaring64_constant_set(request->root, node, &set))
		request->rows = roaring64_count_runs(&set);
	else
		request->rows = roaring64_expected_cardinality(request->root, node);
	PG_RETURN_POINTER(request->rows < 0 ? NULL : request);
}
