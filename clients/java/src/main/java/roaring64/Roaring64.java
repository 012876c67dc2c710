package roaring64;

import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonValue;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLDataException;
import java.sql.SQLException;
import java.sql.Types;
import java.util.Arrays;
import java.util.Objects;
import java.util.stream.Collectors;
import org.postgresql.core.BaseConnection;
import org.postgresql.core.BaseStatement;
import org.postgresql.core.QueryExecutor;
import org.postgresql.util.PGBinaryObject;
import org.postgresql.util.PGobject;
import org.roaringbitmap.longlong.Roaring64NavigableMap;

/**
 * A set of bigint, as PostgreSQL's type roaring64 of the extension of that name.
 *
 * <p>A value is the bytes that the server stores, so that two are equal if and only if the sets
 * are. It is not to be changed; {@link #bitmap()} makes a bitmap of it that can be, and {@link
 * #of(Roaring64NavigableMap)} a value of any.
 */
public final class Roaring64 extends PGobject implements PGBinaryObject {
  private static final long serialVersionUID = 1L;

  /** The name of the type. */
  private static final String NAME = "roaring64";

  /** The type is where the extension is, whatever the search path. */
  private static final String FIND =
      "SELECT t.oid::bigint, t.typarray::bigint, e.extversion FROM pg_catalog.pg_extension e"
          + " JOIN pg_catalog.pg_type t ON t.typnamespace = e.extnamespace"
          + " AND t.typname = 'roaring64' WHERE e.extname = 'roaring64'";

  /** Up to this many ids the text is {1,2,3}, as the server's is. */
  private static final int MAX_BRACES = 1024;

  private static final char[] DIGITS = "0123456789abcdef".toCharArray();

  private byte[] bytes;
  private long cardinality;

  /** Makes the empty set. The driver calls this and then one of the setters. */
  public Roaring64() {
    this(new byte[8]);
  }

  private Roaring64(byte[] bytes) {
    setType(NAME);
    set(bytes);
  }

  /**
   * Returns the set of some ids, in any order.
   *
   * @param ids the ids; a repeated one counts once
   * @return the set
   */
  @JsonCreator
  public static Roaring64 of(long... ids) {
    Roaring64NavigableMap map = new Roaring64NavigableMap();
    map.add(ids);
    return new Roaring64(encode(map));
  }

  /**
   * Returns the set of a bitmap's elements, whatever the order of the bitmap.
   *
   * @param bitmap the bitmap, which is not changed
   * @return the set
   * @throws UnsupportedOperationException if it was made to hold bitmaps of another class than
   *     RoaringBitmap
   */
  public static Roaring64 of(Roaring64NavigableMap bitmap) {
    return new Roaring64(encode(bitmap));
  }

  /**
   * Returns the set of bytes in the portable format of 64-bit Roaring bitmaps.
   *
   * @param bytes the bytes, which may be anything
   * @return the set
   * @throws IllegalArgumentException if the bytes are not those of a set
   */
  public static Roaring64 ofBytes(byte[] bytes) {
    return new Roaring64(bytes.clone());
  }

  /**
   * Lets a connection read roaring64 as this class, and send this class as roaring64.
   *
   * <p>Both are in binary format, unless the connection's properties say otherwise; results of a
   * statement are from when pgjdbc prepares it, see {@code prepareThreshold}. This asks the
   * database once and begins no transaction.
   *
   * @param connection a connection of pgjdbc, or one that wraps it
   * @throws SQLException if the database has no extension roaring64, or one older than 1.0
   */
  public static void register(Connection connection) throws SQLException {
    BaseConnection driver = connection.unwrap(BaseConnection.class);
    try (BaseStatement statement = (BaseStatement) driver.createStatement()) {
      // without beginning a transaction, as pgjdbc looks up types
      statement.executeWithFlags(FIND, QueryExecutor.QUERY_SUPPRESS_BEGIN);
      ResultSet found = statement.getResultSet();
      if (!found.next()) {
        throw new SQLException(
            "this database has no extension roaring64: CREATE EXTENSION roaring64", "42704");
      }
      String version = found.getString(3);
      if (version.startsWith("0.")) {
        throw new SQLException(
            "this package needs roaring64 1.0 or newer, and this database has "
                + version
                + ": ALTER EXTENSION roaring64 UPDATE",
            "0A000");
      }
      // pgjdbc would look for the name on the search path
      int array = (int) found.getLong(2);
      String name = Roaring64.class.getName();
      driver.getTypeInfo().addCoreType(NAME, (int) found.getLong(1), Types.OTHER, name, array);
      driver.addDataType(NAME, Roaring64.class);
      driver.getQueryExecutor().addBinaryReceiveOid(array);
    }
  }

  /**
   * Returns what any connection has read, registered or not.
   *
   * @param read what {@code ResultSet.getObject()} gave
   * @return the set, or null for NULL
   * @throws SQLException if it is no set
   */
  public static Roaring64 from(Object read) throws SQLException {
    if (read == null || read instanceof PGobject && ((PGobject) read).isNull()) {
      return null;
    }
    if (read instanceof Roaring64) {
      return (Roaring64) read;
    }
    Roaring64 set = new Roaring64();
    set.setValue(read.toString());
    return set;
  }

  /**
   * Returns a bitmap of the set, which is the caller's and may be changed.
   *
   * <p>Its order is that of bigint, so that first() is the least id. For the same reason its
   * serializePortable() is not the portable format where ids have both signs: {@link #of} and
   * {@link #toBytes} are.
   *
   * @return the bitmap
   */
  public Roaring64NavigableMap bitmap() {
    Roaring64NavigableMap signed = new Roaring64NavigableMap(true);
    signed.or(decode(notNull()));
    return signed;
  }

  /**
   * Returns the ids, ascending, the negative ones first.
   *
   * @return the ids
   * @throws IllegalStateException if they are more than an array can have
   */
  public long[] ids() {
    return bitmap().toArray();
  }

  /**
   * Returns how many ids the set has.
   *
   * @return the number
   */
  public long cardinality() {
    notNull();
    return cardinality;
  }

  /**
   * Returns the set in the portable format of 64-bit Roaring bitmaps, which {@code ?::bytea} and
   * other languages' libraries take.
   *
   * @return the bytes
   */
  public byte[] toBytes() {
    return notNull().clone();
  }

  @Override
  public String getValue() {
    if (isNull()) {
      return null;
    }
    if (cardinality <= MAX_BRACES) {
      return Arrays.stream(ids())
          .mapToObj(Long::toString)
          .collect(Collectors.joining(",", "{", "}"));
    }
    char[] text = new char[2 + 2 * bytes.length];
    text[0] = '\\';
    text[1] = 'x';
    for (int i = 0; i < bytes.length; i++) {
      text[2 + 2 * i] = DIGITS[bytes[i] >> 4 & 15];
      text[3 + 2 * i] = DIGITS[bytes[i] & 15];
    }
    return new String(text);
  }

  /** For the driver: the set that a text is, {1,2,3} or bytes in hexadecimal after \x; or NULL. */
  @Override
  public void setValue(String text) throws SQLException {
    try {
      set(text == null ? null : parse(text));
    } catch (IllegalArgumentException wrong) {
      throw new SQLDataException(wrong.getMessage(), "22P02", wrong);
    }
  }

  /** For the driver: the set that bytes are, from an offset to the end. */
  @Override
  public void setByteValue(byte[] value, int offset) throws SQLException {
    try {
      set(Arrays.copyOfRange(value, offset, value.length));
    } catch (IllegalArgumentException wrong) {
      throw new SQLDataException(wrong.getMessage(), "22P03", wrong);
    }
  }

  @Override
  public int lengthInBytes() {
    return isNull() ? 0 : bytes.length;
  }

  @Override
  public void toBytes(byte[] target, int offset) {
    System.arraycopy(bytes, 0, target, offset, lengthInBytes());
  }

  /** Returns the text, or NULL for NULL, of which the driver makes a part of an array. */
  @Override
  public String toString() {
    return isNull() ? "NULL" : getValue();
  }

  @Override
  public boolean isNull() {
    return bytes == null;
  }

  /** For Jackson, if it is there: the ids, or null. */
  @JsonValue
  private long[] json() {
    return isNull() ? null : ids();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Roaring64 && Arrays.equals(bytes, ((Roaring64) other).bytes);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(bytes);
  }

  @Override
  public Object clone() {
    return this;
  }

  private byte[] notNull() {
    return Objects.requireNonNull(bytes, "the roaring64 is NULL");
  }

  private void set(byte[] given) {
    if (given == null) {
      bytes = null;
      cardinality = 0;
      return;
    }
    Portable checked = Portable.check(given);
    bytes = checked.isCanonical() ? given : encode(decode(given));
    cardinality = checked.cardinality;
  }

  private static byte[] parse(String text) {
    if (text.startsWith("\\x") && text.length() % 2 == 0) {
      byte[] bytes = new byte[text.length() / 2 - 1];
      for (int i = 0; i < bytes.length; i++) {
        int high = Character.digit(text.charAt(2 + 2 * i), 16);
        int low = Character.digit(text.charAt(3 + 2 * i), 16);
        if (high < 0 || low < 0) {
          throw new IllegalArgumentException("no hexadecimal digit at " + (2 + 2 * i));
        }
        bytes[i] = (byte) (high << 4 | low);
      }
      return bytes;
    }
    if (text.length() < 2 || !text.startsWith("{") || !text.endsWith("}")) {
      throw new IllegalArgumentException("no text of a roaring64");
    }
    Roaring64NavigableMap map = new Roaring64NavigableMap();
    if (text.length() > 2) {
      for (String id : text.substring(1, text.length() - 1).split(",", -1)) {
        map.addLong(Long.parseLong(id));
      }
    }
    return encode(map);
  }

  /**
   * The bytes must have been checked. The bitmap's order is that of the bytes, unsigned.
   *
   * <p>Of the library's two classes, this one can have the order of bigint, and takes a fifth of
   * the time of Roaring64Bitmap to read and write ids that are far apart.
   */
  private static Roaring64NavigableMap decode(byte[] bytes) {
    try {
      Roaring64NavigableMap map = new Roaring64NavigableMap();
      map.deserializePortable(new DataInputStream(new ByteArrayInputStream(bytes)));
      return map;
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible);
    }
  }

  /** Returns the bytes that the server would store. */
  private static byte[] encode(Roaring64NavigableMap map) {
    Roaring64NavigableMap copy = new Roaring64NavigableMap();
    copy.or(map);
    byte[] bytes = serialize(copy);
    if (!Portable.check(bytes).isCanonical()) {
      // what was removed has left a bucket without elements
      Roaring64NavigableMap rebuilt = new Roaring64NavigableMap();
      copy.forEach(rebuilt::addLong);
      bytes = serialize(rebuilt);
    }
    return bytes;
  }

  private static byte[] serialize(Roaring64NavigableMap map) {
    try {
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      map.runOptimize();
      map.serializePortable(new DataOutputStream(out));
      return out.toByteArray();
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible);
    }
  }
}
