-- src/delay/: messages for later, in a table of sets.  What changes a table is
-- volatile and leaves its statement to one process; what looks at one sees what
-- the calling statement sees, and the table may be a temporary one.
--

CREATE FUNCTION roaring64_delay_create(name text, bucket_bits integer DEFAULT 10)
RETURNS regclass
AS 'MODULE_PATHNAME', 'roaring64_delay_create'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_delay_create(text, integer) IS
'makes a table of delayed messages, with time buckets of 2^bucket_bits ms';

CREATE FUNCTION roaring64_delay_drop(delay regclass)
RETURNS void
AS 'MODULE_PATHNAME', 'roaring64_delay_drop'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_delay_drop(regclass) IS
'drops a table of delayed messages';

CREATE FUNCTION roaring64_delay_add(delay regclass, ledger bigint, entry bigint,
									due bigint)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_delay_add'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_delay_add(regclass, bigint, bigint, bigint) IS
'adds a message that is due so many ms after 1970; false if it is there';

CREATE FUNCTION roaring64_delay_add(delay regclass, ledger bigint, entry bigint,
									due timestamptz)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_delay_add_timestamp'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_delay_add(regclass, bigint, bigint, timestamptz) IS
'adds a message; false if it is there';

CREATE FUNCTION roaring64_delay_add(delay regclass, ledgers bigint[],
									entries bigint[], due bigint[])
RETURNS void
AS 'MODULE_PATHNAME', 'roaring64_delay_add_batch'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_delay_add(regclass, bigint[], bigint[], bigint[]) IS
'adds messages that are due so many ms after 1970';

CREATE FUNCTION roaring64_delay_add(delay regclass, ledgers bigint[],
									entries bigint[], due timestamptz[])
RETURNS void
AS 'MODULE_PATHNAME', 'roaring64_delay_add_batch_timestamp'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_delay_add(regclass, bigint[], bigint[], timestamptz[]) IS
'adds messages';

-- not STRICT: a limit of NULL is no limit
CREATE FUNCTION roaring64_delay_take(delay regclass, until bigint,
									 "limit" bigint DEFAULT NULL,
									 OUT bucket bigint, OUT ledger bigint,
									 OUT entry bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'roaring64_delay_take'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100 ROWS 1000;
COMMENT ON FUNCTION roaring64_delay_take(regclass, bigint, bigint) IS
'removes and returns messages that are due so many ms after 1970';

CREATE FUNCTION roaring64_delay_take(delay regclass, until timestamptz DEFAULT now(),
									 "limit" bigint DEFAULT NULL,
									 OUT bucket bigint, OUT ledger bigint,
									 OUT entry bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'roaring64_delay_take_timestamp'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 100 ROWS 1000;
COMMENT ON FUNCTION roaring64_delay_take(regclass, timestamptz, bigint) IS
'removes and returns messages that are due';

CREATE FUNCTION roaring64_delay_cancel(delay regclass, ledger bigint,
									   entry bigint, due bigint)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_delay_cancel'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_delay_cancel(regclass, bigint, bigint, bigint) IS
'removes a message; false if it is not there';

CREATE FUNCTION roaring64_delay_cancel(delay regclass, ledger bigint,
									   entry bigint, due timestamptz)
RETURNS boolean
AS 'MODULE_PATHNAME', 'roaring64_delay_cancel_timestamp'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_delay_cancel(regclass, bigint, bigint, timestamptz) IS
'removes a message; false if it is not there';

CREATE FUNCTION roaring64_delay_cancel(delay regclass, ledger bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_delay_cancel_ledger'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 100;
COMMENT ON FUNCTION roaring64_delay_cancel(regclass, bigint) IS
'removes the messages of a ledger; how many';

CREATE FUNCTION roaring64_delay_next_due(delay regclass)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_delay_next_due'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION roaring64_delay_next_due(regclass) IS
'when the first message is due, in ms after 1970';

CREATE FUNCTION roaring64_delay_count(delay regclass)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_delay_count'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION roaring64_delay_count(regclass) IS
'how many messages wait';

CREATE FUNCTION roaring64_delay_count(delay regclass, until bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_delay_count_until'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION roaring64_delay_count(regclass, bigint) IS
'how many messages are due so many ms after 1970';

CREATE FUNCTION roaring64_delay_count(delay regclass, until timestamptz)
RETURNS bigint
AS 'MODULE_PATHNAME', 'roaring64_delay_count_timestamp'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED COST 100;
COMMENT ON FUNCTION roaring64_delay_count(regclass, timestamptz) IS
'how many messages are due';
