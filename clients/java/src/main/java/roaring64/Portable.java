package roaring64;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * What can be said of the bytes of a set without making a bitmap of them.
 *
 * <p>The Roaring library reads bytes without a look at what containers hold: unsorted elements, for
 * example, are found neither when it reads nor when it writes them. The format is RoaringFormatSpec
 * with its extension for 64 bits.
 */
final class Portable {
  private static final int NO_RUNS = 12346;
  private static final int RUNS = 12347;
  private static final int MAX_ARRAY = 4096;
  private static final int BITSET_WORDS = 1024;

  private final ByteBuffer in;

  /** How many elements there are. */
  final long cardinality;

  /** Whether these are the bytes by which the server stores the set, which has one form each. */
  private boolean canonical = true;

  private Portable(byte[] bytes) {
    in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    long sum = 0;
    long previous = -1;
    for (long buckets = in.getLong(); buckets != 0; buckets--) {
      long high = Integer.toUnsignedLong(in.getInt());
      require(high > previous, "the buckets do not ascend");
      previous = high;
      sum += bucket();
    }
    require(!in.hasRemaining(), "more bytes follow the set");
    cardinality = sum;
  }

  /**
   * Reads bytes that may be anything.
   *
   * @throws IllegalArgumentException if they are not those of a set
   */
  static Portable check(byte[] bytes) {
    try {
      return new Portable(bytes);
    } catch (BufferUnderflowException | IndexOutOfBoundsException end) {
      throw new IllegalArgumentException("no bytes of a roaring64: they end too early", end);
    }
  }

  boolean isCanonical() {
    return canonical;
  }

  private long bucket() {
    int start = in.position();
    int cookie = in.getInt();
    boolean mayRun = (cookie & 0xFFFF) == RUNS;
    require(mayRun || cookie == NO_RUNS, "no cookie where a 32-bit bitmap has to begin");
    int containers = mayRun ? (cookie >>> 16) + 1 : in.getInt();
    require(containers >= 0 && containers <= 1 << 16, "a bucket has too many containers");
    int flags = skip(mayRun ? (containers + 7) / 8 : 0);
    int keys = skip(4 * containers);
    boolean hasOffsets = !mayRun || containers >= 4;
    int offsets = skip(hasOffsets ? 4 * containers : 0);

    long sum = 0;
    int previous = -1;
    boolean anyRun = false;
    for (int i = 0; i < containers; i++) {
      int key = Short.toUnsignedInt(in.getShort(keys + 4 * i));
      int size = Short.toUnsignedInt(in.getShort(keys + 4 * i + 2)) + 1;
      require(key > previous, "the containers do not ascend");
      previous = key;
      require(
          !hasOffsets || in.getInt(offsets + 4 * i) == in.position() - start, "an offset is wrong");
      boolean isRun = mayRun && flag(flags, i);
      int runs = isRun ? run(size) : size <= MAX_ARRAY ? array(size) : bitset(size);
      canonical &= isRun == 4 * runs + 2 < Math.min(2 * size, 8 * BITSET_WORDS);
      anyRun |= isRun;
      sum += size;
    }
    for (int i = containers; mayRun && i % 8 != 0; i++) {
      canonical &= !flag(flags, i);
    }
    canonical &= containers > 0 && mayRun == anyRun;
    return sum;
  }

  /** Checks a container of each kind and tells how many runs its elements are. */
  private int run(int size) {
    int runs = readShort();
    int sum = 0;
    int end = -2;
    for (int i = 0; i < runs; i++) {
      int start = readShort();
      require(start > end + 1, "runs overlap or touch");
      end = start + readShort();
      require(end < 1 << 16, "a run does not end within its container");
      sum += end - start + 1;
    }
    require(sum == size, "a container has more or fewer elements than it says");
    return runs;
  }

  private int array(int size) {
    int runs = 0;
    int previous = -2;
    for (int i = 0; i < size; i++) {
      int value = readShort();
      require(value > previous, "elements do not ascend");
      runs += value == previous + 1 ? 0 : 1;
      previous = value;
    }
    return runs;
  }

  private int bitset(int size) {
    int runs = 0;
    int sum = 0;
    long carry = 0;
    for (int i = 0; i < BITSET_WORDS; i++) {
      long word = in.getLong();
      sum += Long.bitCount(word);
      runs += Long.bitCount(word & ~(word << 1 | carry));
      carry = word >>> 63;
    }
    require(sum == size, "a container has more or fewer elements than it says");
    return runs;
  }

  private boolean flag(int flags, int i) {
    return (in.get(flags + i / 8) >> i % 8 & 1) != 0;
  }

  private int readShort() {
    return Short.toUnsignedInt(in.getShort());
  }

  /** Skips some bytes and tells where they begin. */
  private int skip(int bytes) {
    int here = in.position();
    if (bytes > in.remaining()) {
      throw new BufferUnderflowException();
    }
    in.position(here + bytes);
    return here;
  }

  private void require(boolean holds, String otherwise) {
    if (!holds) {
      throw new IllegalArgumentException(
          "no bytes of a roaring64: " + otherwise + ", at byte " + in.position());
    }
  }
}
