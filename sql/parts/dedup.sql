--
-- src/dedup/: the dedup helper.  Nothing here is strict: what is NULL and must
-- not be is an error, lest a claim that was never made look like one.  What
-- only reads is STABLE and can be called on a standby.
--

CREATE FUNCTION roaring64_dedup_create(name text,
									   capacity bigint DEFAULT NULL,
									   remember interval DEFAULT NULL,
									   generations integer DEFAULT 2,
									   layout text DEFAULT 'plain',
									   chunk_bits integer DEFAULT NULL,
									   ascending boolean DEFAULT false,
									   fold_after integer DEFAULT NULL)
RETURNS regclass
AS 'MODULE_PATHNAME', 'roaring64_dedup_create'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_create(text, bigint, interval, integer, text, integer, boolean, integer) IS
'makes the tables of a dedup set';

CREATE FUNCTION roaring64_dedup_alter(set regclass,
									  capacity bigint DEFAULT NULL,
									  remember interval DEFAULT NULL,
									  generations integer DEFAULT NULL,
									  ascending boolean DEFAULT NULL,
									  fold_after integer DEFAULT NULL)
RETURNS void
AS 'MODULE_PATHNAME', 'roaring64_dedup_alter'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_alter(regclass, bigint, interval, integer, boolean, integer) IS
'changes options of a dedup set';

CREATE FUNCTION roaring64_dedup_drop(set regclass)
RETURNS void
AS 'MODULE_PATHNAME', 'roaring64_dedup_drop'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_drop(regclass) IS
'drops the tables of a dedup set';

CREATE FUNCTION roaring64_dedup_claim(set regclass, key text, id bigint)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_dedup_claim'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_claim(regclass, text, bigint) IS
'claims an id: true if it is new, NULL if it is too old to tell';

CREATE FUNCTION roaring64_dedup_claim(set regclass, key text, ids bigint[])
RETURNS bigint[]
AS 'MODULE_PATHNAME', 'roaring64_dedup_claim_batch'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_claim(regclass, text, bigint[]) IS
'claims ids: those that are new';

CREATE FUNCTION roaring64_dedup_claim_bulk(set regclass, key text, ids bigint[])
RETURNS bigint[]
AS 'MODULE_PATHNAME', 'roaring64_dedup_claim_bulk'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_claim_bulk(regclass, text, bigint[]) IS
'claims ids for the owner of a key: those that are new';

CREATE FUNCTION roaring64_dedup_seen(set regclass, key text, id bigint)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_dedup_seen'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION roaring64_dedup_seen(regclass, text, bigint) IS
'whether an id is remembered, NULL if it is too old to tell';

CREATE FUNCTION roaring64_dedup_seen(set regclass, key text, ids bigint[])
RETURNS boolean[]
AS 'MODULE_PATHNAME', 'roaring64_dedup_seen_batch'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION roaring64_dedup_seen(regclass, text, bigint[]) IS
'whether ids are remembered';

CREATE FUNCTION roaring64_dedup_forget(set regclass, key text, id bigint)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_dedup_forget'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_forget(regclass, text, bigint) IS
'makes an id new again: whether it was remembered';

CREATE FUNCTION roaring64_dedup_forget(set regclass, key text, ids bigint[])
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_dedup_forget_batch'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_forget(regclass, text, bigint[]) IS
'makes ids new again: how many were remembered';

CREATE FUNCTION roaring64_dedup_add(set regclass, key text, id bigint)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_dedup_add'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_add(regclass, text, bigint) IS
'adds an id to its chunk: whether it was not there';

CREATE FUNCTION roaring64_dedup_add(set regclass, key text, ids bigint[])
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_dedup_add_batch'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_add(regclass, text, bigint[]) IS
'adds ids to their chunks: how many were not there';

CREATE FUNCTION roaring64_dedup_count(set regclass, key text)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_dedup_count'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION roaring64_dedup_count(regclass, text) IS
'how many ids of a key are remembered';

CREATE FUNCTION roaring64_dedup_is_empty(set regclass, key text)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_dedup_is_empty'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION roaring64_dedup_is_empty(regclass, text) IS
'whether no id of a key is remembered';

CREATE FUNCTION roaring64_dedup_load(set regclass, key text, ids roaring64)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_dedup_load'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_load(regclass, text, roaring64) IS
'remembers all ids of a set: how many were new';

CREATE FUNCTION roaring64_dedup_export(set regclass, key text)
RETURNS roaring64
AS 'MODULE_PATHNAME', 'roaring64_dedup_export'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION roaring64_dedup_export(regclass, text) IS
'all ids of a key that are remembered';

CREATE FUNCTION roaring64_dedup_stats(set regclass,
									  OUT keys bigint,
									  OUT claims bigint,
									  OUT chunks bigint,
									  OUT ids bigint,
									  OUT bytes bigint,
									  OUT bytes_per_id double precision,
									  OUT oldest_generation bigint,
									  OUT oldest_claim timestamp with time zone)
RETURNS record
AS 'MODULE_PATHNAME', 'roaring64_dedup_stats'
LANGUAGE C STABLE PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION roaring64_dedup_stats(regclass) IS
'what a dedup set has, and what it takes';

CREATE FUNCTION roaring64_dedup_trigger()
RETURNS trigger
AS 'MODULE_PATHNAME', 'roaring64_dedup_trigger'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_dedup_trigger() IS
'claims the ids of rows that are inserted';

CREATE PROCEDURE roaring64_dedup_fold(set regclass)
AS 'MODULE_PATHNAME', 'roaring64_dedup_fold'
LANGUAGE C;
COMMENT ON PROCEDURE roaring64_dedup_fold(regclass) IS
'moves committed claims into chunks';

CREATE PROCEDURE roaring64_dedup_rotate(set regclass)
AS 'MODULE_PATHNAME', 'roaring64_dedup_rotate'
LANGUAGE C;
COMMENT ON PROCEDURE roaring64_dedup_rotate(regclass) IS
'forgets what is past the window';
