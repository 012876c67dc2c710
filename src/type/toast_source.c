/*-------------------------------------------------------------------------
 *
 * toast_source.c
 *	  A value that is fetched in parts, as far as a question needs them.
 *
 * Only for values in TOAST that are not compressed: a compressed one is fetched
 * whole.  Which parts a question needs is the engine's business (partial.c).
 *
 * src/type/toast_source.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/heaptoast.h"

#include "roaring64.h"

/*
 * Fetching part of a TOAST value takes a few index scans; fetching all of it takes
 * one, and a row for every 2 kB.  Up to three parts are fetched to pass a bucket, and
 * one for each container wanted.  That pays from so many bytes for each of them on.
 */
#define BYTES_PER_PIECE	(24 * 1024)
#define MIN_PART	((size_t) 2 * TOAST_MAX_CHUNK_SIZE)

/* Part of a TOAST value: size bytes from offset on. */
typedef struct ToastPart
{
	struct varlena *bytes;		/* NULL if none was fetched */
	size_t		offset;
	size_t		size;
} ToastPart;

/* A value that is read in parts. */
typedef struct ToastSource
{
	r64_source	source;
	struct varlena *pointer;	/* to the TOAST value */
	ToastPart	part[R64_PARTS];	/* the last of each kind */
} ToastSource;

/*
 * Fetches two TOAST rows even if one would do, or none if the last part of the
 * kind has the bytes.  So a header of up to 400 containers is fetched once.
 */
static const uint8_t *
fetch_part(void *arg, r64_part kind, size_t offset, size_t size)
{
	ToastSource *source = arg;
	ToastPart  *part = &source->part[kind];
	size_t		remaining = source->source.size - offset;

	if (part->bytes != NULL)
	{
		size_t		ahead = offset - part->offset;

		if (offset >= part->offset && ahead + size <= part->size)
			return (uint8_t *) VARDATA_ANY(part->bytes) + ahead;
		pfree(part->bytes);
	}
	part->offset = offset;
	part->size = Min(Max(size, MIN_PART), remaining);
	part->bytes = detoast_attr_slice(source->pointer, (int32) offset,
									 (int32) part->size);
	return (uint8_t *) VARDATA_ANY(part->bytes);
}

/*
 * Makes the set of the containers of a value that meet those of few, as
 * r64_source_restrict() does, if the value is better read in parts: if it is stored
 * out of line, uncompressed, and large enough.  Otherwise returns false.
 */
bool
roaring64_restrict(Datum datum, const r64_set *few, uint64 *cardinality, r64_buf *made)
{
	struct varlena *value = (struct varlena *) DatumGetPointer(datum);
	struct varatt_external pointer;
	size_t		size;
	r64_stats	stats;
	uint64		wanted;
	ToastSource source;
	bool		pays;

	if (!VARATT_IS_EXTERNAL_ONDISK(value))
		return false;
	VARATT_EXTERNAL_GET_POINTER(pointer, value);
	size = VARATT_EXTERNAL_GET_EXTSIZE(pointer);
	if (VARATT_EXTERNAL_IS_COMPRESSED(pointer) || size < BYTES_PER_PIECE)
		return false;
	stats = r64_get_stats(few);
	wanted = (stats.arrays + stats.bitsets + stats.runs) * BYTES_PER_PIECE;
	if (wanted > size)
		return false;
	memset(&source, 0, sizeof(source));
	source.source.env = &roaring64_env;
	source.source.arg = &source;
	source.source.fetch = fetch_part;
	source.source.size = size;
	source.pointer = value;
	pays = r64_source_buckets(&source.source) <= (size - wanted) / BYTES_PER_PIECE;
	if (pays)
		*made = r64_source_restrict(&source.source, few, cardinality);
	for (int i = 0; i < R64_PARTS; i++)
		if (source.part[i].bytes != NULL)
			pfree(source.part[i].bytes);
	return pays;
}
