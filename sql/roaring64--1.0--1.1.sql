\echo Use "ALTER EXTENSION roaring64 UPDATE" to load this file. \quit
SELECT @extschema@._roaring64_needs_library('1.1');

-- The last step of a key that a fold takes in parts takes what is left.
CREATE OR REPLACE FUNCTION _roaring64_dedup_step(o jsonb, keys text[], room bigint, pass_over boolean)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	rows_of text := '{these} AND {which}';
	bound text;
	one boolean;
	gone record;
	put record;
BEGIN
	IF o->>'keep' IS NOT NULL THEN
		EXECUTE @extschema@._roaring64_dedup_statement(o, 'add') USING keys;
		EXECUTE @extschema@._roaring64_dedup_statement(o, 'lock') INTO keys USING keys;
		IF keys IS NULL THEN
			RETURN false;
		END IF;
	END IF;
	one := cardinality(keys) = 1;
	IF pass_over THEN
		-- in an array, as the planner might execute a subquery for each row; Citus has ids of one key
		rows_of := rows_of || format(E'\n\tAND c.%1$s = ANY (ARRAY(SELECT c.%1$s FROM {claims} AS c WHERE {these} AND {which}'
			' ORDER BY c.key, c.id LIMIT {room} FOR UPDATE SKIP LOCKED))',
			CASE WHEN (o->>'distributed')::boolean THEN 'id' ELSE 'ctid' END);
	ELSIF room IS NOT NULL THEN
		EXECUTE format('SELECT c.id::text FROM %s AS c WHERE key = $1 ORDER BY c.id OFFSET $2 LIMIT 1', o->>'claims')
		INTO bound USING keys[1], room;
		IF bound IS NOT NULL THEN
			rows_of := rows_of || format(' AND c.id < %L::{id_type}', bound);
		END IF;
	END IF;
	o := o || jsonb_build_object(
		'these', CASE WHEN one THEN 'c.key = ' || quote_literal(keys[1]) ELSE 'c.key = ANY ($1)' END,
		'key', CASE WHEN one THEN quote_literal(keys[1]) || '::text' ELSE 'key' END,
		'by_key', CASE WHEN one THEN '' ELSE ' GROUP BY key' END,
		'room', room);
	o := o || jsonb_build_object(
		'removed', @extschema@._roaring64_fill(rows_of, o || '{"which": "(c.changed OR NOT c.present)"}'),
		'present', @extschema@._roaring64_fill(rows_of, o || '{"which": "c.present AND NOT c.changed"}'));

	EXECUTE @extschema@._roaring64_dedup_statement(o, 'take') INTO gone USING keys;
	IF gone.keys IS NOT NULL THEN
		IF o->>'keep' IS NOT NULL THEN
			EXECUTE @extschema@._roaring64_dedup_statement(o, 'uncount') USING gone.keys, gone.ids;
		END IF;
		EXECUTE @extschema@._roaring64_dedup_statement(o, 'empty') USING gone.keys, gone.ids;
		EXECUTE @extschema@._roaring64_dedup_statement(o, 'subtract') USING gone.keys, gone.ids;
	END IF;
	EXECUTE @extschema@._roaring64_dedup_statement(o, 'move') INTO put USING keys, gone.back, gone.back_ids;
	IF o->>'id_type' = 'uuid' AND put.large IS NOT NULL THEN
		EXECUTE @extschema@._roaring64_dedup_statement(o, 'cut') USING put.large_keys, put.large;
	END IF;
	IF o->>'keep' IS NOT NULL THEN
		EXECUTE @extschema@._roaring64_dedup_statement(o, 'count') USING put.keys, put.counts;
		PERFORM @extschema@._roaring64_dedup_turn(o, keys);
	END IF;
	IF gone.keys IS NOT NULL THEN
		PERFORM @extschema@._roaring64_dedup_tidy(o, ARRAY(SELECT DISTINCT unnest(gone.keys)));
	END IF;
	RETURN bound IS NOT NULL OR pass_over AND greatest(put.n, cardinality(gone.keys)) >= room;
END $$;

-- On Citus, too, a fold waits for a lock only shortly.
CREATE OR REPLACE FUNCTION _roaring64_dedup_begin(dedup regclass, read_clock boolean)
RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE COST 100
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	o jsonb := @extschema@._roaring64_dedup_options($1);
	name text;
BEGIN
	EXECUTE format('SELECT claims FROM ONLY %s FOR NO KEY UPDATE SKIP LOCKED', $1) INTO name;
	IF name IS NULL THEN
		RAISE NOTICE 'dedup set "%" is being folded by another session', $1;
		RETURN false;
	END IF;
	IF read_clock AND o->>'remember' IS NOT NULL THEN
		EXECUTE format('UPDATE ONLY %s SET clock = clock + least(greatest(extract(epoch FROM $1 - clock_read), 0),'
					   ' extract(epoch FROM remember) / 8) * 1000000, clock_read = $1 WHERE remember IS NOT NULL', $1)
		USING clock_timestamp();
	END IF;
	EXECUTE format('LOCK TABLE %s, %s IN ROW EXCLUSIVE MODE', o->>'claims', o->>'chunks');
	IF (o->>'distributed')::boolean THEN
		PERFORM set_config('citus.propagate_set_commands', 'local', true);
	END IF;
	SET LOCAL lock_timeout = '100ms';
	RETURN true;
END $$;
