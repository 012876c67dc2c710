/*-------------------------------------------------------------------------
 *
 * header.sql
 *	  Helpers that keep sets in tables: delayed messages, numbers, dictionaries,
 *	  rollups, and what there is of them all.
 *
 * An extension beside roaring64, whose library, type and functions it uses.  Put
 * together by the Makefile from sql/tables/, a file a section; what the header of
 * sql/parts/ says of names, schemas and COST holds here, too.  Of the internal
 * functions of roaring64 it uses only those that sql/parts/shared.sql has or names.
 *
 * @extschema@ is where this extension is, and stands for where roaring64 is as
 * well: to 15, PostgreSQL has no other name for that.  So both are in one schema.
 *
 * sql/tables/header.sql
 *
 *-------------------------------------------------------------------------
 */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION roaring64_tables" to load this file. \quit

DO $$
DECLARE
	home pg_catalog.text := (
		SELECT pg_catalog.quote_ident(n.nspname)
		FROM pg_catalog.pg_extension AS e JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace
		WHERE e.extname OPERATOR(pg_catalog.=) 'roaring64');
BEGIN
	IF home OPERATOR(pg_catalog.<>) pg_catalog.quote_ident(pg_catalog.current_schema()) THEN
		RAISE invalid_schema_name USING
			MESSAGE = 'roaring64_tables must be in the schema of roaring64',
			DETAIL = pg_catalog.format('The extension roaring64 is in schema %s.', home),
			HINT = pg_catalog.format('CREATE EXTENSION roaring64_tables SCHEMA %s', home);
	END IF;
END $$;
