/*-------------------------------------------------------------------------
 *
 * oracle.c
 *	  CRoaring's own 64-bit sets, as judge of the engine's bytes.
 *
 * test/unit/oracle.c
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "unit.h"
#include "oracle.h"

/*
 * Taking the runs out of larger sets would take 8 kB for each of their full
 * containers.  Without it a container that takes as many bytes either way
 * stays as it is, so larger sets must be of full containers only.
 */
#define UNPACK_LIMIT	(UINT64_C(1) << 30)

/* What the library answers only when memory is out. */
static roaring64_bitmap_t *
not_null(roaring64_bitmap_t *r)
{
	if (r == NULL)
		abort();
	return r;
}

roaring64_bitmap_t *
oracle_make(const model *m)
{
	roaring64_bitmap_t *r = not_null(roaring64_bitmap_create());

	for (size_t i = 0; i < m->n; i++)
	{
		if (m->runs[i].lo == m->runs[i].hi)
			roaring64_bitmap_add(r, (uint64_t) m->runs[i].lo);
		else
			oracle_add_range(r, m->runs[i].lo, m->runs[i].hi);
	}
	return r;
}

roaring64_bitmap_t *
oracle_read(const uint8_t *bytes, size_t size)
{
	roaring64_bitmap_t *r;

	r = roaring64_bitmap_portable_deserialize_safe((const char *) bytes,
												   size);
	if (r != NULL && !roaring64_bitmap_internal_validate(r, NULL))
	{
		roaring64_bitmap_free(r);
		return NULL;
	}
	return r;
}

uint8_t *
oracle_bytes(const roaring64_bitmap_t *r, size_t *size)
{
	uint8_t    *bytes;

	*size = roaring64_bitmap_portable_size_in_bytes(r);
	bytes = unit_alloc(*size);
	CHECK_U64(roaring64_bitmap_portable_serialize(r, (char *) bytes), *size);
	return bytes;
}

uint8_t *
oracle_canonical(roaring64_bitmap_t *r, size_t *size)
{
	if (roaring64_bitmap_get_cardinality(r) <= UNPACK_LIMIT)
		roaring64_bitmap_remove_run_compression(r);
	roaring64_bitmap_run_optimize(r);
	return oracle_bytes(r, size);
}

void
oracle_add_range(roaring64_bitmap_t *r, int64_t lo, int64_t hi)
{
	if (lo < 0 && hi >= 0)
	{
		roaring64_bitmap_add_range_closed(r, (uint64_t) lo, UINT64_MAX);
		lo = 0;
	}
	if (lo <= hi)
		roaring64_bitmap_add_range_closed(r, (uint64_t) lo, (uint64_t) hi);
}

void
oracle_remove_range(roaring64_bitmap_t *r, int64_t lo, int64_t hi)
{
	if (lo < 0 && hi >= 0)
	{
		roaring64_bitmap_remove_range_closed(r, (uint64_t) lo, UINT64_MAX);
		lo = 0;
	}
	if (lo <= hi)
		roaring64_bitmap_remove_range_closed(r, (uint64_t) lo, (uint64_t) hi);
}

/* The set in the bytes, canonical; NULL if CRoaring refuses them. */
static uint8_t *
read_canonical(const uint8_t *bytes, size_t size, size_t *canonical_size)
{
	roaring64_bitmap_t *r = oracle_read(bytes, size);
	uint8_t    *canonical;

	if (!CHECK(r != NULL))
		return NULL;
	canonical = oracle_canonical(r, canonical_size);
	roaring64_bitmap_free(r);
	return canonical;
}

void
oracle_check_accepted(const uint8_t *bytes, size_t size, r64_verdict verdict)
{
	size_t		want_size;
	uint8_t    *want = read_canonical(bytes, size, &want_size);
	r64_buf		buf;
	r64_diagnosis why = {0};

	if (want == NULL)
		return;
	CHECK((verdict == R64_CANONICAL) ==
		  (size == want_size && memcmp(bytes, want, size) == 0));
	buf = r64_canonicalise(&unit_env, bytes, size);
	CHECK_BYTES(unit_result(buf), buf.size, want, want_size);
	CHECK(r64_check(&unit_env, unit_result(buf), buf.size, &why) ==
		  R64_CANONICAL);
}

void
oracle_check_refused(size_t size, const r64_diagnosis *why)
{
	CHECK(why->reason != NULL && why->reason[0] != '\0');
	CHECK(why->offset <= size);
}
