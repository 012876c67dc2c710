/*-------------------------------------------------------------------------
 *
 * reclaim.c
 *	  Giving back the space of claims that were folded.
 *
 * The pages that folded claims leave behind are used again, and VACUUM cuts
 * free ones off the end of the table.  But the file of a btree never becomes
 * smaller.  After the first load of millions through claims their index would
 * be larger for ever than the chunks.  So when VACUUM has cut the table off,
 * fold makes the index anew, which for the few claims that there may then be
 * takes milliseconds.
 *
 * That needs locks that keep others from claiming.  They are taken only if
 * nobody uses the claims right then, and never waited for: a lock that waits
 * makes all wait that come after it.
 *
 * src/dedup/reclaim.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/rel.h"

#include "dedup/dedup.h"
#include "state/statement.h"

#define MOST_PAGES_OF_CLAIMS 128	/* some 17,000 claims */
#define FEWEST_PAGES_TO_GAIN 64
#define TRIES			20
#define WAIT_MILLISECONDS 5

/* Whether there are few claims, by the size of their table, in a large index. */
static bool
is_worth_it(Relation claims, Relation index)
{
	BlockNumber pages = RelationGetNumberOfBlocks(claims);

	return pages <= MOST_PAGES_OF_CLAIMS &&
		RelationGetNumberOfBlocks(index) > pages + FEWEST_PAGES_TO_GAIN;
}

/* Takes the locks of REINDEX if both are free, or none. */
static bool
try_lock(Oid claims, Oid index)
{
	if (!ConditionalLockRelationOid(claims, ShareLock))
		return false;
	if (ConditionalLockRelationOid(index, AccessExclusiveLock))
		return true;
	UnlockRelationOid(claims, ShareLock);
	return false;
}

/* Whether the index is to be made anew, which is then locked. */
static bool
lock_if_worth_it(const DedupSet *set)
{
	Relation	claims = table_open(set->owner.tables[DEDUP_CLAIMS], NoLock);
	Relation	index = index_open(set->claims_index, AccessShareLock);
	bool		result = false;

	/* REINDEX is for the owner, and not under a cursor of this session */
	if (index->rd_refcnt == 1 &&
		has_privs_of_role(GetUserId(), claims->rd_rel->relowner) &&
		is_worth_it(claims, index))
	{
		for (int i = 0; i < TRIES && !result; i++)
		{
			if (i > 0)
				pg_usleep(WAIT_MILLISECONDS * 1000);
			CHECK_FOR_INTERRUPTS();
			result = try_lock(RelationGetRelid(claims),
							  RelationGetRelid(index));
		}
		/* others may have claimed meanwhile */
		result = result && is_worth_it(claims, index);
	}
	index_close(index, NoLock);
	table_close(claims, NoLock);
	return result;
}

/*
 * Makes the index of the claims anew if it is much too large.  The caller ends
 * the transaction at once, and with it the locks.
 */
void
dedup_reclaim(DedupSet *set)
{
	if (!OidIsValid(set->claims_index) || !lock_if_worth_it(set))
		return;
	state_execute(psprintf("REINDEX INDEX %s",
						   state_relation(set->claims_index)),
				  SPI_OK_UTILITY, 0, NULL, NULL, NULL);
}
