'use strict';

/*
 * Each ORM writes a set, changes it to another of the same size, and reads that: as
 * README says it is done.  One that is not installed is left out: test/run-node has
 * all.
 */

const assert = require('node:assert/strict');
const { before, test } = require('node:test');
const pg = require('pg');
const postgres = require('postgres');
const { Roaring64Set, register } = require('..');
const { Random, another } = require('./random.js');
const { atEnd, connect, ready } = require('./server.js');

const FIRST = Roaring64Set.from([1, 2]);
const SECOND = Roaring64Set.from([1, 3]);
let admin;

before(async () => {
  await ready;
  admin = await connect();
  atEnd(() => admin.end());
  await admin.query('CREATE TABLE inbox (id int PRIMARY KEY, read roaring64)');
});

/* The address of the server for those that do not look at PGHOST. */
const address = () => ({
  host: process.env.PGHOST,
  port: Number(process.env.PGPORT ?? 5432),
  database: process.env.PGDATABASE,
});

const fromDriver = (value) => (typeof value === 'string' ? Roaring64Set.fromText(value) : value);

/* What each needs, and work(id, ...) with them, which gives the set that it reads last. */
const orms = {
  knex: [
    ['knex'],
    async (id, makeKnex) => {
      const knex = knexOf(makeKnex);
      await knex('inbox').insert({ id, read: FIRST });
      await knex('inbox').where({ id }).update({ read: SECOND });
      const { read } = await knex('inbox').where({ id }).first();
      await knex.destroy();
      return read;
    },
  ],
  Objection: [
    ['knex', 'objection'],
    async (id, makeKnex, { Model }) => {
      class Inbox extends Model {
        static tableName = 'inbox';
      }
      const knex = knexOf(makeKnex);
      Inbox.knex(knex);
      await Inbox.query().insert({ id, read: FIRST });
      const object = await Inbox.query().findById(id);
      assert.deepEqual(object.$clone().read, FIRST);
      await object.$query().patch({ read: SECOND });
      const { read } = await Inbox.query().findById(id);
      await knex.destroy();
      return read;
    },
  ],
  Kysely: [
    ['kysely'],
    async (id, { Kysely, PostgresDialect }) => {
      const pool = new pg.Pool();
      await register(pool);
      const db = new Kysely({ dialect: new PostgresDialect({ pool }) });
      await db.insertInto('inbox').values({ id, read: FIRST }).execute();
      await db.updateTable('inbox').set({ read: SECOND }).where('id', '=', id).execute();
      const { read } = await db.selectFrom('inbox').selectAll().where('id', '=', id).executeTakeFirst();
      await db.destroy();
      return read;
    },
  ],
  'Drizzle, node-postgres': [
    ['drizzle-orm/node-postgres', 'drizzle-orm/pg-core', 'drizzle-orm'],
    async (id, { drizzle }, core, { eq }) => {
      const pool = new pg.Pool();
      const read = await withDrizzle(id, drizzle(pool), core, eq);
      await pool.end();
      return read;
    },
  ],
  'Drizzle, postgres.js': [
    ['drizzle-orm/postgres-js', 'drizzle-orm/pg-core', 'drizzle-orm'],
    async (id, { drizzle }, core, { eq }) => {
      const sql = postgres({ max: 2 });
      await register(sql);
      const read = await withDrizzle(id, drizzle(sql), core, eq);
      await sql.end();
      return read;
    },
  ],
  Sequelize: [
    ['sequelize'],
    async (id, modules) => {
      const { sequelize, Inbox } = withSequelize(modules);
      await Inbox.create({ id, read: FIRST });
      const object = await Inbox.findByPk(id);
      object.read = Roaring64Set.from([2, 1]);
      assert.ok(!object.changed('read'));
      object.read = SECOND;
      assert.ok(object.changed('read'));
      await object.save();
      const { read } = await Inbox.findByPk(id);
      await sequelize.close();
      return read;
    },
  ],
  TypeORM: [
    ['reflect-metadata', 'typeorm'],
    async (id, _, { DataSource, EntitySchema }) => {
      const Inbox = new EntitySchema({
        name: 'inbox',
        columns: {
          id: { type: 'int', primary: true },
          read: { type: 'text', nullable: true, transformer: { to: (set) => set, from: fromDriver } },
        },
      });
      const source = new DataSource({
        type: 'postgres',
        ...address(),
        username: process.env.PGUSER,
        entities: [Inbox],
      });
      await source.initialize();
      const inbox = source.getRepository('inbox');
      await inbox.save({ id, read: FIRST });
      const object = await inbox.findOneBy({ id });
      object.read = SECOND;
      await inbox.save(object);
      const { read } = await inbox.findOneBy({ id });
      await source.destroy();
      return read;
    },
  ],
  MikroORM: [
    ['@mikro-orm/postgresql'],
    async (id, { EntitySchema, MikroORM, Type }) => {
      class Roaring64Type extends Type {
        getColumnType() {
          return 'roaring64';
        }
        convertToDatabaseValue(value) {
          return value && String(value);
        }
        convertToJSValue(value) {
          return fromDriver(value);
        }
      }
      const Inbox = new EntitySchema({
        name: 'Inbox',
        tableName: 'inbox',
        properties: { id: { type: 'number', primary: true }, read: { type: Roaring64Type, nullable: true } },
      });
      const { database: dbName, ...where } = address();
      const orm = await MikroORM.init({ entities: [Inbox], dbName, ...where, user: process.env.PGUSER });
      let em = orm.em.fork();
      em.create('Inbox', { id, read: FIRST });
      await em.flush();
      em = orm.em.fork();
      (await em.findOne('Inbox', id)).read = SECOND;
      await em.flush();
      const { read } = await orm.em.fork().findOne('Inbox', id);
      await orm.close();
      return read;
    },
  ],
  Prisma: [
    ['@prisma/client', '@prisma/adapter-pg'],
    async (id, { PrismaClient }, { PrismaPg }) => {
      const prisma = new PrismaClient({ adapter: new PrismaPg({ ...address(), user: process.env.PGUSER }) });
      await prisma.$executeRaw`INSERT INTO inbox VALUES (${id}, ${FIRST})`;
      await prisma.$executeRaw`UPDATE inbox SET read = ${SECOND} WHERE id = ${id}`;
      const [{ read }] = await prisma.$queryRaw`SELECT read FROM inbox WHERE id = ${id}`;
      await prisma.$disconnect();
      return Roaring64Set.fromText(read);
    },
  ],
  'pg-promise': [
    ['pg-promise'],
    async (id, makePgp) => {
      const db = makePgp()({});
      await register(db.$pool);
      await db.none('INSERT INTO inbox VALUES ($1, $2)', [id, FIRST]);
      await db.none('UPDATE inbox SET read = $2 WHERE id = $1', [id, SECOND]);
      const { read } = await db.one('SELECT read FROM inbox WHERE id = $1', [id]);
      await db.$pool.end();
      return read;
    },
  ],
};

function withSequelize({ DataTypes, Sequelize }) {
  /* fields, as super() gives an object of another class: methods would be lost */
  class ROARING64 extends DataTypes.ABSTRACT {
    static key = 'roaring64';
    key = 'roaring64';
    _stringify = String;
  }
  const username = process.env.PGUSER;
  const sequelize = new Sequelize({ dialect: 'postgres', ...address(), username, logging: false });
  sequelize.addHook('afterConnect', register);
  const Inbox = sequelize.define(
    'inbox',
    { id: { type: DataTypes.INTEGER, primaryKey: true }, read: new ROARING64() },
    { tableName: 'inbox', timestamps: false },
  );
  return { sequelize, Inbox };
}

function knexOf(makeKnex) {
  const afterCreate = (client, done) => register(client).then(() => done(null, client), done);
  return makeKnex({ client: 'pg', connection: address(), pool: { min: 0, max: 2, afterCreate } });
}

async function withDrizzle(id, db, { customType, integer, pgTable }, eq) {
  const roaring64 = customType({ dataType: () => 'roaring64', toDriver: String, fromDriver });
  const inbox = pgTable('inbox', { id: integer('id').primaryKey(), read: roaring64('read') });
  await db.insert(inbox).values({ id, read: FIRST });
  await db.update(inbox).set({ read: SECOND }).where(eq(inbox.id, id));
  return (await db.select().from(inbox).where(eq(inbox.id, id)))[0].read;
}

Object.entries(orms).forEach(([name, [packages, work]], id) => {
  test(`${name} writes a set of the same size and reads it back`, async (t) => {
    let modules;
    try {
      modules = await Promise.all(packages.map((each) => import(each)));
    } catch (error) {
      if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
      return t.skip('is not installed');
    }
    assert.deepEqual(
      await work(
        id,
        ...modules.map((module, i) =>
          ['knex', 'pg-promise', '@prisma/client'].includes(packages[i]) ? module.default : module,
        ),
      ),
      SECOND,
    );
    const { rows } = await admin.query('SELECT read::text FROM inbox WHERE id = $1', [id]);
    assert.equal(rows[0]?.read, '{1,3}');
  });
});

test('1,000 random sets are what an ORM reads, writes, and sees changed to others of the size', async (t) => {
  const modules = await import('sequelize').catch((error) => {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
  });
  if (!modules) return t.skip('Sequelize is not installed');
  const { sequelize, Inbox } = withSequelize(modules);
  const random = new Random(11);
  const lists = Array.from({ length: 1000 }, (_, i) => (i % 50 ? random.few() : random.ids()));
  const rows = lists.map((ids, i) => ({ id: 1000 + i, read: Roaring64Set.from(ids) }));
  await Inbox.bulkCreate(rows);
  const objects = await Inbox.findAll({ where: { id: rows.map(({ id }) => id) }, order: ['id'] });
  let changed = 0;
  for (const [i, object] of objects.entries()) {
    assert.deepEqual(object.read, rows[i].read);
    object.read = Roaring64Set.from(lists[i]);
    assert.ok(!object.changed('read'));
    if (!lists[i].length) continue;
    object.read = rows[i].read = another(lists[i]);
    assert.ok(object.changed('read'));
    await object.save();
    changed++;
  }
  const { rows: stored } = await admin.query('SELECT read::text FROM inbox WHERE id >= 1000 ORDER BY id');
  assert.deepEqual(
    stored.map(({ read }) => Roaring64Set.fromText(read)),
    rows.map(({ read }) => read),
  );
  await sequelize.close();
  t.diagnostic(`${objects.length} sets, ${changed} changed to others of the size`);
});
