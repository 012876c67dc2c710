'use strict';

/*
 * A million ids as a roaring64 and as a bigint[], out and in, by each driver.
 *
 * usage: node benchmark.js
 *
 * PGHOST and so on name the server.  Prints medians of five in milliseconds.  A
 * set arrives as a Roaring64Set, "ids" are an array of its bigints, and an array is
 * what the driver makes of bigint[], strings.
 */

const pg = require('pg');
const postgres = require('postgres');
const { Roaring64Set, register } = require('.');

async function median(run) {
  const times = [];
  for (let i = 0; i < 5; i++) {
    const began = process.hrtime.bigint();
    await run();
    times.push(Number(process.hrtime.bigint() - began) / 1e6);
  }
  return times.sort((a, b) => a - b)[2].toFixed(1);
}

async function main() {
  const ids = new Set();
  while (ids.size < 1e6) ids.add(BigInt(Math.floor(Math.random() * 1e7) - 5e6));
  const array = [...ids].sort((a, b) => Number(a - b));
  const set = Roaring64Set.from(array);
  const client = new pg.Client();
  await client.connect();
  const sql = postgres({ max: 1 });
  const queries = {
    'node-postgres': async (text, values) => (await client.query(text, values)).rows,
    'postgres.js': async (text, values) => sql.unsafe(text, values, { prepare: true }),
  };
  await register(client);
  await register(sql);
  console.log(
    '| driver | out: set | and ids | bigint[] | in: set | from ids | bigint[] |\n|---|---|---|---|---|---|---|',
  );
  for (const [name, query] of Object.entries(queries)) {
    const sent = (type, value) => query(`SELECT $1::${type} IS NULL`, [value()]);
    await query('CREATE TEMP TABLE t (read roaring64, ids bigint[])');
    await query('INSERT INTO t VALUES ($1::roaring64, $1::roaring64::bigint[])', [set]);
    const times = [
      await median(() => query('SELECT read FROM t', [])),
      await median(async () => [...(await query('SELECT read FROM t', []))[0].read]),
      await median(() => query('SELECT ids FROM t', [])),
      await median(() => sent('roaring64', () => set)),
      await median(() => sent('roaring64', () => Roaring64Set.from(array))),
      await median(() => sent('bigint[]', () => (name === 'postgres.js' ? sql.array(array, 20) : array))),
    ];
    console.log(`| ${name} | ${times.join(' | ')} |`);
  }
  const { rows } = await client.query('SELECT length(read::text) AS set, length(ids::text) AS array FROM t');
  console.log(`\nBytes: ${rows[0].set} and ${rows[0].array}; in binary ${set.bytes.length}.`);
  await client.end();
  await sql.end();
}

main();
