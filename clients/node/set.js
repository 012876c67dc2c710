'use strict';

const { inspect } = require('node:util');
const { read, group, write, LOWER } = require('./format.js');

const MIN_ID = -(2n ** 63n),
  MAX_ID = 2n ** 63n - 1n;
const FIRST_NEGATIVE = 2 ** 47; /* among elements without their lower 16 bits */
const SHORT = 20; /* ids that are shown */

/** @typedef {import('./format.js').Container} Container */
/** @typedef {bigint | number | string} Id  a number has to be a safe integer, a string decimal digits */

/**
 * An id as a bigint.  Throws a TypeError for what is not an integer, and a
 * RangeError for one that is not from -2^63 to 2^63 - 1.
 * @param {unknown} value
 * @returns {bigint}
 */
function toId(value) {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  const id = typeof value === 'string' && /^-?[0-9]+$/.test(value) ? BigInt(value) : value;
  if (typeof id !== 'bigint') {
    throw new TypeError(`${inspect(value)} is not an id: expected a bigint, a safe integer or its digits`);
  }
  if (id < MIN_ID || id > MAX_ID)
    throw new RangeError(`${id} is not an id: it is not from -2^63 to 2^63 - 1`);
  return id;
}

/**
 * The containers of bytes that have been read.  The sets that share an object of
 * bytes share what was read of it.
 * @type {WeakMap<Uint8Array, Container[]>}
 */
const known = new WeakMap();

/** @param {Uint8Array} bytes @returns {Container[]} by their elements in unsigned order */
function containersOf(bytes) {
  let containers = known.get(bytes);
  if (!containers) known.set(bytes, (containers = parse(bytes).containers));
  return containers;
}

/** @param {Uint8Array} bytes */
function parse(bytes) {
  try {
    return read(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  } catch (error) {
    throw new RangeError('these are not the bytes of a roaring64', { cause: error });
  }
}

/**
 * A set of ids, which are bigints with a sign, in ascending order.  All that it
 * has are its bytes, which are the same for the same ids: whatever compares or
 * copies objects by their properties compares or copies sets.  Do not change
 * them: sets are changed in SQL.
 */
class Roaring64Set {
  /** @param {Uint8Array} [bytes] in the portable format, which are copied; without them the set is empty */
  constructor(bytes = new Uint8Array(8)) {
    if (!(bytes instanceof Uint8Array)) throw new TypeError('the bytes of a roaring64 are a Uint8Array');
    const copy = new Uint8Array(bytes),
      { containers, isCanonical } = parse(copy);
    /** As the server has them. @type {Uint8Array} @readonly */
    this.bytes = isCanonical ? copy : write(containers);
    if (isCanonical) known.set(copy, containers);
  }

  /**
   * The set of some ids, in any order, or of what a copy or JSON has made of a set.
   * @param {Iterable<Id> | { bytes: Uint8Array }} ids
   * @returns {Roaring64Set}
   */
  static from(ids) {
    if (ids instanceof Roaring64Set) return ids;
    if (Object(ids).bytes instanceof Uint8Array) return new Roaring64Set(Object(ids).bytes);
    if (!isIterable(ids) || ids instanceof Map || ids instanceof Uint8Array) {
      throw new TypeError(`${inspect(ids)} is not a set of ids`);
    }
    const list = Array.isArray(ids) ? ids : [...ids];
    const values = new BigInt64Array(list.length);
    for (let i = 0; i < list.length; i++) values[i] = toId(list[i]);
    return new Roaring64Set(write(group(new BigUint64Array(values.buffer).sort())));
  }

  /**
   * The set of a text of the server's, {1,2,3} or \x and the bytes in hexadecimal.
   * @param {string} text
   * @returns {Roaring64Set}
   */
  static fromText(text) {
    if (text === '{}') return new Roaring64Set();
    if (text.startsWith('{') && text.endsWith('}')) return Roaring64Set.from(text.slice(1, -1).split(','));
    const bytes = Buffer.from(text.slice(2), 'hex'); /* up to what is no digit */
    if (!text.startsWith('\\x') || 2 * bytes.length + 2 !== text.length) {
      throw new RangeError('the text of a roaring64 is {1,2,3}, or \\x and hexadecimal digits');
    }
    return new Roaring64Set(bytes);
  }

  /** How many ids there are. @returns {number} */
  get size() {
    return containersOf(this.bytes).reduce((sum, { count }) => sum + count, 0);
  }

  /** Whether an id is in the set. @param {Id} id @returns {boolean} */
  has(id) {
    const element = BigInt.asUintN(64, toId(id)),
      prefix = Number(element >> 16n),
      containers = containersOf(this.bytes),
      container = containers[search(containers, prefix)];
    return container?.prefix === prefix && container.lows().includes(Number(element & 0xffffn));
  }

  /** @returns {Generator<bigint, void, undefined>} the ids, ascending */
  *[Symbol.iterator]() {
    const containers = containersOf(this.bytes),
      negative = search(containers, FIRST_NEGATIVE);
    for (const { prefix, lows } of [...containers.slice(negative), ...containers.slice(0, negative)]) {
      const list = lows(),
        ids = new BigInt64Array(list.length),
        halves = new Uint32Array(ids.buffer);
      for (let i = 0; i < list.length; i++) {
        halves[2 * i + LOWER] = (prefix % 65536) * 65536 + list[i];
        halves[2 * i + 1 - LOWER] = Math.floor(prefix / 65536);
      }
      yield* ids;
    }
  }

  /** A text that the server reads, the same for the same ids. @returns {string} */
  toString() {
    return this.size <= SHORT ? `{${[...this]}}` : `\\x${Buffer.from(this.bytes).toString('hex')}`;
  }

  /** The ids as strings: a number of JSON is rounded beyond 2^53. @returns {string[]} */
  toJSON() {
    return Array.from(this, String);
  }

  /** What node-postgres sends. @returns {string} */
  toPostgres() {
    return toText(this);
  }

  [inspect.custom]() {
    return `Roaring64Set(${this.size}) ${this.size <= SHORT ? this : '{...}'}`;
  }
}

/** @param {unknown} ids @returns {ids is Iterable<Id>} of objects */
function isIterable(ids) {
  return typeof ids === 'object' && ids !== null && Symbol.iterator in ids;
}

/**
 * The text of a set or of ids, for a driver to send; and for anything else a text
 * that the server refuses.  It does not throw: postgres.js gives the results of
 * later queries to earlier ones if a serializer does.
 * @param {unknown} value
 * @returns {string}
 */
function toText(value) {
  try {
    return typeof value === 'string' ? value : String(Roaring64Set.from(/** @type {any} */ (value)));
  } catch (error) {
    return `not a set: ${error}`.replaceAll('\0', '');
  }
}

/** Where a prefix is among containers, or would be. @param {Container[]} containers @param {number} prefix */
function search(containers, prefix) {
  let low = 0,
    high = containers.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (containers[middle].prefix < prefix) low = middle + 1;
    else high = middle;
  }
  return low;
}

module.exports = { Roaring64Set, toText };
