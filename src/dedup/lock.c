/*-------------------------------------------------------------------------
 *
 * lock.c
 *	  Locks of the keys of a dedup set, until the end of the transaction.
 *
 * They lie beside the advisory locks of users, with a fourth field that those
 * never have, and have the modes of tables: see dedup.h for who admits whom.
 * The keys of a set share a fixed number of locks, for a transaction may
 * claim ids of any number of keys, and the server's lock table is small.
 * Claims admit claims, so keys that share a lock disturb each other only
 * where one is claimed in bulk.
 *
 * src/dedup/lock.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/lock.h"

#include "dedup/dedup.h"

#define LOCK_OF_SET		DEDUP_STRIPES	/* after those of the keys */
#define LOCK_SPACE		3		/* users have 1 and 2 */

static bool
acquire(DedupSet *set, uint32 n, LOCKMODE mode, bool wait)
{
	LOCKTAG		tag;

	SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, set->owner.relid, n, LOCK_SPACE);
	return LockAcquire(&tag, mode, false, !wait) != LOCKACQUIRE_NOT_AVAIL;
}

/* Which of the locks is the key's. */
int
dedup_stripe(Datum key)
{
	text	   *t = DatumGetTextPP(key);

	return hash_bytes((unsigned char *) VARDATA_ANY(t),
					  VARSIZE_ANY_EXHDR(t)) % DEDUP_STRIPES;
}

/* Waits for the lock of a key. */
void
dedup_lock(DedupSet *set, Datum key, LOCKMODE mode)
{
	acquire(set, dedup_stripe(key), mode, true);
}

/* Takes one of the locks if that needs no waiting. */
bool
dedup_try_lock_stripe(DedupSet *set, int stripe, LOCKMODE mode)
{
	return acquire(set, stripe, mode, false);
}

/* The lock of those that fold the whole set, if nobody has it. */
bool
dedup_try_lock_set(DedupSet *set)
{
	return acquire(set, LOCK_OF_SET, ExclusiveLock, false);
}
