'use strict';

const { inspect } = require('node:util');
const { findContainers, readContainer, write, LOWER, FIRST_NEGATIVE } = require('./format.js');

const MIN_ID = -(2n ** 63n),
  MAX_ID = 2n ** 63n - 1n;
const SHORT = 20; /* ids that are shown, or sent as they are */

/** @typedef {import('./format.js').Container} Container */
/** @typedef {bigint | number} Id a number has to be a safe integer */

/**
 * An id as a bigint.  Throws a TypeError for what is no integer, and a RangeError
 * for one that is not from -2^63 to 2^63 - 1.
 * @param {unknown} value
 * @returns {bigint}
 */
function toId(value) {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  if (typeof value !== 'bigint') {
    throw new TypeError(`${inspect(value)} is no id: an id is a bigint, or a number that is a safe integer`);
  }
  if (value < MIN_ID || value > MAX_ID)
    throw new RangeError(`${value} is no id: it is not from -2^63 to 2^63 - 1`);
  return value;
}

/**
 * A set of ids, which are bigints with a sign, in ascending order.  It does not
 * change: sets are changed in SQL.
 */
class Roaring64Set {
  #bytes;
  #view;
  #containers;
  #negative; /* from which of the containers on they have negative ids */

  /** @param {Uint8Array} bytes  which this object keeps */
  constructor(bytes) {
    if (!(bytes instanceof Uint8Array)) throw new TypeError('the bytes of a roaring64 are a Uint8Array');
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    try {
      this.#containers = findContainers(this.#view);
    } catch (error) {
      throw new RangeError('these are not the bytes of a roaring64', { cause: error });
    }
    this.#negative = search(this.#containers, FIRST_NEGATIVE);
    /** How many ids there are. @type {number} @readonly */
    this.size = this.#containers.reduce((sum, { count }) => sum + count, 0);
  }

  /**
   * The set of some ids, in any order.
   * @param {Iterable<Id>} ids
   * @returns {Roaring64Set}
   */
  static from(ids) {
    if (ids instanceof Roaring64Set) return ids;
    if (typeof ids !== 'object' || ids === null || !(Symbol.iterator in ids)) {
      throw new TypeError(`${inspect(ids)} is no set of ids`);
    }
    const list = Array.isArray(ids) ? ids : [...ids];
    const values = new BigInt64Array(list.length);
    for (let i = 0; i < list.length; i++) values[i] = toId(list[i]);
    return new Roaring64Set(write(new BigUint64Array(values.buffer).sort()));
  }

  /**
   * The set of these bytes in the portable format, of which it has a copy.
   * @param {Uint8Array} bytes
   * @returns {Roaring64Set}
   */
  static fromBytes(bytes) {
    return new Roaring64Set(bytes instanceof Uint8Array ? new Uint8Array(bytes) : bytes);
  }

  /**
   * The set of a text of the server's, {1,2,3} or \x and the bytes in hexadecimal.
   * @param {string} text
   * @returns {Roaring64Set}
   */
  static fromText(text) {
    const bytes = Buffer.from(
      text.startsWith('\\x') ? text.slice(2) : '',
      'hex',
    ); /* up to what is no digit */
    if (bytes.length > 0 && 2 * bytes.length + 2 === text.length) return new Roaring64Set(bytes);
    if (!text.startsWith('{') || !text.endsWith('}') || text.length < 2) {
      throw new RangeError('the text of a roaring64 is {1,2,3}, or \\x and hexadecimal digits');
    }
    const ids = text.slice(1, -1).split(',');
    for (const id of ids)
      if (!/^-?[0-9]+$/.test(id) && text !== '{}') throw new RangeError(`${inspect(id)} is no id`);
    return Roaring64Set.from(text === '{}' ? [] : ids.map(BigInt));
  }

  /** Whether an id is in the set. @param {Id} id @returns {boolean} */
  has(id) {
    const element = BigInt.asUintN(64, toId(id)),
      prefix = Number(element >> 16n);
    const container = this.#containers[search(this.#containers, prefix)];
    return container?.prefix === prefix && this.#lows(container).includes(Number(element & 0xffffn));
  }

  /** The lower 16 bits of a container's elements. @param {Container} container @returns {Uint16Array} */
  #lows(container) {
    const lows = new Uint16Array(container.count);
    readContainer(this.#view, container, lows);
    return lows;
  }

  /** The containers in the order of their ids. @returns {Container[]} */
  #inOrder() {
    return [...this.#containers.slice(this.#negative), ...this.#containers.slice(0, this.#negative)];
  }

  /** @returns {Generator<bigint, void, undefined>} the ids, ascending */
  *[Symbol.iterator]() {
    for (const container of this.#inOrder()) {
      const base = BigInt.asIntN(64, BigInt(container.prefix) << 16n);
      for (const low of this.#lows(container)) yield base + BigInt(low);
    }
  }

  /** The ids, ascending. @returns {BigInt64Array} */
  toArray() {
    const ids = new BigInt64Array(this.size),
      halves = new Uint32Array(ids.buffer);
    let n = 0;
    for (const container of this.#inOrder()) {
      const upper = Math.floor(container.prefix / 65536),
        base = (container.prefix % 65536) * 65536;
      for (const low of this.#lows(container)) {
        halves[n + LOWER] = base + low;
        halves[n + 1 - LOWER] = upper;
        n += 2;
      }
    }
    return ids;
  }

  /** The bytes in the portable format: a copy. @returns {Buffer} */
  toBytes() {
    return Buffer.from(this.#bytes);
  }

  /** A text that the server reads. @returns {string} */
  toString() {
    return this.size <= SHORT ? `{${[...this]}}` : `\\x${this.toBytes().toString('hex')}`;
  }

  /** What node-postgres sends. @returns {string} */
  toPostgres() {
    return this.toString();
  }

  /** The ids as strings, as a number of JSON is rounded beyond 2^53. @returns {string[]} */
  toJSON() {
    return Array.from(this, String);
  }

  [inspect.custom]() {
    return `Roaring64Set(${this.size}) ${this.size <= SHORT ? this : '{...}'}`;
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

module.exports = { Roaring64Set, toId };
