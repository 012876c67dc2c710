/*-------------------------------------------------------------------------
 *
 * unit.h
 *	  What the engine's test programs share: cases, checks, memory, chance.
 *
 * Every *_test.c here is one program, linked with the other .c files of this
 * folder, with src/engine/ compiled with -DR64_LINK_KERNELS, and with
 * CRoaring.  test/run-unit builds and runs them; by itself one is run as
 *
 *	program [cases [seed [first]]]
 *
 * It prints what it does and its seed, and ends with "N passed, N failed",
 * counting cases; it exits with 1 if one failed.  A numbered case depends on
 * the seed and its number only, so "program 1 <seed> <number>" repeats one.
 *
 * test/unit/unit.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef UNIT_H
#define UNIT_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/r64.h"

#if defined(__GNUC__)
#define UNIT_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define UNIT_PRINTF(f, a)
#endif

/*
 * Cases.  A case begins where the one before it ends; its memory is dropped
 * and unit_env reset at that point.
 */
extern uint64_t unit_cases;		/* how many numbered cases to run */
extern uint64_t unit_seed;
extern uint64_t unit_first;		/* number of the first */

/* Reads the arguments, says what runs, loads CRoaring's kernels. */
extern void unit_start(const char *program, uint64_t default_cases,
					   int argc, char **argv);

/* Begins a case.  The text is shown if one of its checks fails. */
extern void unit_case(const char *fmt,...) UNIT_PRINTF(1, 2);

/* The same for case number i, with chance seeded by unit_seed and i. */
extern void unit_numbered_case(uint64_t i);

/* Adds to what is shown if a check of this case fails. */
extern void unit_note(const char *fmt,...) UNIT_PRINTF(1, 2);

/* Ends the last case and prints the count; returns the exit status. */
extern int	unit_finish(void);

/* Whether a check of the current case has failed. */
extern bool unit_case_failed(void);

/*
 * A program of numbered cases hands its main over to unit_run: that of run.c,
 * or of test/fuzz/run.c, where a fuzzer feeds the cases.
 */
typedef struct unit_program
{
	const char *name;
	uint64_t	cases;			/* unless an argument says how many */
	void		(*run_case) (void *number); /* a uint64_t */
	void		(*after) (void);	/* after the last case; may be NULL */
} unit_program;
extern int	unit_run(const unit_program *program, int argc, char **argv);

/*
 * Checks.  They count nothing by themselves: a case with a failed check is a
 * failed case.
 */
extern bool unit_check(bool ok, const char *what, const char *file, int line);
extern bool unit_check_u64(uint64_t got, uint64_t want, const char *what,
						   const char *file, int line);
extern bool unit_check_i64(int64_t got, int64_t want, const char *what,
						   const char *file, int line);
extern bool unit_check_bytes(const uint8_t *got, size_t got_size,
							 const uint8_t *want, size_t want_size,
							 const char *what, const char *file, int line);

#define CHECK(cond) \
	unit_check((cond), #cond, __FILE__, __LINE__)
#define CHECK_U64(got, want) \
	unit_check_u64((got), (want), #got, __FILE__, __LINE__)
#define CHECK_I64(got, want) \
	unit_check_i64((got), (want), #got, __FILE__, __LINE__)
#define CHECK_BYTES(got, got_size, want, want_size) \
	unit_check_bytes((got), (got_size), (want), (want_size), #got, \
					 __FILE__, __LINE__)

/*
 * The environment that the engine is given.  Blocks come from malloc in
 * exactly the size asked for, so that AddressSanitizer sees an overrun by one
 * byte.  A test may change headroom, max_size, unit_scarce and
 * unit_poll_limit; they are reset when the next case begins.
 */
extern r64_env unit_env;

extern bool unit_scarce;		/* what the environment says of memory */

/*
 * A poll, or a request for memory, leaves by longjmp when so many have been made;
 * 0 is never.
 */
extern uint64_t unit_poll_limit;
extern uint64_t unit_polls;		/* those since the case began */
extern size_t unit_largest;		/* largest block asked for since then */

/* Memory of the tests themselves, dropped with the case too. */
extern void *unit_alloc(size_t size);

/* A copy of size bytes that ends where its block ends, at p % 8 == align. */
extern uint8_t *unit_place(const void *bytes, size_t size, unsigned align);

/* The bytes of a result, which must respect headroom and max_size. */
extern const uint8_t *unit_result(r64_buf buf);

/*
 * Calls body(arg) and returns how it ended.  An engine failure outside of
 * any unit_try is a failed check and ends the program.
 */
typedef enum unit_outcome
{
	UNIT_DONE,					/* body returned */
	UNIT_FAILED,				/* env->fail: see unit_error, unit_reason */
	UNIT_INTERRUPTED			/* env->poll left */
} unit_outcome;
extern unit_outcome unit_try(void (*body) (void *arg), void *arg);
extern r64_error unit_error;
extern const char *unit_reason;

/*
 * Chance: xorshift64* over a state that unit_numbered_case sets.  Where it was
 * fed, these bytes are used up first, as few as a number needs.
 */
extern void unit_feed(const uint8_t *bytes, size_t size);
extern void unit_reseed(uint64_t seed, uint64_t stream);
extern uint64_t unit_random(void);
extern uint64_t unit_below(uint64_t n); /* 0 .. n - 1; n at least 1 */
extern uint64_t unit_between(uint64_t lo, uint64_t hi); /* inclusive */
extern bool unit_one_in(uint64_t n);

/* 0 .. n - 1, small numbers much more often. */
extern uint64_t unit_skewed(uint64_t n);

#endif							/* UNIT_H */
