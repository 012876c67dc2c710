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

#include "catalog/pg_type.h"

#include "planner/planner.h"
#include "planner/statistics.h"
#include "type/ids.h"
#include "type/roaring64.h"

/* Pieces of a constant set to count before the rest is guessed. */
#define MAX_PIECES		4096

/* The elements of an unknown array, as the planner takes it. */
#define PLANNED_KEYS	10

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

/* How many runs of consecutive elements a set has, or about. */
static double
count_runs(r64_set *set)
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

/* The rows of roaring64_elements; -1 if unknown. */
static double
rows_of_elements(PlannerInfo *root, List *args, Oid set_type, bool has_range)
{
	double		n = roaring64_expected_cardinality(root, linitial(args),
												   set_type);
	Const	   *range;
	r64_set		set;
	int64		lo;
	int64		hi;

	if (!has_range)
		return n;
	range = constant_argument(root, args, 1, INT8RANGEOID);
	if (range == NULL)
		return -1;
	if (!roaring64_datum_bounds(range->constvalue, &lo, &hi))
		return 0;
	if (roaring64_constant_set(root, linitial(args), set_type, &set))
		return (double) r64_count_range(&set, lo, hi);
	return n < 0 ? -1 : Min(n, roaring64_width(lo, hi));
}

/* The rows of roaring64_split; -1 if unknown. */
static double
rows_of_split(PlannerInfo *root, List *args, Oid set_type)
{
	Const	   *bits = constant_argument(root, args, 1, INT4OID);
	r64_set		set;

	if (bits != NULL &&
		roaring64_constant_set(root, linitial(args), set_type, &set))
		return count_chunks(&set, DatumGetInt32(bits->constvalue));
	return -1;
}

/* The rows of roaring64_histogram; -1 if unknown. */
static double
rows_of_histogram(PlannerInfo *root, List *args, Oid set_type)
{
	Const	   *bars = constant_argument(root, args, 1, INT4OID);
	r64_set		set;
	int64		lo;
	int64		hi;

	if (bars == NULL)
		return -1;
	if (!roaring64_constant_set(root, linitial(args), set_type, &set))
		return DatumGetInt32(bars->constvalue);
	if (!r64_min(&set, &lo) || !r64_max(&set, &hi))
		return 0;
	return Min(DatumGetInt32(bars->constvalue), roaring64_width(lo, hi));
}

/* See planner.h. */
bool
roaring64_support_rows(SupportRequestRows *request)
{
	char	   *name = get_func_name(request->funcid);
	PlannerInfo *root = request->root;
	Oid		   *types;
	int			ntypes;
	List	   *args;
	double		rows = -1;
	r64_set		set;

	if (name == NULL || !IsA(request->node, FuncExpr))
		return false;
	args = ((FuncExpr *) request->node)->args;
	(void) get_func_signature(request->funcid, &types, &ntypes);
	if (ntypes < 1 || args == NIL)
		return false;

	if (strcmp(name, "roaring64_elements") == 0)
		rows = rows_of_elements(root, args, types[0], false);
	else if (strcmp(name, "roaring64_elements_range") == 0)
		rows = rows_of_elements(root, args, types[0], true);
	else if (strcmp(name, "roaring64_split") == 0)
		rows = rows_of_split(root, args, types[0]);
	else if (strcmp(name, "roaring64_histogram") == 0)
		rows = rows_of_histogram(root, args, types[0]);
	else if (strcmp(name, "roaring64_ranges") == 0)
		rows = roaring64_constant_set(root, linitial(args), types[0], &set) ?
			count_runs(&set) :
			roaring64_expected_cardinality(root, linitial(args), types[0]);
	if (rows < 0)
		return false;
	request->rows = rows;
	return true;
}

/*
 * The bytes of constant sets that a function reads whole, whatever its other
 * argument is; 0 if it does not.
 */
static double
constant_bytes(const char *name, PlannerInfo *root, List *args,
			   const Oid *types, int ntypes)
{
	double		bytes = 0;
	r64_set		set;
	int			nread = 0;

	if (roaring64_has_verb(name, "or") ||
		roaring64_has_verb(name, "xor"))
		nread = ntypes;
	else if (roaring64_has_verb(name, "andnot"))
		nread = 1;				/* of the other one what they may share */
	for (int i = 0; i < nread && i < list_length(args); i++)
		if (types[i] != INT8OID && types[i] != INT8RANGEOID &&
			roaring64_constant_set(root, list_nth(args, i), types[i], &set))
			bytes += (double) set.size;
	return bytes;
}

/*
 * What the keys of an index scan cost that the planner does not know of: for
 * each a descent that ends on another page of the table.
 */
static double
cost_of_keys(PlannerInfo *root, List *args, Oid set_type)
{
	double		n = roaring64_expected_cardinality(root, linitial(args),
												   set_type);

	if (n < 0)
		n = ROARING64_DEFAULT_CARDINALITY;
	return Max(n - PLANNED_KEYS, 0) *
		(random_page_cost + cpu_index_tuple_cost + cpu_tuple_cost);
}

/* See planner.h. */
bool
roaring64_support_cost(SupportRequestCost *request)
{
	char	   *name = get_func_name(request->funcid);
	List	   *args;
	Oid		   *types;
	int			ntypes;
	double		extra;

	if (name == NULL || request->node == NULL)
		return false;
	if (IsA(request->node, FuncExpr))
		args = ((FuncExpr *) request->node)->args;
	else if (IsA(request->node, OpExpr))
		args = ((OpExpr *) request->node)->args;
	else
		return false;
	(void) get_func_signature(request->funcid, &types, &ntypes);
	if (ntypes < 1 || args == NIL)
		return false;

	if (strcmp(name, "roaring64_index_keys") == 0)
		extra = cost_of_keys(request->root, args, types[0]);
	else
		extra = constant_bytes(name, request->root, args, types, ntypes) /
			BYTES_PER_OPERATOR * cpu_operator_cost;
	if (extra <= 0)
		return false;
	request->startup = 0;
	request->per_tuple = extra + roaring64_function_cost(request->funcid) *
		cpu_operator_cost;
	return true;
}
