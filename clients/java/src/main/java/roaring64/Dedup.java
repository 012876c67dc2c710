package roaring64;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.UUID;
import org.postgresql.core.BaseConnection;
import org.postgresql.util.PSQLException;
import org.postgresql.util.PSQLState;

/**
 * A dedup set, whose ids are claimed once: by the transaction that commits.
 *
 * <pre>{@code
 * connection.setAutoCommit(false);
 * if (new Dedup(connection, "processed").claim("payments", 7001)) {
 *   // what is done here commits with the claim, or neither does
 * }
 * connection.commit();
 * }</pre>
 */
public final class Dedup {
  private final Connection connection;
  private final String dedup;
  private final String function;

  /**
   * Makes an object for a connection. This asks the database once and begins no transaction.
   *
   * @param connection a connection of pgjdbc, or one that wraps it
   * @param dedup the name of the dedup set, with its schema if that is not on the search path
   * @throws SQLException if the database has no extension roaring64
   */
  public Dedup(Connection connection, String dedup) throws SQLException {
    this.connection = connection;
    this.dedup = dedup;
    function =
        Catalog.find(connection.unwrap(BaseConnection.class)).schema + ".roaring64_dedup_claim";
  }

  /**
   * Claims an id in the connection's transaction.
   *
   * @param key the key, such as the name of a queue
   * @param id the id
   * @return true if the id is new, false if it is a duplicate, or too old to tell
   * @throws SQLException as the server raises it, or if the connection commits every statement by
   *     itself: the claim would stay if the work failed
   */
  public boolean claim(String key, long id) throws SQLException {
    return claim(key, "bigint", id);
  }

  /**
   * Claims an id of a dedup set that was created for UUIDs.
   *
   * @param key the key
   * @param id the id
   * @return true if the id is new
   * @throws SQLException as for other ids
   */
  public boolean claim(String key, UUID id) throws SQLException {
    return claim(key, "uuid", id);
  }

  /**
   * Claims an id of a dedup set that was created for text.
   *
   * @param key the key
   * @param id the id
   * @return true if the id is new
   * @throws SQLException as for other ids
   */
  public boolean claim(String key, String id) throws SQLException {
    return claim(key, "text", id);
  }

  private boolean claim(String key, String type, Object id) throws SQLException {
    if (key == null || id == null) {
      throw new PSQLException("a key or id to claim is null", PSQLState.INVALID_PARAMETER_VALUE);
    }
    if (connection.getAutoCommit()) {
      throw new PSQLException(
          "a claim needs a transaction: setAutoCommit(false)", PSQLState.NO_ACTIVE_SQL_TRANSACTION);
    }
    String sql = "SELECT " + function + "(?::text::regclass, ?::text, ?::" + type + ")";
    try (PreparedStatement claim = connection.prepareStatement(sql)) {
      claim.setString(1, dedup);
      claim.setString(2, key);
      claim.setObject(3, id);
      try (ResultSet rows = claim.executeQuery()) {
        rows.next();
        return rows.getBoolean(1);
      }
    }
  }
}
