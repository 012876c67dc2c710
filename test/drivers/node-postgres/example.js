/*
 * example.js
 *	  roaring64 with JavaScript: node-postgres and roaring-wasm.
 *
 * Connects as libpq would (PGHOST, PGDATABASE and so on) and wants
 * CREATE EXTENSION roaring64 to have been done.
 *
 * The Roaring libraries for JavaScript have sets of 32-bit numbers only.  A
 * roaring64 is made of such sets, one for each of the upper 32 bits that occur:
 * roaring64_split(set, 32) gives them as rows, and after the first 12 bytes of
 * each (how many sets follow, which is 1, and the upper 32 bits) is a 32-bit
 * set in the format that RoaringBitmap32 reads and writes.
 */
const assert = require('node:assert/strict');
const pg = require('pg');
const { RoaringBitmap32 } = require('roaring-wasm');

/* A Map from the upper 32 bits, a signed number, to the set of lower ones. */
async function readSet(client, id) {
  const { rows } = await client.query(
    `SELECT chunk, substr(members::bytea, 13) AS bytes
     FROM readers, roaring64_split(read, 32) WHERE id = $1`, [id]);
  return new Map(rows.map(({ chunk, bytes }) =>
    [Number(chunk), RoaringBitmap32.deserialize(bytes, 'portable')]));
}

/* The bytes of such a Map.  Sets are in the order of their upper bits, unsigned. */
function toBytes(set) {
  const count = Buffer.alloc(8);
  count.writeBigUInt64LE(BigInt(set.size));
  const buckets = [...set].map(([upper, bitmap]) => [upper >>> 0, bitmap])
    .sort(([a], [b]) => a - b)
    .flatMap(([upper, bitmap]) => {
      const key = Buffer.alloc(4);
      key.writeUInt32LE(upper);
      return [key, bitmap.serialize('portable')];
    });
  return Buffer.concat([count, ...buckets]);
}

async function main() {
  const client = new pg.Client();
  await client.connect();
  await client.query('CREATE TEMP TABLE readers (id int PRIMARY KEY, read roaring64)');

  /* As text: what psql shows. */
  await client.query('INSERT INTO readers VALUES (1, $1)', ['{1,2,3}']);
  const text = await client.query('SELECT read FROM readers WHERE id = 1');
  assert.equal(text.rows[0].read, '{1,2,3}');
  console.log('ok - text');

  /* An array parameter, and an element.  bigint comes back as a string. */
  await client.query('INSERT INTO readers VALUES (2, $1::bigint[])', [[10n, 2n, 10n, -1n]]);
  const array = await client.query(
    'SELECT read::bigint[] AS array, read @> $1::bigint AS has FROM readers WHERE id = 2', [10]);
  assert.deepEqual(array.rows[0], { array: ['-1', '2', '10'], has: true });
  console.log('ok - array');

  /*
   * As bytes: the portable format, which other programs read and write too.  A
   * Buffer is sent in binary format, in which a roaring64 is its bytes.
   */
  const { rows: [{ bytes }] } = await client.query(
    'SELECT read::bytea AS bytes FROM readers WHERE id = 2');
  await client.query('INSERT INTO readers VALUES (3, $1::roaring64)', [bytes]);
  const { rows: [{ same }] } = await client.query(
    'SELECT a.read = b.read AS same FROM readers a, readers b WHERE a.id = 2 AND b.id = 3');
  assert.ok(bytes.length > 8 && same);
  console.log('ok - bytes');

  /* As RoaringBitmap32, here two, for the upper bits 0 and -1. */
  const evens = new RoaringBitmap32();
  for (let i = 0; i < 2_000_000; i += 2) evens.add(i);
  const minusOne = new RoaringBitmap32([0xffffffff]);
  await client.query('INSERT INTO readers VALUES (4, $1::roaring64)',
    [toBytes(new Map([[-1, minusOne], [0, evens]]))]);
  const { rows: [{ count, has }] } = await client.query(
    'SELECT roaring64_cardinality(read) AS count, read @> -1 AS has FROM readers WHERE id = 4');
  assert.deepEqual([count, has], ['1000001', true]);
  const set = await readSet(client, 4);
  assert.deepEqual([...set.keys()].sort(), [-1, 0]);
  assert.ok(set.get(0).isEqual(evens) && set.get(-1).isEqual(minusOne));
  console.log('ok - own type');

  /* They live in WebAssembly's memory, which is not collected. */
  for (const bitmap of [evens, minusOne, ...set.values()]) bitmap.dispose();
  await client.end();
}

main();
