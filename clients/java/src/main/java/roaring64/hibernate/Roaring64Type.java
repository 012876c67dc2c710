package roaring64.hibernate;

import java.io.Serializable;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.util.Objects;
import org.hibernate.engine.spi.SharedSessionContractImplementor;
import org.hibernate.usertype.UserType;
import roaring64.Roaring64;

/**
 * The type of an attribute that is a {@link Roaring64}, for Hibernate 6 and newer.
 *
 * <pre>{@code
 * @Type(Roaring64Type.class)
 * @Column(columnDefinition = "roaring64")
 * Roaring64 read;
 * }</pre>
 */
public class Roaring64Type implements UserType<Roaring64> {
  /** Made by Hibernate. */
  public Roaring64Type() {}

  @Override
  public int getSqlType() {
    return Types.OTHER;
  }

  @Override
  public Class<Roaring64> returnedClass() {
    return Roaring64.class;
  }

  @Override
  public Roaring64 nullSafeGet(
      ResultSet rows, int position, SharedSessionContractImplementor session, Object owner)
      throws SQLException {
    return Roaring64.from(rows.getObject(position));
  }

  @Override
  public void nullSafeSet(
      PreparedStatement statement,
      Roaring64 value,
      int index,
      SharedSessionContractImplementor session)
      throws SQLException {
    statement.setObject(index, value, Types.OTHER);
  }

  @Override
  public boolean equals(Roaring64 one, Roaring64 other) {
    return Objects.equals(one, other);
  }

  @Override
  public int hashCode(Roaring64 value) {
    return Objects.hashCode(value);
  }

  @Override
  public boolean isMutable() {
    return false;
  }

  @Override
  public Roaring64 deepCopy(Roaring64 value) {
    return value;
  }

  @Override
  public Serializable disassemble(Roaring64 value) {
    return value;
  }

  @Override
  public Roaring64 assemble(Serializable cached, Object owner) {
    return (Roaring64) cached;
  }

  @Override
  public Roaring64 replace(Roaring64 detached, Roaring64 managed, Object owner) {
    return detached;
  }
}
