/*-------------------------------------------------------------------------
 *
 * header.sql
 *	  The SQL side of roaring64: the type, its functions and operators.
 *
 * Put together by the Makefile from sql/parts/, a file a section.  The
 * extension is relocatable: CREATE EXTENSION sets search_path, so names stand
 * unqualified, and no body here depends on search_path later.
 *
 * COST is in tiers, in units of a simple built-in operator:
 *
 *	  1		looks at the arguments or a few bytes of the set
 *	 10		walks headers, or looks into a few containers; per row or element
 *	 50		reads the whole of its sets: merges, tests, comparisons
 *	100		parses, validates, builds or prints a whole set
 *
 * The function behind an operator has the comment that \df+ shows, the
 * operator the one that \do shows.
 *
 * sql/parts/header.sql
 *
 *-------------------------------------------------------------------------
 */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION roaring64" to load this file. \quit
