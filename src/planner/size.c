/*-------------------------------------------------------------------------
 *
 * size.c
 *	  How many rows our functions give and what they cost, by size of the set.
 *
 * Of a constant set we know all.  Looking is bounded: what is counted piece by
 * piece is counted up to some thousand pieces, and the rest is taken to be like
 * them.  Of a column of sets ANALYZE knows the average.
 *
 * src/planner/size.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"

#include "planner/planner.h"
#include "planner/statistics.h"
#include "type/ids.h"
#include "type/roaring64.h"

/* Pieces of a constant set to count before the rest is guessed. */
#define MAX_PIECES		4096

/* Bytes of a set that are read while a simple operator runs. */
#define BYTES_PER_OPERATOR	32

/* The argument as a constant of some type; NULL if it is none. */
static Const *
constant_argument(PlannerInfo *root, List *args, int argno, Oid type)
{
	Node	   *node;

	if (argno >= list_length(args))
		return NULL;
	node = list_nth(args, argno);
	if (root != NULL)
		node = estimate_expression_value(root, node);
	if (!IsA(node, Const) || ((Const *) node)->constisnull ||
		((Const *) node)->consttype != type)
		return NULL;
	return (Const *) node;
}

/* How many elements of the set are up to v, as the share of all. */
static double
share_up_to(r64_set *set, int64 v)
{
	return (double) r64_count_range(set, PG_INT64_MIN, v) /
		(double) r64_cardinality(set);
}

/* See planner.h. */
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
		if (n == MAX_PIECES)
			return n / share_up_to(set, last);
		from = last + 1;
	}
	return n;
}

/* In how many chunks of so many bits a set has elements, or about. */
static double
count_chunks(r64_set *set, int32 bits)
{
	int64		from = PG_INT64_MIN;
	int64		found;
	double		n = 0;

	if (bits < 0 || bits > 63)
		return 1;				/* an error when it is executed */
	while (r64_next(set, from, &found))
	{
		int64		last = (int64) ((uint64) found | roaring64_low_bits(bits));

		n++;
		if (last == PG_INT64_MAX)
			break;
		if (n == MAX_PIECES)
			return n / share_up_to(set, last);
		from = last + 1;
	}
	return n;
}

/*
 * The arguments of a function that is asked for its rows, and the type of the
 * set, which is the first; NIL if it is asked for something else.
 */
static List *
row_arguments(SupportRequestRows *request, Oid *set_type)
{
	List	   *args;

	if (!IsA(request, SupportRequestRows) || !IsA(request->node, FuncExpr))
		return NIL;
	args = ((FuncExpr *) request->node)->args;
	*set_type = getBaseType(exprType(linitial(args)));
	return args;
}

/* The answer, if the rows are known. */
static Datum
answer_rows(SupportRequestRows *request, double rows)
{
	request->rows = rows;
	return PointerGetDatum(rows < 0 ? NULL : request);
}

/*
 * roaring64_elements_support(internal) returns internal: rows of the elements
 * of a set, or of those in a range.
 */
PG_FUNCTION_INFO_V1(roaring64_elements_support);
Datum
roaring64_elements_support(PG_FUNCTION_ARGS)
{
	SupportRequestRows *request = (SupportRequestRows *) PG_GETARG_POINTER(0);
	Oid			type;
	List	   *args = row_arguments(request, &type);
	Const	   *range;
	r64_set		set;
	int64		lo;
	int64		hi;
	double		n;

	if (args == NIL)
		PG_RETURN_POINTER(NULL);
	n = roaring64_expected_cardinality(request->root, linitial(args), type,
									   HUGE_VAL);
	if (exprType(lsecond(args)) != INT8RANGEOID)
		return answer_rows(request, n);
	range = constant_argument(request->root, args, 1, INT8RANGEOID);
	if (range == NULL)
		PG_RETURN_POINTER(NULL);
	if (!roaring64_datum_bounds(range->constvalue, &lo, &hi))
		return answer_rows(request, 0);
	if (roaring64_constant_set(request->root, linitial(args), type, &set))
		return answer_rows(request, (double) r64_count_range(&set, lo, hi));
	return answer_rows(request,
					   n < 0 ? -1 : Min(n, roaring64_width(lo, hi)));
}

/*
 * roaring64_split_support(internal) returns internal: chunks of a set.
 */
PG_FUNCTION_INFO_V1(roaring64_split_support);
Datum
roaring64_split_support(PG_FUNCTION_ARGS)
{
	SupportRequestRows *request = (SupportRequestRows *) PG_GETARG_POINTER(0);
	Oid			type;
	List	   *args = row_arguments(request, &type);
	Const	   *bits;
	r64_set		set;

	if (args == NIL)
		PG_RETURN_POINTER(NULL);
	bits = constant_argument(request->root, args, 1, INT4OID);
	if (bits == NULL ||
		!roaring64_constant_set(request->root, linitial(args), type, &set))
		PG_RETURN_POINTER(NULL);
	return answer_rows(request,
					   count_chunks(&set, DatumGetInt32(bits->constvalue)));
}

/*
 * roaring64_ranges_support(internal) returns internal: runs of a set; of one
 * that is not known, as many as elements.
 */
PG_FUNCTION_INFO_V1(roaring64_ranges_support);
Datum
roaring64_ranges_support(PG_FUNCTION_ARGS)
{
	SupportRequestRows *request = (SupportRequestRows *) PG_GETARG_POINTER(0);
	Oid			type;
	List	   *args = row_arguments(request, &type);
	r64_set		set;

	if (args == NIL)
		PG_RETURN_POINTER(NULL);
	if (roaring64_constant_set(request->root, linitial(args), type, &set))
		return answer_rows(request, roaring64_count_runs(&set));
	return answer_rows(request,
					   roaring64_expected_cardinality(request->root,
													  linitial(args), type,
													  HUGE_VAL));
}

/*
 * roaring64_histogram_support(internal) returns internal: bars of a histogram.
 */
PG_FUNCTION_INFO_V1(roaring64_histogram_support);
Datum
roaring64_histogram_support(PG_FUNCTION_ARGS)
{
	SupportRequestRows *request = (SupportRequestRows *) PG_GETARG_POINTER(0);
	Oid			type;
	List	   *args = row_arguments(request, &type);
	Const	   *bars;
	r64_set		set;
	int64		lo;
	int64		hi;
	double		n;

	if (args == NIL)
		PG_RETURN_POINTER(NULL);
	bars = constant_argument(request->root, args, 1, INT4OID);
	if (bars == NULL)
		PG_RETURN_POINTER(NULL);
	n = DatumGetInt32(bars->constvalue);
	if (!roaring64_constant_set(request->root, linitial(args), type, &set))
		return answer_rows(request, n);
	if (!r64_min(&set, &lo) || !r64_max(&set, &hi))
		return answer_rows(request, 0);
	return answer_rows(request, Min(n, roaring64_width(lo, hi)));
}

/*
 * roaring64_setop_support(internal) returns internal: what a set operation
 * costs for the bytes of constant sets that it reads whole, whatever its other
 * argument is.  Of the right side of a difference it reads only what the two
 * may share.  And whether it can change a variable in place.
 */
PG_FUNCTION_INFO_V1(roaring64_setop_support);
Datum
roaring64_setop_support(PG_FUNCTION_ARGS)
{
	SupportRequestCost *request = (SupportRequestCost *) PG_GETARG_POINTER(0);
	Node	   *in_place = roaring64_support_in_place((Node *) request);
	PGFunction	called;
	List	   *args = NIL;
	Oid			function;
	double		bytes = 0;
	ListCell   *cell;

	if (IsA(request, SupportRequestCost) && request->node != NULL)
		args = roaring64_call(request->node, &function);
	if (args == NIL)
		PG_RETURN_POINTER(in_place);
	called = roaring64_c_function(request->funcid);
	foreach(cell, args)
	{
		Node	   *arg = (Node *) lfirst(cell);
		r64_set		set;

		if (roaring64_constant_set(request->root, arg,
								   getBaseType(exprType(arg)), &set))
			bytes += (double) set.size;
		if (called == roaring64_andnot || called == roaring64_andnot_element)
			break;
	}
	if (bytes == 0)
		PG_RETURN_POINTER(NULL);
	request->startup = 0;
	request->per_tuple = cpu_operator_cost *
		(bytes / BYTES_PER_OPERATOR + roaring64_function_cost(request->funcid));
	PG_RETURN_POINTER(request);
}
