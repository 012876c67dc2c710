/*-------------------------------------------------------------------------
 *
 * server_planner.h
 *	  The server's headers for planning, and nothing of ours (planner/planner.h).
 *
 * Up to 15 some of them declare functions without parameters, which our warnings
 * refuse.
 *
 * src/server_planner.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef ROARING64_SERVER_PLANNER_H
#define ROARING64_SERVER_PLANNER_H

#include "postgres.h"

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#endif

#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "nodes/supportnodes.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/plancat.h"
#include "optimizer/planmain.h"
#include "optimizer/restrictinfo.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

/* Before 15 every custom scan was taken to project. */
#ifndef CUSTOMPATH_SUPPORT_PROJECTION
#define CUSTOMPATH_SUPPORT_PROJECTION	0
#endif

#endif							/* ROARING64_SERVER_PLANNER_H */
