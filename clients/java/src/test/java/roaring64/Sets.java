package roaring64;

import java.util.Random;
import java.util.stream.LongStream;

/** Random sets: of both signs, near both ends of bigint, of containers of every kind. */
final class Sets {
  static final long[] ENDS = {Long.MIN_VALUE, -1, 0, 1, Long.MAX_VALUE};

  private static final long[] BASES = {
    Long.MIN_VALUE, -(1L << 40), -(1L << 32), -1, 0, 1L << 16, 1L << 32, Long.MAX_VALUE
  };

  private Sets() {}

  /** Returns the ids of a set: ascending, and each once. */
  static long[] random(Random random) {
    LongStream ids = LongStream.empty();
    for (int parts = random.nextInt(5); parts > 0; parts--) {
      ids = LongStream.concat(ids, part(random));
    }
    return ids.sorted().distinct().toArray();
  }

  private static LongStream part(Random random) {
    if (random.nextInt(3) == 0) {
      return random.longs(random.nextInt(60));
    }
    // what would leave bigint at one end goes on at the other
    long base = BASES[random.nextInt(BASES.length)] + random.nextInt(200) - 100;
    int size = random.nextInt(4) == 0 ? random.nextInt(70000) : random.nextInt(300);
    int step = 1 + random.nextInt(3);
    boolean holes = random.nextBoolean();
    return LongStream.range(0, size)
        .filter(i -> !holes || random.nextInt(8) != 0)
        .map(i -> base + i * step);
  }
}
