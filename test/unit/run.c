/*-------------------------------------------------------------------------
 *
 * run.c
 *	  Runs a program of numbered cases, with chance from its seed.
 *
 * test/unit/run.c
 *
 *-------------------------------------------------------------------------
 */
#include <stdio.h>

#include "unit.h"

int
unit_run(const unit_program *program, int argc, char **argv)
{
	unit_start(program->name, program->cases, argc, argv);
	for (uint64_t i = unit_first; i < unit_first + unit_cases; i++)
	{
		unit_numbered_case(i);
		if (!CHECK(unit_try(program->run_case, &i) == UNIT_DONE))
			printf("\t%s\n", unit_reason);
	}
	if (program->after != NULL)
		program->after();
	return unit_finish();
}
