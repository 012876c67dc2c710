import pg = require('pg');
import postgres = require('postgres');
import { Roaring64Set, register } from 'roaring64';

/* What a program may write, which TypeScript checks; it is not run. */
async function withPg(pool: pg.Pool, client: pg.PoolClient): Promise<bigint[]> {
  await register(pool);
  await register(client);
  const set: Roaring64Set = Roaring64Set.from([1, 2n, '3']);
  await client.query('UPDATE inbox SET read = read | $1', [set]);
  const copy: Roaring64Set = Roaring64Set.from(structuredClone(set));
  return set.has(5) || set.size > 2 ? [...set] : [...new Roaring64Set(copy.bytes)];
}

async function withPostgres(sql: postgres.Sql): Promise<void> {
  await register(sql);
  await sql`SELECT ${sql.typed(Roaring64Set.from(new Set([1n])) as never, 0)}`;
}

/* And what it may not. */
async function wrong(sql: postgres.Sql): Promise<void> {
  // @ts-expect-error a date is not an id
  Roaring64Set.from([new Date()]);
  // @ts-expect-error bytes are not text
  new Roaring64Set('00');
  // @ts-expect-error a set does not change
  Roaring64Set.from([]).size = 1;
  // @ts-expect-error nor do its bytes
  Roaring64Set.from([]).bytes = new Uint8Array(8);
  // @ts-expect-error a text is not a connection
  await register('postgres://');
}

export { withPg, withPostgres, wrong };
