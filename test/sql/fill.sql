--
-- Templates of statements (_roaring64_fill): filled in one pass, and what is filled in is
-- not looked at again.
--
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS roaring64;
\pset format unaligned
\pset tuples_only on
\set SHOW_CONTEXT never
SELECT _roaring64_fill('{a} [sets: x{n} = {set} AND ...] {} [] [a] int[] {B} [keys: {k}, ...] ''{}'' {a}',
	'{"a": "{b} [keys: {k}, ...]", "sets": [{"n": 1, "set": "{a}"}, {"n": 2, "set": "[]"}], "keys": [{"k": 1}, {"k": 2}]}');
-- what stands between the entries
SELECT _roaring64_fill(E'[l: {k} OR ...] ([l: {k} ...]) [l: a\n{k}, ...]', '{"l": [{"k": 1}, {"k": 2}]}');
-- an entry's values go before the others
SELECT _roaring64_fill('{k}[l: {k} {other}, ...]', '{"l": [{"k": 1}, {"k": 2, "other": 4}], "k": "-", "other": 3}');
SELECT _roaring64_fill('([l: {k}, ...])', '{"l": []}');
SELECT _roaring64_fill('', '{}');
-- no value
SELECT _roaring64_fill('{none}', '{}');
SELECT _roaring64_fill('{none}', '{"none": null}');
SELECT _roaring64_fill('[none: {n}, ...]', '{"n": 1}');
SELECT _roaring64_fill('[l: {n}{none}, ...]', '{"l": [{"n": 1}]}');
