/*-------------------------------------------------------------------------
 *
 * move.c
 *	  Moving claims from their table into the chunks, in one transaction.
 *
 * Claims are listed by their places in the table, those of keys that cannot be
 * locked left out, and deleted some thousand at a time.  Should a place have
 * another claim by the time it is deleted, then that one is moved, which is
 * as well.
 *
 * What was deleted is gathered in a set for each key, which takes a few bytes
 * a claim, and written when all are there: a chunk is written once, however
 * many claims go into it.  Where the order of claims decides to which
 * generation they go, they are written in that order as they come instead.
 *
 * Rows are received as the executor makes them.  As results of SPI they would
 * be copied, and take more memory than the sets that become of them.
 *
 * src/dedup/move.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "storage/itemptr.h"
#include "tcop/dest.h"
#include "tcop/pquery.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "dedup/dedup.h"
#include "state/statement.h"

/* The claims of a key that were taken out of the table. */
typedef struct KeyClaims
{
	text	   *key;			/* first, as it is the key of the hash table */
	r64_accumulator places;
	int64		high;			/* the highest id */
} KeyClaims;

/* A claim whose order matters. */
typedef struct Claim
{
	KeyClaims  *of;
	TimestampTz claimed_at;
	int64		id;
} Claim;

/* Which locks of keys there are. */
typedef enum StripeState
{
	UNKNOWN = 0,
	LOCKED,
	REFUSED						/* left to the next fold */
} StripeState;

typedef struct Move
{
	DedupSet   *set;
	MemoryContext context;		/* of all that follows */
	r64_env		env;			/* allocates there */

	StripeState stripes[DEDUP_STRIPES];
	text	   *listed_key;		/* of the last place, and whether to move it */
	bool		listed_locked;
	ItemPointerData *places;	/* of claims to be deleted */
	int			nplaces;
	int			room;

	HTAB	   *keys;			/* KeyClaims by key */
	KeyClaims  *last;
	Claim	   *claims;			/* in the order in which they were deleted */
	int			nclaims;
	int			claims_room;
} Move;

/* Hands rows to a function of ours. */
typedef struct Receiver
{
	DestReceiver dest;
	Move	   *move;
} Receiver;

static int
compare_keys(const text *a, const text *b)
{
	Size		x = VARSIZE_ANY_EXHDR(a);
	Size		y = VARSIZE_ANY_EXHDR(b);
	int			order = memcmp(VARDATA_ANY(a), VARDATA_ANY(b), Min(x, y));

	return order != 0 ? order : x < y ? -1 : x > y;
}

/* HashValueFunc and HashCompareFunc for a pointer to a key. */
static uint32
hash_key(const void *key, Size size)
{
	const text *t = *(text *const *) key;

	return hash_bytes((const unsigned char *) VARDATA_ANY(t),
					  VARSIZE_ANY_EXHDR(t));
}

static int
match_keys(const void *a, const void *b, Size size)
{
	return compare_keys(*(text *const *) a, *(text *const *) b);
}

/* For qsort of pointers to KeyClaims. */
static int
compare_key_claims(const void *a, const void *b)
{
	return compare_keys((*(KeyClaims *const *) a)->key,
						(*(KeyClaims *const *) b)->key);
}

/* For qsort of claims: by key, and then as they were made. */
static int
compare_claims(const void *a, const void *b)
{
	const Claim *x = a;
	const Claim *y = b;

	if (x->of != y->of)
		return compare_keys(x->of->key, y->of->key);
	if (x->claimed_at != y->claimed_at)
		return x->claimed_at < y->claimed_at ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static text *
copy_key(Move *move, const text *key)
{
	text	   *copy = MemoryContextAlloc(move->context, VARSIZE_ANY(key));

	memcpy(copy, key, VARSIZE_ANY(key));
	return copy;
}

static Move *
begin_move(DedupSet *set)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "roaring64 fold",
												  ALLOCSET_DEFAULT_SIZES);
	Move	   *move = MemoryContextAllocZero(context, sizeof(Move));
	HASHCTL		control = {
		.keysize = sizeof(text *),
		.entrysize = sizeof(KeyClaims),
		.hash = hash_key,
		.match = match_keys,
		.hcxt = context
	};

	move->set = set;
	move->context = context;
	move->env = roaring64_env;
	move->env.arg = context;
	move->keys = hash_create("roaring64 fold", 64, &control,
							 HASH_ELEM | HASH_FUNCTION | HASH_COMPARE |
							 HASH_CONTEXT);
	return move;
}

static void
start_rows(DestReceiver *self, int operation, TupleDesc desc)
{
}

static void
no_more_rows(DestReceiver *self)
{
}

static Receiver
make_receiver(Move *move, bool (*receive) (TupleTableSlot *, DestReceiver *))
{
	return (Receiver) {
		.dest = {
			.receiveSlot = receive,
			.rStartup = start_rows,
			.rShutdown = no_more_rows,
			.rDestroy = no_more_rows,
			/* SPI takes a SELECT to nowhere for no SELECT */
			.mydest = DestTuplestore
		},
		.move = move
	};
}

/* Whether the claims of a key may be moved; tries to lock it. */
static bool
lock_key(Move *move, text *key)
{
	StripeState *stripe = &move->stripes[dedup_stripe(PointerGetDatum(key))];

	if (*stripe == UNKNOWN)
		*stripe = dedup_try_lock_stripe(move->set, stripe - move->stripes,
										DEDUP_LOCK_FOLD) ? LOCKED : REFUSED;
	return *stripe == LOCKED;
}

/* A row (place, key) of the list of claims. */
static bool
receive_place(TupleTableSlot *slot, DestReceiver *self)
{
	Move	   *move = ((Receiver *) self)->move;
	text	   *key = DatumGetTextPP(state_slot_value(slot, 2, TEXTOID));

	if (move->listed_key == NULL || compare_keys(key, move->listed_key) != 0)
	{
		if (move->listed_key != NULL)
			pfree(move->listed_key);
		move->listed_key = copy_key(move, key);
		move->listed_locked = lock_key(move, key);
	}
	if (!move->listed_locked)
		return true;
	if (move->nplaces == move->room)
	{
		move->room = Max(2 * move->room, 1024);
		move->places = move->places == NULL ?
			MemoryContextAlloc(move->context,
							   sizeof(ItemPointerData) * move->room) :
			repalloc_huge(move->places,
						  sizeof(ItemPointerData) * move->room);
	}
	ItemPointerCopy((ItemPointer) DatumGetPointer(state_slot_value(slot, 1,
																   TIDOID)),
					&move->places[move->nplaces++]);
	return true;
}

/* The entry of a key. */
static KeyClaims *
key_claims(Move *move, text *key)
{
	KeyClaims  *of;
	bool		found;

	if (move->last != NULL && compare_keys(move->last->key, key) == 0)
		return move->last;
	of = hash_search(move->keys, &key, HASH_ENTER, &found);
	if (!found)
	{
		of->key = copy_key(move, key);
		of->high = PG_INT64_MIN;
		r64_accumulator_init(&of->places, &move->env);
	}
	move->last = of;
	return of;
}

/* A row (key, id, claimed_at) that was deleted. */
static bool
receive_claim(TupleTableSlot *slot, DestReceiver *self)
{
	Move	   *move = ((Receiver *) self)->move;
	text	   *key = DatumGetTextPP(state_slot_value(slot, 1, TEXTOID));
	KeyClaims  *of = key_claims(move, key);
	int64		id = DatumGetInt64(state_slot_value(slot, 2, INT8OID));
	Datum		claimed_at = state_slot_value(slot, 3, TIMESTAMPTZOID);

	if (move->set->by_count)
	{
		/* tables that inherit from it have rows of the same places */
		if (move->nclaims == move->claims_room)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("more claims of dedup set \"%s\" were deleted than there were",
							get_rel_name(move->set->owner.relid)),
					 errdetail("Its table of claims has children.")));
		move->claims[move->nclaims++] = (Claim) {
			of, DatumGetTimestampTz(claimed_at), id
		};
	}
	else
		r64_accumulate(&of->places, dedup_place(move->set, id));
	of->high = Max(of->high, id);
	return true;
}

/* Writes claims whose order matters into the chunks, key by key. */
static void
append_in_order(Move *move)
{
	int64	   *ids = palloc(sizeof(int64) * Max(move->nclaims, 1));

	qsort(move->claims, move->nclaims, sizeof(Claim), compare_claims);
	for (int i = 0; i < move->nclaims;)
	{
		KeyClaims  *of = move->claims[i].of;
		int			count = 0;

		do
			ids[count++] = move->claims[i++].id;
		while (i < move->nclaims && move->claims[i].of == of);
		dedup_append(move->set, PointerGetDatum(of->key), ids, count);
		CHECK_FOR_INTERRUPTS();
	}
	pfree(ids);
}

/* Places as a tid[]. */
static Datum
place_array(ItemPointer places, int n)
{
	Datum	   *values = palloc(sizeof(Datum) * n);
	ArrayType  *array;

	for (int i = 0; i < n; i++)
		values[i] = PointerGetDatum(&places[i]);
	array = construct_array(values, n, TIDOID, sizeof(ItemPointerData), false,
							TYPALIGN_SHORT);
	pfree(values);
	return PointerGetDatum(array);
}

/* Deletes some claims that were listed. */
static void
take(Move *move, ItemPointer places, int n)
{
	Receiver	receiver = make_receiver(move, receive_claim);
	Datum		value = place_array(places, n);

	if (move->set->by_count)
	{
		move->claims = palloc(sizeof(Claim) * n);
		move->claims_room = n;
	}
	state_run_to(&move->set->owner, DEDUP_TAKE, SPI_OK_DELETE_RETURNING,
				 &value, &receiver.dest);
	if (move->set->by_count)
	{
		append_in_order(move);
		pfree(move->claims);
		move->nclaims = 0;
	}
	pfree(DatumGetPointer(value));
}

/* Deletes the claims that were listed. */
static void
take_all(Move *move)
{
	for (int i = 0; i < move->nplaces; i += DEDUP_MOVED_AT_ONCE)
		take(move, move->places + i,
			 Min(move->nplaces - i, DEDUP_MOVED_AT_ONCE));
	move->nplaces = 0;
}

/* Writes the sets that were gathered into the chunks, in order of the keys. */
static void
append_sets(Move *move)
{
	long		n = hash_get_num_entries(move->keys);
	KeyClaims **sorted = palloc(sizeof(KeyClaims *) * Max(n, 1));
	HASH_SEQ_STATUS status;
	KeyClaims  *of;

	n = 0;
	hash_seq_init(&status, move->keys);
	while ((of = hash_seq_search(&status)) != NULL)
		sorted[n++] = of;
	qsort(sorted, n, sizeof(KeyClaims *), compare_key_claims);
	for (long i = 0; i < n; i++)
	{
		r64_set		places = r64_accumulator_set(&sorted[i]->places);

		dedup_append_set(move->set, PointerGetDatum(sorted[i]->key), &places,
						 sorted[i]->high);
		CHECK_FOR_INTERRUPTS();
	}
}

/* Goes back to the context that was current before the move's. */
static void
end_move(Move *move, MemoryContext oldcontext)
{
	if (!move->set->by_count)
		append_sets(move);
	MemoryContextSwitchTo(oldcontext);
	MemoryContextDelete(move->context);
}

/* See dedup.h. */
bool
dedup_move(DedupSet *set, Portal list, int64 most)
{
	Move	   *move = begin_move(set);
	MemoryContext oldcontext = MemoryContextSwitchTo(move->context);
	Receiver	receiver = make_receiver(move, receive_place);
	int64		listed = 0;
	uint64		n;

	do
	{
		n = PortalRunFetch(list, FETCH_FORWARD, DEDUP_MOVED_AT_ONCE,
						   &receiver.dest);
		listed += n;
		take_all(move);
	} while (n == DEDUP_MOVED_AT_ONCE && listed < most);
	end_move(move, oldcontext);
	return n == DEDUP_MOVED_AT_ONCE;
}

/* See dedup.h. */
void
dedup_move_key(DedupSet *set, Datum key)
{
	Move	   *move = begin_move(set);
	MemoryContext oldcontext = MemoryContextSwitchTo(move->context);
	Receiver	receiver = make_receiver(move, receive_place);

	state_run_to(&set->owner, DEDUP_LIST_KEY, SPI_OK_SELECT, &key,
				 &receiver.dest);
	take_all(move);
	end_move(move, oldcontext);
}
