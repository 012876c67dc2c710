/*-------------------------------------------------------------------------
 *
 * header.sql
 *	  The SQL side of roaring64: the type, its functions and operators, and dedup
 *	  sets.  sql/tables/ has the other helpers, an extension of their own.
 *
 * Put together by the Makefile from sql/parts/, a file a section.  CREATE
 * EXTENSION sets search_path, so definitions name things unqualified.  Bodies
 * of functions run with their callers' search_path or one of their own: they
 * name what belongs to the extension with its schema, which CREATE EXTENSION
 * puts in the place of @extschema@, quoted where it must be.  So the extension
 * stays in its schema.
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

-- The schema's name becomes part of strings and of formats.  Servers refuse
-- quotes, $ and \ themselves since 2023, but not %.
DO $$
BEGIN
	IF pg_catalog.current_schema() OPERATOR(pg_catalog.~) E'[%"$''\\\\]' THEN
		RAISE invalid_schema_name USING
			MESSAGE = 'roaring64 cannot be created in a schema whose name contains %, $, a quote or a backslash',
			HINT = 'Name another schema: CREATE EXTENSION roaring64 SCHEMA ...';
	END IF;
END $$;
