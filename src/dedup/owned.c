/*-------------------------------------------------------------------------
 *
 * owned.c
 *	  Writing ids straight into the chunks: claims of owned sets, and load.
 *
 * All of it is one SQL function, which locks the key's row first and then reads
 * what there is: whoever has waited for another's transaction sees all that it
 * has done.  The set's first table is locked too, so that its window is not
 * changed meanwhile.
 *
 * src/dedup/owned.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/expandeddatum.h"

#include "dedup/dedup.h"
#include "type/roaring64.h"

/* The places of the elements of a set. */
static Datum
places_of(const DedupSet *set, Datum given)
{
	r64_set		ids = DatumGetRoaring64(given);
	r64_accumulator *places = palloc(r64_accumulator_size());
	r64_set		result;
	int64		id;

	r64_accumulator_init(places, &roaring64_env);
	for (bool found = r64_min(&ids, &id); found;
		 found = id < PG_INT64_MAX && r64_next(&ids, id + 1, &id))
	{
		CHECK_FOR_INTERRUPTS();
		r64_accumulate(places, dedup_place(set, id));
	}
	result = r64_accumulator_set(places);
	return roaring64_datum(r64_copy(&roaring64_env, &result));
}

/*
 * Writes places that are not remembered, and are not too old to tell, into the
 * chunks of a key.  Returns the written places and the places that are too old.
 */
void
dedup_append(DedupSet *set, Datum key, Datum places, r64_set *fresh,
			 r64_set *old)
{
	Datum		values[2] = {key, places};
	r64_set    *sets[2] = {fresh, old};

	LockRelationOid(set->tables[DEDUP_SET], RowShareLock);
	if (dedup_run(set, DEDUP_APPEND, values, DEDUP_ITS_OWN) != 1)
		elog(ERROR, "could not write to the chunks of a dedup set");
	for (int i = 0; i < 2; i++)
	{
		bool		isnull;
		Datum		value = SPI_getbinval(SPI_tuptable->vals[0],
										  SPI_tuptable->tupdesc, i + 1, &isnull);

		*sets[i] = DatumGetRoaring64(value);
		r64_index_set(sets[i]);
	}
}

/* Claims ids of an owned set. */
void
dedup_claim_owned(DedupSet *set, Datum key, const int64 *ids, int n,
				  DedupAnswer *answers)
{
	int64	   *places = palloc(sizeof(int64) * n);
	r64_set		fresh;
	r64_set		old;

	for (int i = 0; i < n; i++)
		places[i] = dedup_place(set, ids[i]);
	dedup_append(set, key,
				 roaring64_datum(r64_from_values(&roaring64_env, places, n)),
				 &fresh, &old);
	for (int i = 0; i < n; i++)
	{
		int64		place = dedup_place(set, ids[i]);

		answers[i] = r64_contains(&fresh, place) ? DEDUP_NEW :
			r64_contains(&old, place) ? DEDUP_TOO_OLD : DEDUP_DUPLICATE;
	}
}

/*
 * roaring64_dedup_load(regclass, key text, ids roaring64) returns bigint:
 * remembers the elements of a set; how many were new.
 */
PG_FUNCTION_INFO_V1(roaring64_dedup_load);
Datum
roaring64_dedup_load(PG_FUNCTION_ARGS)
{
	DedupSet   *set;
	Datum		key;
	Datum		ids;
	r64_set		fresh;
	r64_set		old;
	uint64		n;

	set = dedup_open(fcinfo, "roaring64_dedup_load()", "set of ids", &key);
	ids = MakeExpandedObjectReadOnly(PG_GETARG_DATUM(2), false, -1);
	dedup_append(set, key, set->snowflake ? places_of(set, ids) : ids,
				 &fresh, &old);
	n = r64_cardinality(&fresh);
	SPI_finish();
	PG_RETURN_INT64((int64) n);
}
