/*-------------------------------------------------------------------------
 *
 * mutate_test.c
 *	  Damaged bytes through r64_check and r64_canonicalise.
 *
 * What r64_check accepts CRoaring must read as the same set, and the canonical
 * form must be what CRoaring writes for it.  What it refuses but CRoaring
 * reads must be one of the lies that CRoaring is known to overlook, and must
 * come out of CRoaring as other bytes than went in.
 *
 * test/unit/mutate_test.c
 *
 *-------------------------------------------------------------------------
 */
#include <stdio.h>
#include <string.h>

#include "unit.h"
#include "mutate.h"
#include "oracle.h"

#define DEFAULT_CASES	100000

/* Reasons met, and how often CRoaring read such bytes. */
#define REASONS_MAX 64
static struct
{
	const char *reason;
	uint64_t	refused;
	uint64_t	overlooked;
}			reasons[REASONS_MAX];
static int	nreasons;

/* What CRoaring is known to read all the same. */
static const char *const known_lies[] = {
	"trailing bytes",			/* it stops at the last container */
	"wrong container offset",	/* it does not look at offsets */
	"run container with wrong cardinality"	/* it counts runs itself */
};

static uint64_t canonical;
static uint64_t legal;

static bool
is_known_lie(const char *reason)
{
	for (size_t i = 0; i < sizeof(known_lies) / sizeof(known_lies[0]); i++)
	{
		if (strcmp(reason, known_lies[i]) == 0)
			return true;
	}
	return false;
}

static void
count_refusal(const char *reason, bool overlooked)
{
	int			i = 0;

	while (i < nreasons && strcmp(reasons[i].reason, reason) != 0)
		i++;
	if (i == nreasons)
	{
		if (!CHECK(nreasons < REASONS_MAX))
			return;
		reasons[nreasons++].reason = reason;
	}
	reasons[i].refused++;
	reasons[i].overlooked += overlooked;
}

static void
check_refusal(const uint8_t *bytes, size_t size, const r64_diagnosis *why)
{
	roaring64_bitmap_t *r = oracle_read(bytes, size);

	oracle_check_refused(size, why);
	if (why->reason == NULL)
	{
		if (r != NULL)
			roaring64_bitmap_free(r);
		return;
	}
	unit_note(" (%s at %zu)", why->reason, why->offset);
	count_refusal(why->reason, r != NULL);
	if (r != NULL)
	{
		size_t		again_size;
		uint8_t    *again = oracle_bytes(r, &again_size);

		CHECK(is_known_lie(why->reason));
		CHECK(again_size != size || memcmp(again, bytes, size) != 0);
		roaring64_bitmap_free(r);
	}
}

static void
run_case(void *arg)
{
	byte_string s = mutate_case(*(uint64_t *) arg);
	uint8_t    *bytes = unit_place(s.bytes, s.size, (unsigned) unit_below(8));
	r64_diagnosis why = {0};
	r64_verdict verdict;

	unit_env.headroom = unit_below(17);
	verdict = r64_check(&unit_env, bytes, s.size, &why);
	switch (verdict)
	{
		case R64_INVALID:
			check_refusal(bytes, s.size, &why);
			break;
		case R64_LEGAL:
			legal++;
			oracle_check_accepted(bytes, s.size, verdict);
			break;
		case R64_CANONICAL:
			canonical++;
			oracle_check_accepted(bytes, s.size, verdict);
			break;
	}
}

/* What was met, and whether it says anything. */
static void
check_counts(void)
{
	uint64_t	lies = 0;

	printf("accepted: %" PRIu64 " canonical, %" PRIu64 " legal\n"
		   "refused (and of these, read by CRoaring):\n", canonical, legal);
	for (int i = 0; i < nreasons; i++)
	{
		printf("%9" PRIu64 " (%" PRIu64 ") %s\n", reasons[i].refused,
			   reasons[i].overlooked, reasons[i].reason);
		lies += reasons[i].overlooked;
	}
	/* or the mutations have become too wild to say anything */
	if (unit_cases >= DEFAULT_CASES)
	{
		unit_case("mutations of every kind were met");
		CHECK(canonical >= unit_cases / 100);
		CHECK(legal >= unit_cases / 100);
		CHECK(lies >= unit_cases / 1000);
		CHECK(nreasons >= 15);
	}
}

int
main(int argc, char **argv)
{
	static const unit_program program = {
		.name = "damaged bytes judged",.cases = DEFAULT_CASES,.run_case = run_case,
		.after = check_counts
	};

	return unit_run(&program, argc, argv);
}
