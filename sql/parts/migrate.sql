--
-- src/migrate/: from a row for every fact to a row for every key.  Those who
-- have nothing to call but a trigger come first.
--

CREATE FUNCTION roaring64_migrate_statement()
RETURNS trigger
AS 'MODULE_PATHNAME', 'roaring64_migrate_statement'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION roaring64_migrate_statement() IS
'trigger of a migration, which executes its arguments';

CREATE FUNCTION roaring64_migrate_row()
RETURNS trigger
AS 'MODULE_PATHNAME', 'roaring64_migrate_row'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION roaring64_migrate_row() IS
'trigger of the view that a migration puts in the place of a table';

CREATE PROCEDURE roaring64_migrate(source regclass, target name,
								   key_columns name[] DEFAULT NULL,
								   id_column name DEFAULT NULL,
								   sets json DEFAULT NULL,
								   drop_columns name[] DEFAULT NULL,
								   period_column name DEFAULT NULL,
								   period text DEFAULT NULL,
								   batch_rows integer DEFAULT NULL)
AS 'MODULE_PATHNAME', 'roaring64_migrate'
LANGUAGE C;
COMMENT ON PROCEDURE roaring64_migrate(regclass, name, name[], name, json, name[], name, text, integer) IS
'copies a table with a row for every fact to one with sets, or goes on with it';

CREATE FUNCTION roaring64_migrate_verify(target regclass,
										 OUT key jsonb, OUT set_name name,
										 OUT missing roaring64,
										 OUT surplus roaring64)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'roaring64_migrate_verify'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100000 ROWS 10;
COMMENT ON FUNCTION roaring64_migrate_verify(regclass) IS
'sets in which a migration''s target differs from its source';

CREATE PROCEDURE roaring64_migrate_finish(target regclass)
AS 'MODULE_PATHNAME', 'roaring64_migrate_finish'
LANGUAGE C;
COMMENT ON PROCEDURE roaring64_migrate_finish(regclass) IS
'puts a view on the target of a migration in the place of its source';

CREATE PROCEDURE roaring64_migrate_undo(target regclass)
AS 'MODULE_PATHNAME', 'roaring64_migrate_undo'
LANGUAGE C;
COMMENT ON PROCEDURE roaring64_migrate_undo(regclass) IS
'takes a migration back, with the changes made since, and drops its target';

CREATE PROCEDURE roaring64_migrate_drop_old(target regclass)
AS 'MODULE_PATHNAME', 'roaring64_migrate_drop_old'
LANGUAGE C;
COMMENT ON PROCEDURE roaring64_migrate_drop_old(regclass) IS
'drops the old table of a migration that is finished, and with it the way back';
