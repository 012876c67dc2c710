/*-------------------------------------------------------------------------
 *
 * run.c
 *	  Runs a program of test/unit as a fuzz target of libFuzzer.
 *
 * This file takes the places of test/unit/run.c and test/unit/damaged.c.  The
 * fuzzer's bytes are what a case does by chance: which function it asks, what
 * sets it makes, which elements it looks for.  So the fuzzer changes decisions
 * and keeps those that reach new code, and the test's own model and CRoaring
 * are the judges.  Programs that damage sets take the bytes for a damaged set
 * instead, and have their chance from a hash of them.
 *
 * The program's main is compiled under the name of program_main, because
 * libFuzzer has the main here.  It is called once and only says what to run.
 *
 * test/fuzz/run.c
 *
 *-------------------------------------------------------------------------
 */
#include <stdio.h>
#include <stdlib.h>

#include "unit.h"
#include "mutate.h"

#define NUMBER_SIZE		2		/* bytes that are the case's number */

extern int	program_main(int argc, char **argv);
extern int	LLVMFuzzerInitialize(int *argc, char ***argv);
extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const unit_program *fuzzed;
static byte_string input;

int
unit_run(const unit_program *program, int argc, char **argv)
{
	const char *trouble = r64_load_kernels();

	(void) argc;
	(void) argv;
	if (trouble != NULL)
	{
		fprintf(stderr, "%s\n", trouble);
		return 2;
	}
	fuzzed = program;
	return 0;
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static char name[] = "fuzz";
	static char *arguments[] = {name, NULL};

	(void) argc;
	(void) argv;
	if (program_main(1, arguments) != 0)
		exit(2);
	return 0;
}

byte_string
mutate_case(uint64_t i)
{
	uint64_t	hash = UINT64_C(0xcbf29ce484222325);	/* FNV-1a */

	for (size_t k = 0; k < input.size; k++)
		hash = (hash ^ input.bytes[k]) * UINT64_C(0x100000001b3);
	unit_feed(NULL, 0);
	unit_reseed(hash, i);
	return input;
}

byte_string
mutate_origin(void)
{
	return input;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t	number = 0;

	for (size_t i = 0; i < NUMBER_SIZE && i < size; i++)
		number |= (uint64_t) data[i] << (8 * i);
	unit_numbered_case(number);
	input.bytes = unit_place(data, size, 0);
	input.size = size;
	if (size > NUMBER_SIZE)
		unit_feed(data + NUMBER_SIZE, size - NUMBER_SIZE);
	else
		unit_feed(NULL, 0);
	if (!CHECK(unit_try(fuzzed->run_case, &number) == UNIT_DONE))
		printf("\t%s\n", unit_reason);
	fflush(stdout);
	if (unit_case_failed())
		abort();
	unit_feed(NULL, 0);
	return 0;
}
