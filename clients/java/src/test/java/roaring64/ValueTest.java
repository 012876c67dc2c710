package roaring64;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.LongStream;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.roaringbitmap.longlong.LongIterator;
import org.roaringbitmap.longlong.Roaring64NavigableMap;

/** Values without a server. */
class ValueTest {
  private static Roaring64 parse(String text) throws SQLException {
    Roaring64 set = new Roaring64();
    set.setValue(text);
    return set;
  }

  /** Every order that a bitmap offers is that of bigint. */
  @RepeatedTest(100)
  void orderIsSigned(RepetitionInfo repetition) {
    long[] ids = Sets.random(new Random(repetition.getCurrentRepetition()));
    Roaring64 set = Roaring64.of(ids);
    Roaring64NavigableMap bitmap = set.bitmap();
    assertEquals(ids.length, set.cardinality());
    assertArrayEquals(ids, set.ids());
    LongIterator up = bitmap.getLongIterator();
    LongIterator down = bitmap.getReverseLongIterator();
    for (int i = 0; i < ids.length; i++) {
      assertEquals(ids[i], up.next());
      assertEquals(ids[ids.length - 1 - i], down.next());
    }
    assertFalse(up.hasNext() || down.hasNext());
    for (int i = 0; i < ids.length; i += 1 + ids.length / 20) {
      assertEquals(ids[i], bitmap.select(i));
      assertEquals(i + 1, bitmap.rankLong(ids[i]));
      assertTrue(bitmap.contains(ids[i]));
    }
    if (ids.length > 0) {
      assertEquals(ids[0], bitmap.first());
      assertEquals(ids[ids.length - 1], bitmap.last());
    }
  }

  /** A bitmap of either order, with whatever containers and buckets, is the same set. */
  @RepeatedTest(100)
  void everyBitmapGivesTheSameBytes(RepetitionInfo repetition) {
    Random random = new Random(repetition.getCurrentRepetition());
    long[] ids = Sets.random(random);
    Roaring64 set = Roaring64.of(ids);
    for (boolean signed : new boolean[] {false, true}) {
      Roaring64NavigableMap bitmap = new Roaring64NavigableMap(signed);
      long other = random.nextLong();
      boolean there = Arrays.binarySearch(ids, other) >= 0;
      for (int i = ids.length; i-- > 0; ) {
        bitmap.addLong(ids[i]);
      }
      bitmap.addLong(other);
      assertNotEquals(there ? null : set, Roaring64.of(bitmap));
      if (!there) {
        bitmap.removeLong(other);
      }
      assertEquals(set, Roaring64.of(bitmap));
      assertArrayEquals(set.toBytes(), Roaring64.of(bitmap).toBytes());
    }
    long[] shuffled = LongStream.concat(LongStream.of(ids), LongStream.of(ids)).toArray();
    assertEquals(set, Roaring64.of(shuffled));
    assertEquals(set.hashCode(), Roaring64.of(shuffled).hashCode());
    assertEquals(set, Roaring64.ofBytes(set.toBytes()));
  }

  @Test
  void bitmapAndBytesAreCopies() {
    Roaring64 set = Roaring64.of(-1, 5);
    set.bitmap().addLong(6);
    set.toBytes()[0] = 9;
    byte[] given = set.toBytes();
    Roaring64 copy = Roaring64.ofBytes(given);
    given[0] = 9;
    Roaring64NavigableMap bitmap = set.bitmap();
    bitmap.addLong(7);
    Roaring64 larger = Roaring64.of(bitmap);
    bitmap.addLong(8);
    assertArrayEquals(new long[] {-1, 5}, set.ids());
    assertArrayEquals(new long[] {-1, 5}, copy.ids());
    assertArrayEquals(new long[] {-1, 5, 7}, larger.ids());
    assertSame(set, set.clone());
  }

  @Test
  void ofDoesNotChangeTheBitmap() throws Exception {
    Roaring64NavigableMap bitmap = new Roaring64NavigableMap();
    LongStream.range(0, 1000).forEach(bitmap::addLong);
    long size = bitmap.getLongSizeInBytes();
    Roaring64.of(bitmap);
    assertEquals(size, bitmap.getLongSizeInBytes());
  }

  @Test
  void text() throws SQLException {
    assertEquals("{}", new Roaring64().getValue());
    assertEquals("{-1,5}", Roaring64.of(5, -1).toString());
    assertEquals(
        Roaring64.of(Sets.ENDS), parse("{9223372036854775807,-9223372036854775808,1,-1,0}"));
    Roaring64 large = Roaring64.of(LongStream.range(-7, 1018).toArray());
    assertEquals("\\x0200000000000000", large.getValue().substring(0, 18));
    assertEquals(large, parse(large.getValue()));
    assertEquals(Roaring64.of(), parse("\\x0000000000000000"));
    assertEquals("roaring64", large.getType());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "{",
        "}",
        "{1",
        "1",
        "{,}",
        "{1,}",
        "{1,,2}",
        "{1.5}",
        "{x}",
        "{1 2}",
        "\\x",
        "\\x0",
        "{9223372036854775808}",
        "{-9223372036854775809}",
        "\\x000000000000000g",
        "\\x00000000000000000",
        "\\x000000000000000000",
        "\\x0100000000000000",
        "NULL"
      })
  void badText(String text) {
    SQLException refused = assertThrows(SQLException.class, () -> parse(text));
    assertEquals("22P02", refused.getSQLState());
  }

  @Test
  void badBytes() {
    assertThrows(IllegalArgumentException.class, () -> Roaring64.ofBytes(new byte[0]));
    assertThrows(IllegalArgumentException.class, () -> Roaring64.ofBytes(new byte[9]));
    assertThrows(NullPointerException.class, () -> Roaring64.ofBytes(null));
    Roaring64 set = new Roaring64();
    SQLException refused =
        assertThrows(SQLException.class, () -> set.setByteValue(new byte[] {1}, 0));
    assertEquals("22P03", refused.getSQLState());
    assertEquals(Roaring64.of(), set);
  }

  @Test
  void bytesOfTheSignedBitmapAreRefused() throws Exception {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    Roaring64.of(-1, 5).bitmap().serializePortable(new java.io.DataOutputStream(out));
    assertThrows(IllegalArgumentException.class, () -> Roaring64.ofBytes(out.toByteArray()));
  }

  @Test
  void serialization() throws Exception {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    Roaring64 set = Roaring64.of(Sets.ENDS);
    try (ObjectOutputStream objects = new ObjectOutputStream(out)) {
      objects.writeObject(set);
    }
    try (ObjectInputStream objects =
        new ObjectInputStream(new ByteArrayInputStream(out.toByteArray()))) {
      assertEquals(set, objects.readObject());
    }
  }

  /** Bytes are taken and refused as the server does: clients/vectors.json. */
  @Test
  void vectors() throws Exception {
    int accepted = 0;
    JsonNode vectors = new ObjectMapper().readTree(Sets.vectors().toFile());
    for (JsonNode vector : vectors) {
      String name = vector.get("name").asText();
      byte[] bytes = Sets.unpack(vector.get("bytes").asText());
      if (!vector.get("accepted").asBoolean()) {
        assertThrows(IllegalArgumentException.class, () -> Roaring64.ofBytes(bytes), name);
        continue;
      }
      Roaring64 set = Roaring64.ofBytes(bytes);
      long[] ids = set.ids();
      assertEquals(vector.get("count").asLong(), set.cardinality(), name);
      assertEquals(vector.get("count").asInt(), ids.length, name);
      if (ids.length > 0) {
        assertEquals(vector.get("min").asText(), Long.toString(ids[0]), name);
        assertEquals(vector.get("max").asText(), Long.toString(ids[ids.length - 1]), name);
      }
      assertEquals(Roaring64.of(ids), set, name);
      assertArrayEquals(Roaring64.of(ids).toBytes(), set.toBytes(), name);
      accepted++;
    }
    assertTrue(accepted > 20 && vectors.size() - accepted > 20);
  }

  @Test
  void json() throws Exception {
    ObjectMapper mapper = new ObjectMapper();
    Roaring64 none = new Roaring64();
    none.setValue(null);
    assertEquals("[]", mapper.writeValueAsString(new Roaring64()));
    assertEquals("null", mapper.writeValueAsString(none));
    assertEquals("NULL", none.toString());
    Map<String, Roaring64> row = Map.of("read", Roaring64.of(Sets.ENDS));
    String text = mapper.writeValueAsString(row);
    assertEquals("{\"read\":[-9223372036854775808,-1,0,1,9223372036854775807]}", text);
    assertEquals(row, mapper.readValue(text, new TypeReference<Map<String, Roaring64>>() {}));
    for (String wrong : List.of("[\"x\"]", "[9223372036854775808]", "5.5", "{\"value\":[1]}")) {
      assertThrows(
          JsonProcessingException.class, () -> mapper.readValue(wrong, Roaring64.class), wrong);
    }
  }

  /** 1,000 sets, alone and in an array with NULL, are equal after JSON and serialization. */
  @Test
  void copies() throws Exception {
    ObjectMapper mapper = new ObjectMapper();
    Random random = new Random(11);
    Roaring64 none = new Roaring64();
    none.setValue(null);
    for (int i = 0; i < 1000; i++) {
      long[] ids = Sets.random(random);
      Roaring64[] sets = {Roaring64.of(ids), null, Roaring64.of()};
      Roaring64[] withNone = {sets[0], none, sets[2]};
      Roaring64[] read = mapper.readValue(mapper.writeValueAsString(withNone), Roaring64[].class);
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      new ObjectOutputStream(bytes).writeObject(withNone);
      Object copied =
          new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray())).readObject();
      assertArrayEquals(sets, read);
      assertArrayEquals(withNone, (Roaring64[]) copied);
      assertArrayEquals(ids, ((Roaring64[]) copied)[0].ids());
      Roaring64 other = Sets.another(ids);
      assertEquals(ids.length == 0, other.equals(read[0]));
      assertEquals(ids.length, other.cardinality());
    }
  }

  /** Sets of one size and different ids differ everywhere. */
  @Test
  void sameSize() {
    Random random = new Random(5);
    List<long[]> sets = new ArrayList<>();
    for (int i = 0; i < 300; i++) {
      sets.add(random.longs(random.nextInt(3), -3, 3).sorted().distinct().toArray());
    }
    int same = 0;
    for (long[] one : sets) {
      for (long[] other : sets) {
        boolean equal = Arrays.equals(one, other);
        same += equal ? 1 : 0;
        Roaring64 left = Roaring64.of(one);
        Roaring64 right = Roaring64.of(other);
        assertEquals(equal, left.equals(right));
        assertEquals(equal, Set.of(left).contains(right));
        assertEquals(equal, List.of(left).equals(List.of(right)));
        assertEquals(equal, left.toString().equals(right.toString()));
        assertTrue(!equal || left.hashCode() == right.hashCode());
      }
    }
    assertTrue(same > 1000 && same < 80000, same + " equal");
  }
}
