--
-- Dictionaries: what the functions of docs/dictionary.md give and refuse, keys of
-- each kind of type, and random batches beside a table of keys.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64_tables CASCADE;
RESET client_min_messages;
\set SHOW_CONTEXT never

SELECT roaring64_dict_create('users', 'text');
\d users
-- in the order of the keys; NULL stays, a repeated key is added once
SELECT roaring64_dict_encode('users', '{c,a,NULL,b,a}'::text[]);
SELECT roaring64_dict_encode('users', '{d,c,b,a,Z}'::text[]);
-- known keys draw no codes
SELECT roaring64_dict_encode('users', '{a,b}'::text[]), roaring64_dict_encode('users', '{e}'::text[]);
SELECT key, code FROM users ORDER BY code;
SELECT roaring64_dict_lookup('users', '{b,x,NULL,a}'::text[]), roaring64_dict_lookup('users', '{}'::text[]),
	roaring64_dict_encode('users', '{}'::text[]), roaring64_dict_encode('users', '{NULL,NULL}'::text[]);
SELECT * FROM roaring64_dict_decode('users', '{3,1,99,2}');
SELECT count(*) FROM roaring64_dict_decode('users', '{}');
SELECT keys, last_code, bytes = pg_total_relation_size('users') AS bytes FROM roaring64_dict_stats('users');
-- a statement of one's own
SELECT key FROM users WHERE code <@ '{1,3}' ORDER BY code;

-- a transaction that is rolled back leaves neither key nor code; its codes are not given again
BEGIN;
SELECT roaring64_dict_encode('users', '{lost}'::text[]);
ROLLBACK;
SELECT roaring64_dict_lookup('users', '{lost}'::text[]), roaring64_dict_encode('users', '{found}'::text[]);
SELECT * FROM roaring64_dict_stats('users') AS s (keys, last_code, bytes), LATERAL (SELECT bytes > 0 AS has_bytes) AS b;

-- keys of other types, names that need quotes, each key as its type reads it
SELECT roaring64_dict_create('"x y"', 'uuid'), roaring64_dict_create('"a''b"', 'bytea'), roaring64_dict_create('public."100%"', 'numeric'),
	roaring64_dict_create('"%1$s"', 'timestamp with time zone');
SELECT roaring64_dict_encode('"x y"', ARRAY['00000000-0000-0000-0000-00000000000B', '00000000-0000-0000-0000-00000000000a']::uuid[]),
	roaring64_dict_encode('"x y"', ARRAY['00000000-0000-0000-0000-00000000000b']::uuid[]),
	roaring64_dict_encode('"a''b"', ARRAY['\x00ff', '\x00', '']::bytea[]),
	roaring64_dict_encode('"100%"', '{1.50,1.5,0,NaN}'::numeric[]),
	roaring64_dict_encode('"%1$s"', ARRAY['2026-01-01 00:00+00', '2026-01-01 01:00+01', 'infinity']::timestamptz[]);
SELECT * FROM roaring64_dict_decode('"x y"', '{1,2}');
SELECT * FROM roaring64_dict_decode('"a''b"', '{1,2,3}');
SELECT key FROM roaring64_dict_decode('"100%"', '{1,2,3}');
CREATE DOMAIN short AS text CHECK (length(value) < 5);
CREATE TYPE color AS ENUM ('red', 'green');
SELECT roaring64_dict_create('shorts', 'short'), roaring64_dict_create('colors', 'color'), roaring64_dict_create('years', 'int4range');
SELECT roaring64_dict_encode('shorts', '{ab,abc}'::short[]), roaring64_dict_encode('colors', '{green,red}'::color[]), roaring64_dict_encode('years', '{"[1,3)","[1,2]"}'::int4range[]);
SELECT roaring64_dict_encode('shorts', '{abcde}'::text[]);
-- a domain over text is compared by its bytes, too; padded text is not, nor is a domain over it
CREATE DOMAIN shorter AS short CHECK (length(value) < 4);
CREATE DOMAIN padded AS char(3);
SELECT roaring64_dict_create('shorter_keys', 'shorter');
SELECT attrelid::regclass, attname, attcollation::regcollation FROM pg_attribute
WHERE attrelid IN ('shorts'::regclass, 'shorter_keys'::regclass) AND attname = 'key' ORDER BY 1;
SELECT roaring64_dict_drop('shorter_keys');
SELECT roaring64_dict_create('padded_keys', 'bpchar');
SELECT roaring64_dict_create('padded_keys', 'padded');
CREATE DOMAIN filled AS text NOT NULL;
SELECT roaring64_dict_create('filled_keys', 'filled');
SELECT roaring64_dict_encode('filled_keys', '{a,b}'::filled[]);
-- a domain over a domain, with a collation of its own
CREATE DOMAIN posix AS text COLLATE "POSIX";
CREATE DOMAIN shortest AS posix CHECK (length(value) < 3);
SELECT roaring64_dict_create('shortest_keys', 'shortest');
SELECT roaring64_dict_encode('shortest_keys', '{b,a}'::shortest[]), roaring64_dict_encode('shortest_keys', '{a,c,NULL}'::text[]);
SELECT roaring64_dict_lookup('shortest_keys', '{c,abc}'::posix[]), roaring64_dict_lookup('shorts', '{ab}'::shortest[]);
SELECT roaring64_dict_encode('shortest_keys', '{abc}'::text[]);
SELECT key, code FROM shortest_keys ORDER BY code;
SELECT roaring64_dict_drop('shortest_keys');
-- equality is the key's own, not that of a type to which it casts
SET client_min_messages = warning;
CREATE TYPE folded;
CREATE FUNCTION folded_in(cstring) RETURNS folded LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION folded_out(folded) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE TYPE folded (INPUT = folded_in, OUTPUT = folded_out, LIKE = text);
CREATE CAST (folded AS text) WITHOUT FUNCTION AS IMPLICIT;
CREATE FUNCTION folded_cmp(a folded, b folded) RETURNS integer LANGUAGE sql IMMUTABLE STRICT RETURN bttextcmp(lower(a::text), lower(b::text));
CREATE FUNCTION folded_lt(a folded, b folded) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT RETURN folded_cmp(a, b) < 0;
CREATE FUNCTION folded_eq(a folded, b folded) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT RETURN folded_cmp(a, b) = 0;
CREATE OPERATOR < (LEFTARG = folded, RIGHTARG = folded, FUNCTION = folded_lt);
CREATE OPERATOR = (LEFTARG = folded, RIGHTARG = folded, FUNCTION = folded_eq, COMMUTATOR = =, MERGES);
CREATE OPERATOR CLASS folded_ops DEFAULT FOR TYPE folded USING btree AS
	OPERATOR 1 <, OPERATOR 3 =, FUNCTION 1 folded_cmp(folded, folded);
SELECT roaring64_dict_create('names', 'folded');
SELECT roaring64_dict_encode('names', '{Bob,ann,bob,ANN}'::folded[]), roaring64_dict_encode('names', '{BOB,eve}'), roaring64_dict_lookup('names', '{Ann,EVE}'::folded[]);
SELECT * FROM names ORDER BY code;
DROP TABLE names;
DROP TYPE folded CASCADE;
RESET client_min_messages;
CREATE SCHEMA other;
SET search_path = other, public;
-- the table is made where the caller's other tables are
SELECT roaring64_dict_create('here', 'text');
RESET search_path;
SELECT roaring64_dict_drop('other.here');
DROP SCHEMA other;

-- refused
CREATE TYPE pair AS (a text, b text);
\set VERBOSITY terse
SELECT roaring64_dict_create('users', 'text');
SELECT roaring64_dict_create('a.b.c', 'text');
SELECT roaring64_dict_create('no such name', 'text');
SELECT roaring64_dict_create('nowhere.users', 'text');
\set VERBOSITY default
SELECT roaring64_dict_create('arrays', 'text[]');
SELECT roaring64_dict_create('composites', 'pair');
SELECT roaring64_dict_create('points', 'point');
SELECT roaring64_dict_create('anything', 'anyelement');
SELECT roaring64_dict_create('nothing', NULL);
SELECT roaring64_dict_create(NULL, 'text');
SELECT roaring64_dict_encode('users', '{{a,b},{c,d}}'::text[]);
SELECT roaring64_dict_encode('"x y"', '{nobody}'::text[]);
CREATE TABLE plain (key text PRIMARY KEY, code text);
SELECT roaring64_dict_encode('plain', '{a}'::text[]);
SELECT roaring64_dict_lookup('plain', '{a}'::text[]);
SELECT roaring64_dict_decode('plain', '{1}');
SELECT roaring64_dict_stats('plain');
SELECT roaring64_dict_drop('plain');
-- nor is a table of one's own that has the columns
CREATE TABLE products (key text PRIMARY KEY, code bigint);
SELECT roaring64_dict_drop('products');
SELECT roaring64_dict_drop('pg_class');
CREATE TABLE child () INHERITS (users);
SELECT roaring64_dict_encode('users', '{a}'::text[]);
DROP TABLE child;
INSERT INTO users VALUES ('mine', 7);
-- keys that a trigger leaves out are an error, not waited for
CREATE FUNCTION leave_out() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER leave_out BEFORE INSERT ON users FOR EACH ROW WHEN (new.key = 'left out') EXECUTE FUNCTION leave_out();
SELECT roaring64_dict_encode('users', '{a,left out}'::text[]);
DROP TRIGGER leave_out ON users;
DROP FUNCTION leave_out;

-- privileges are those of the table; what a policy hides is an error, not a second code
CREATE ROLE regress_roaring64_reader;
GRANT SELECT ON users TO regress_roaring64_reader;
SET ROLE regress_roaring64_reader;
SELECT roaring64_dict_lookup('users', '{a}'::text[]), roaring64_dict_encode('users', '{a}'::text[]);
SELECT roaring64_dict_encode('users', '{new}'::text[]);
SELECT roaring64_dict_drop('users');
RESET ROLE;
GRANT INSERT ON users TO regress_roaring64_reader;
ALTER TABLE users ENABLE ROW LEVEL SECURITY;
CREATE POLICY visible ON users FOR SELECT USING (key <> 'a');
CREATE POLICY writable ON users FOR INSERT WITH CHECK (true);
SET ROLE regress_roaring64_reader;
SELECT roaring64_dict_encode('users', '{b,by reader}'::text[]);
SELECT roaring64_dict_encode('users', '{a}'::text[]);
RESET ROLE;
DROP OWNED BY regress_roaring64_reader;
DROP ROLE regress_roaring64_reader;
ALTER TABLE users DISABLE ROW LEVEL SECURITY;

-- random batches beside a table of keys: order kept, each key one code, the codes
-- ascending with the keys of a batch, dense
SELECT roaring64_dict_create('random', 'text');
CREATE TABLE given (key text PRIMARY KEY, code bigint UNIQUE);
DO $$
DECLARE
	batch text[];
	codes bigint[];
	before bigint := 0;
BEGIN
	FOR i IN 1 .. 200 LOOP
		batch := ARRAY(SELECT nullif(md5((hashint4(i * 1000 + j) % (i * 20))::text), md5('0')) FROM generate_series(1, i % 40) AS j);
		codes := roaring64_dict_encode('random', batch);
		ASSERT cardinality(codes) = cardinality(batch);
		ASSERT NOT EXISTS (SELECT FROM unnest(batch, codes) AS b (key, code) JOIN given AS g ON g.key = b.key WHERE g.code IS DISTINCT FROM b.code);
		ASSERT NOT EXISTS (SELECT FROM unnest(batch, codes) AS b (key, code) WHERE (key IS NULL) <> (code IS NULL));
		ASSERT (SELECT array_agg(code ORDER BY key COLLATE "C") = array_agg(code ORDER BY code) AND coalesce(min(code) > before, true)
			FROM (SELECT DISTINCT key, code FROM unnest(batch, codes) AS b (key, code) WHERE code > before) AS new) IS NOT FALSE;
		INSERT INTO given SELECT DISTINCT key, code FROM unnest(batch, codes) AS b (key, code) WHERE key IS NOT NULL ON CONFLICT DO NOTHING;
		before := (SELECT max(code) FROM given);
		ASSERT roaring64_dict_lookup('random', batch) = codes;
		ASSERT (SELECT array_agg(key) IS NOT DISTINCT FROM (SELECT array_agg(DISTINCT k COLLATE "C") FROM unnest(batch) AS k WHERE k IS NOT NULL)
			FROM (SELECT key FROM roaring64_dict_decode('random', array_remove(codes, NULL)::roaring64) ORDER BY key COLLATE "C") AS d);
	END LOOP;
END $$;
SELECT count(*) > 1000 AS keys, max(code) = count(*) AS dense, count(*) = (SELECT count(*) FROM random NATURAL JOIN given) AS same FROM given;

-- a batch is looked up by the primary key, also where its keys are a tenth of all
SELECT roaring64_dict_create('many', 'uuid');
INSERT INTO many (key) SELECT md5(i::text)::uuid FROM generate_series(1, 20000) AS i;
ANALYZE many;
BEGIN;
SELECT cardinality(roaring64_dict_encode('many', array_agg(md5(i::text)::uuid))) FROM generate_series(19001, 21000) AS i;
SELECT seq_tup_read AS rows_scanned FROM pg_stat_xact_user_tables WHERE relname = 'many';
COMMIT;

-- types whose bare name has a length, and arrays of other types: two keys have two codes
SELECT roaring64_dict_create('bits', 'bit');
SELECT roaring64_dict_encode('bits', ARRAY[B'101', B'110']);
SELECT roaring64_dict_create('numbered', 'int');
CREATE DOMAIN numbered_type AS smallint;
SELECT roaring64_dict_encode('numbered', '{1,2}'::smallint[]), roaring64_dict_encode('numbered', '{3,2}'::int[]);
SELECT roaring64_dict_encode('numbered', '{1.2,1.4,1}'::numeric[]);
SELECT roaring64_dict_encode('numbered', '{1}'::bigint[]), roaring64_dict_encode('numbered', '{1}'::numbered_type[]);
-- or depends on settings
SELECT roaring64_dict_create('dates', 'date');
SELECT roaring64_dict_encode('dates', '{2020-01-01 12:00,2020-01-01 13:00}'::text[]);
SELECT roaring64_dict_encode('users', '{2020-01-01 12:00+00}'::timestamptz[]);
SELECT roaring64_dict_lookup('numbered', '{1}'::bigint[]);
SELECT roaring64_dict_encode('shorts', '{x,y}'::text[]), roaring64_dict_encode('shorts', '{x,z}'::varchar[]);

SELECT roaring64_dict_drop(name) FROM unnest('{bits,numbered,dates,filled_keys,users,many,"\"x y\"","\"a''b\"","\"100%\"","\"%1$s\"",shorts,colors,years,random}'::regclass[]) AS name;
DROP TABLE plain, products, given;
DROP DOMAIN shorter, short, padded, shortest, posix;
DROP TYPE color, pair;
