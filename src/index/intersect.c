/*-------------------------------------------------------------------------
 *
 * intersect.c
 *	  The rows of a lookup that a bitmap of other indexes has, too.
 *
 * The bitmap is the server's, of its bitmap index scans.  It keeps the TIDs of a
 * page, or, if work_mem is short or the index knows no more, only the page.  In
 * that case each row of the page may be one of the bitmap's, so those that the
 * lookup finds have to pass the conditions of the other indexes.
 *
 * Both sides are in the order of the table, so one pass over the bitmap suffices
 * for a batch of TIDs.
 *
 * src/index/intersect.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "miscadmin.h"

#include "index/scans.h"
#include "type/roaring64.h"

/*
 * Keeps those of n sorted TIDs, each block << 16 | offset, that a bitmap may have,
 * and returns their number.  Those that need no test get ROARING64_EXACT.
 */
uint64
roaring64_intersect(TIDBitmap *bitmap, uint64 *tids, uint64 n)
{
	ROARING64_TBM_ITERATOR *pages = roaring64_tbm_begin(bitmap);
	OffsetNumber room[MaxHeapTuplesPerPage];
	TBMIterateResult result;
	TBMIterateResult *page;
	uint64		kept = 0;
	uint64		i = 0;

	while (i < n && (page = roaring64_tbm_next(pages, &result)) != NULL)
	{
		OffsetNumber *offsets = room;
		int			noffsets;

		CHECK_FOR_INTERRUPTS();
		while (i < n && tids[i] >> 16 < page->blockno)
			i++;
		if (i == n || tids[i] >> 16 > page->blockno)
			continue;
		noffsets = roaring64_tbm_offsets(page, offsets);
		for (int j = 0; i < n && tids[i] >> 16 == page->blockno; i++)
		{
			while (j < noffsets && offsets[j] < (OffsetNumber) tids[i])
				j++;
			if (noffsets < 0 ||
				(j < noffsets && offsets[j] == (OffsetNumber) tids[i]))
				tids[kept++] = tids[i] | (page->recheck ? 0 : ROARING64_EXACT);
		}
	}
	roaring64_tbm_end(pages);
	return kept;
}
