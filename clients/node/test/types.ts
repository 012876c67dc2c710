import pg = require('pg');
import postgres = require('postgres');
import { Roaring64Set, claim, register } from 'roaring64';

/* What a program may write, which TypeScript checks; it is not run. */
async function withPg(client: pg.PoolClient): Promise<bigint[]> {
  new pg.Pool({ onConnect: register } as pg.PoolConfig);
  await register(client);
  const set: Roaring64Set = Roaring64Set.from([1, 2n]);
  await client.query('UPDATE inbox SET read = read | $1', [set]);
  const isNew: boolean = await claim(client, 'processed', 'payments', 7001n);
  await claim(client, 'processed', 'payments', isNew ? { uuid: 'a' } : 'text');
  const ids: BigInt64Array = Roaring64Set.fromBytes(set.toBytes()).toArray();
  return set.has(5) || set.size > 2 ? [...set] : [...ids];
}

async function withPostgres(sql: postgres.Sql): Promise<void> {
  await register(sql);
  await sql`SELECT ${sql.typed(Roaring64Set.from(new Set([1n])) as never, 0)}`;
  await sql.begin(async (tx) => claim(tx, 'processed', 'payments', 7001));
}

/* And what it may not. */
async function wrong(client: pg.PoolClient): Promise<void> {
  // @ts-expect-error a text is no id of a set
  Roaring64Set.from(['1']);
  // @ts-expect-error nor is it bytes
  Roaring64Set.fromBytes('00');
  // @ts-expect-error a date is no id of a claim
  await claim(client, 'processed', 'payments', new Date());
  // @ts-expect-error a set does not change
  Roaring64Set.from([]).size = 1;
}

export { withPg, withPostgres, wrong };
