/*-------------------------------------------------------------------------
 *
 * unit.c
 *	  The test programs' frame: cases, checks, memory, chance.
 *
 * test/unit/unit.c
 *
 *-------------------------------------------------------------------------
 */
#define _POSIX_C_SOURCE 200809L /* alarm, write */

#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "unit.h"

#define FAILURES_SHOWN	50		/* failed checks printed; all are counted */
#define MAX_SIZE		((size_t) 1 << 30)
#define CASE_SECONDS	120		/* a case that takes longer will not end */

uint64_t	unit_cases;
uint64_t	unit_seed;
uint64_t	unit_first;
bool		unit_scarce;
uint64_t	unit_poll_limit;
uint64_t	unit_polls;
size_t		unit_largest;
r64_error	unit_error;
const char *unit_reason;

static uint64_t passed;
static uint64_t failed;
static uint64_t checks_failed;
static bool in_case;
static bool case_failed;
static char case_text[1024];
static size_t case_text_length;

static void **blocks;
static size_t nblocks;
static size_t blocks_room;

static jmp_buf *escape;
static uint64_t random_state = 1;
static const uint8_t *fed;
static size_t nfed;

/*
 * Memory
 */

static void
out_of_memory(void)
{
	fprintf(stderr, "out of memory\n");
	exit(2);
}

static void *
block_make(size_t size)
{
	void	   *p = malloc(size);

	if (p == NULL)
		out_of_memory();
	if (nblocks == blocks_room)
	{
		blocks_room = blocks_room * 2 + 64;
		blocks = realloc(blocks, blocks_room * sizeof(void *));
		if (blocks == NULL)
			out_of_memory();
	}
	blocks[nblocks++] = p;
	return p;
}

/* Position of a block; the newest are looked at first. */
static size_t
block_find(void *p)
{
	size_t		i = nblocks;

	while (i > 0)
	{
		if (blocks[--i] == p)
			return i;
	}
	fprintf(stderr, "the engine handed back a block it does not own\n");
	abort();
}

static void
blocks_drop(void)
{
	while (nblocks > 0)
		free(blocks[--nblocks]);
}

static void
env_poll(void)
{
	unit_polls++;
	if (unit_poll_limit != 0 && unit_polls >= unit_poll_limit &&
		escape != NULL)
		longjmp(*escape, UNIT_INTERRUPTED);
}

/* A call can be left here, too, as where there is no memory. */
static void *
env_alloc(size_t size)
{
	env_poll();
	if (size > unit_largest)
		unit_largest = size;
	return block_make(size);
}

static void
env_release(void *p)
{
	size_t		i = block_find(p);

	free(p);
	blocks[i] = blocks[--nblocks];
}

/* Under AddressSanitizer realloc always moves, which is what we want. */
static void *
env_resize(void *p, size_t size)
{
	size_t		i = block_find(p);
	void	   *moved;

	env_poll();
	if (size > unit_largest)
		unit_largest = size;
	moved = realloc(p, size);
	if (moved == NULL)
		out_of_memory();
	blocks[i] = moved;
	return moved;
}

static bool
env_scarce(void)
{
	return unit_scarce;
}

static void env_fail(r64_error error, const char *reason) R64_NORETURN;

static void
env_fail(r64_error error, const char *reason)
{
	unit_error = error;
	unit_reason = reason;
	CHECK(error == R64_CORRUPT || error == R64_TOO_LARGE);
	CHECK(reason != NULL && reason[0] >= 'a' && reason[0] <= 'z');
	if (escape == NULL)
	{
		CHECK(!"the engine failed where it must not");
		fprintf(stderr, "reason: %s\n", reason ? reason : "(none)");
		exit(unit_finish());
	}
	longjmp(*escape, UNIT_FAILED);
}

r64_env		unit_env = {
	.alloc = env_alloc,
	.resize = env_resize,
	.release = env_release,
	.scarce = env_scarce,
	.poll = env_poll,
	.fail = env_fail,
	.max_size = MAX_SIZE
};

unit_outcome
unit_try(void (*body) (void *arg), void *arg)
{
	jmp_buf		here;
	jmp_buf    *volatile outer = escape;
	volatile unit_outcome outcome = UNIT_DONE;

	escape = &here;
	switch (setjmp(here))
	{
		case 0:
			body(arg);
			break;
		case UNIT_INTERRUPTED:
			outcome = UNIT_INTERRUPTED;
			break;
		default:
			outcome = UNIT_FAILED;
			break;
	}
	escape = outer;
	return outcome;
}

void *
unit_alloc(size_t size)
{
	return block_make(size);
}

uint8_t *
unit_place(const void *bytes, size_t size, unsigned align)
{
	/* malloc gives multiples of 16 */
	uint8_t    *p = (uint8_t *) block_make(align + size) + align;

	if (size > 0)
		memcpy(p, bytes, size);
	return p;
}

const uint8_t *
unit_result(r64_buf buf)
{
	CHECK(buf.base != NULL);
	CHECK(buf.size >= 8);
	CHECK(buf.size <= unit_env.max_size);
	return buf.base + unit_env.headroom;
}

/*
 * Cases
 */

static void
case_end(void)
{
	if (in_case)
	{
		if (case_failed)
			failed++;
		else
			passed++;
	}
	in_case = false;
	case_failed = false;
	case_text_length = 0;
	case_text[0] = '\0';
	blocks_drop();
	unit_env.headroom = 0;
	unit_env.max_size = MAX_SIZE;
	unit_scarce = false;
	unit_poll_limit = 0;
	unit_polls = 0;
	unit_largest = 0;
}

static void
add_text(const char *fmt, va_list args)
{
	size_t		room = sizeof(case_text) - case_text_length;
	int			n = vsnprintf(case_text + case_text_length, room, fmt, args);

	if (n > 0)
		case_text_length += (size_t) n < room ? (size_t) n : room - 1;
}

void
unit_case(const char *fmt,...)
{
	va_list		args;

	case_end();
	in_case = true;
	va_start(args, fmt);
	add_text(fmt, args);
	va_end(args);
	alarm(CASE_SECONDS);
}

/* Says which case does not end.  Only what a signal handler may call. */
static void
case_endless(int signal_number)
{
	static const char text[] = "\nfailed: does not end\n\tin ";

	(void) signal_number;
	if (write(STDOUT_FILENO, text, sizeof(text) - 1) < 0 ||
		write(STDOUT_FILENO, case_text, case_text_length) < 0 ||
		write(STDOUT_FILENO, "\n", 1) < 0)
		_exit(2);
	_exit(1);
}

void
unit_numbered_case(uint64_t i)
{
	unit_case("case %" PRIu64 " of seed %" PRIu64 ":", i, unit_seed);
	unit_reseed(unit_seed, i);
}

void
unit_note(const char *fmt,...)
{
	va_list		args;

	va_start(args, fmt);
	add_text(fmt, args);
	va_end(args);
}

bool
unit_case_failed(void)
{
	return case_failed;
}

static uint64_t
argument(int argc, char **argv, int i, uint64_t standard)
{
	char	   *end;
	uint64_t	value;

	if (i >= argc)
		return standard;
	value = strtoull(argv[i], &end, 10);
	if (*argv[i] == '\0' || *end != '\0')
	{
		fprintf(stderr, "usage: %s [cases [seed [first]]]\n", argv[0]);
		exit(2);
	}
	return value;
}

void
unit_start(const char *program, uint64_t default_cases, int argc, char **argv)
{
	const char *trouble;

	unit_cases = argument(argc, argv, 1, default_cases);
	unit_seed = argument(argc, argv, 2, (uint64_t) time(NULL));
	unit_first = argument(argc, argv, 3, 0);
	if (default_cases > 0)
		printf("%s: %" PRIu64 " random cases, seed %" PRIu64 "\n",
			   program, unit_cases, unit_seed);
	else
		printf("%s\n", program);
	fflush(stdout);
	signal(SIGALRM, case_endless);
	trouble = r64_load_kernels();
	if (trouble != NULL)
	{
		fprintf(stderr, "%s\n", trouble);
		exit(2);
	}
	/* programs without random cases do the same every time */
	unit_reseed(default_cases > 0 ? unit_seed : 0, UINT64_MAX);
}

int
unit_finish(void)
{
	alarm(0);
	case_end();
	free(blocks);
	blocks = NULL;
	blocks_room = 0;
	if (passed + failed == 0)
		printf("nothing was tested\n");
	printf("%" PRIu64 " passed, %" PRIu64 " failed\n", passed, failed);
	return failed == 0 ? 0 : 1;
}

/*
 * Checks
 */

static bool
check_failed(const char *what, const char *file, int line)
{
	case_failed = true;
	checks_failed++;
	if (checks_failed > FAILURES_SHOWN)
		return false;
	printf("%s:%d: failed: %s\n\tin %s\n", file, line, what, case_text);
	if (checks_failed == FAILURES_SHOWN)
		printf("further failures are counted, not shown\n");
	fflush(stdout);
	return true;
}

bool
unit_check(bool ok, const char *what, const char *file, int line)
{
	if (!ok)
		check_failed(what, file, line);
	return ok;
}

bool
unit_check_u64(uint64_t got, uint64_t want, const char *what,
			   const char *file, int line)
{
	if (got == want)
		return true;
	if (check_failed(what, file, line))
		printf("\tgot %" PRIu64 ", want %" PRIu64 "\n", got, want);
	return false;
}

bool
unit_check_i64(int64_t got, int64_t want, const char *what,
			   const char *file, int line)
{
	if (got == want)
		return true;
	if (check_failed(what, file, line))
		printf("\tgot %" PRId64 ", want %" PRId64 "\n", got, want);
	return false;
}

static void
show_bytes(const char *label, const uint8_t *bytes, size_t size, size_t at)
{
	size_t		from = at > 16 ? at - 16 : 0;
	size_t		to = size - from > 48 ? from + 48 : size;

	printf("\t%s %zu bytes, from %zu:", label, size, from);
	for (size_t i = from; i < to; i++)
		printf(" %02x", bytes[i]);
	printf("\n");
}

bool
unit_check_bytes(const uint8_t *got, size_t got_size,
				 const uint8_t *want, size_t want_size,
				 const char *what, const char *file, int line)
{
	size_t		common = got_size < want_size ? got_size : want_size;
	size_t		at = 0;

	if (got_size == want_size && memcmp(got, want, got_size) == 0)
		return true;
	if (!check_failed(what, file, line))
		return false;
	while (at < common && got[at] == want[at])
		at++;
	printf("\tbytes differ at %zu\n", at);
	show_bytes("got ", got, got_size, at < got_size ? at : got_size);
	show_bytes("want", want, want_size, at < want_size ? at : want_size);
	return false;
}

/*
 * Chance
 */

void
unit_reseed(uint64_t seed, uint64_t stream)
{
	/* two rounds of splitmix64, so that near seeds give far states */
	uint64_t	x = seed * UINT64_C(0x9e3779b97f4a7c15) + stream;

	for (int i = 0; i < 2; i++)
	{
		x += UINT64_C(0x9e3779b97f4a7c15);
		x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
		x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
		x ^= x >> 31;
	}
	random_state = x != 0 ? x : 1;
}

void
unit_feed(const uint8_t *bytes, size_t size)
{
	fed = bytes;
	nfed = size;
}

static uint64_t
random_number(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return random_state * UINT64_C(0x2545f4914f6cdd1d);
}

/* A number of size bytes: what was fed, while there is some. */
static uint64_t
draw(size_t size)
{
	uint64_t	v = 0;

	if (nfed == 0)
		return random_number();
	if (size > nfed)
		size = nfed;
	memcpy(&v, fed, size);
	fed += size;
	nfed -= size;
	return v;
}

uint64_t
unit_random(void)
{
	return draw(8);
}

uint64_t
unit_below(uint64_t n)
{
	size_t		size = 1;

	while (size < 8 && n > UINT64_C(1) << (8 * size))
		size++;
	return draw(size) % n;
}

uint64_t
unit_between(uint64_t lo, uint64_t hi)
{
	uint64_t	n = hi - lo + 1;

	/* the whole range has no n */
	return n == 0 ? unit_random() : lo + unit_below(n);
}

bool
unit_one_in(uint64_t n)
{
	return unit_below(n) == 0;
}

uint64_t
unit_skewed(uint64_t n)
{
	/* every power of two below n is as likely as the next */
	uint64_t	bits = 0;

	while (n >> bits > 1)
		bits++;
	return unit_below(n) >> unit_below(bits + 1);
}
