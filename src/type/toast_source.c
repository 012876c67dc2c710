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
 * Fetching part of a TOAST value takes a few index scans; fetching all of it
 * takes one, and a row for every 2 kB.  Finding a bucket fetches up to
 * three parts per bucket before it, so parts pay from so many bytes per
 * bucket on.
 */
#define SLICE_MIN_BUCKET_SIZE (48 * 1024)
#define MIN_PART	((size_t) 2 * TOAST_MAX_CHUNK_SIZE)
#define MAX_PART	((size_t) 64 * TOAST_MAX_CHUNK_SIZE)

/*
 * Fetches two TOAST rows even if one would do, or none if the last part of the
 * kind has the bytes.  So a header of up to 400 containers is fetched once.  Right
 * after another part it fetches twice as much, so that reading on to the end costs
 * hardly more than fetching all at once.
 */
static const uint8_t *
fetch_part(void *arg, r64_part kind, size_t offset, size_t size)
{
	ToastSource *source = arg;
	ToastPart  *part = &source->part[kind];
	size_t		remaining = source->source.size - offset;
	size_t		more = MIN_PART;

	if (part->bytes != NULL)
	{
		size_t		ahead = offset - part->offset;

		if (offset >= part->offset && ahead + size <= part->size)
			return (uint8_t *) VARDATA_ANY(part->bytes) + ahead;
		if (offset >= part->offset && ahead <= part->size + MIN_PART)
			more = Min(2 * part->size, MAX_PART);
		pfree(part->bytes);
	}
	part->offset = offset;
	part->size = Min(Max(size, more), remaining);
	part->bytes = detoast_attr_slice(source->pointer, (int32) offset,
									 (int32) part->size);
	return (uint8_t *) VARDATA_ANY(part->bytes);
}

/*
 * Fills *source if parts of a value can be fetched: if it is stored out of
 * line, uncompressed, and not too small for that.  The value must stay where
 * it is while the source is used.
 */
bool
roaring64_open_source(struct varlena *value, ToastSource *source)
{
	struct varatt_external pointer;

	if (!VARATT_IS_EXTERNAL_ONDISK(value))
		return false;
	VARATT_EXTERNAL_GET_POINTER(pointer, value);
	if (VARATT_EXTERNAL_IS_COMPRESSED(pointer) ||
		VARATT_EXTERNAL_GET_EXTSIZE(pointer) < SLICE_MIN_BUCKET_SIZE)
		return false;
	memset(source, 0, sizeof(*source));
	source->source.env = &roaring64_env;
	source->source.arg = source;
	source->source.fetch = fetch_part;
	source->source.size = VARATT_EXTERNAL_GET_EXTSIZE(pointer);
	source->pointer = value;
	return true;
}

/* Frees what was fetched; the server does, too, where a call ends. */
void
roaring64_close_source(ToastSource *source)
{
	for (int i = 0; i < R64_PARTS; i++)
		if (source->part[i].bytes != NULL)
			pfree(source->part[i].bytes);
}

/*
 * Whether a value is better read in parts: one that is large and of few
 * buckets.  Fills *source if so.
 */
bool
roaring64_toast_source(Datum datum, ToastSource *source)
{
	if (!roaring64_open_source((struct varlena *) DatumGetPointer(datum), source))
		return false;
	if (r64_source_buckets(&source->source) <=
		source->source.size / SLICE_MIN_BUCKET_SIZE)
		return true;
	roaring64_close_source(source);
	return false;
}
