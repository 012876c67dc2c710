package roaring64;

import java.sql.ResultSet;
import java.sql.SQLException;
import org.postgresql.core.BaseConnection;
import org.postgresql.core.BaseStatement;
import org.postgresql.core.QueryExecutor;
import org.postgresql.util.PSQLException;
import org.postgresql.util.PSQLState;

/** Where a database has the type, which is where the extension is, whatever the search path. */
final class Catalog {
  private static final String FIND =
      "SELECT t.oid::bigint, t.typarray::bigint, quote_ident(n.nspname)"
          + " FROM pg_catalog.pg_extension e"
          + " JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace"
          + " JOIN pg_catalog.pg_type t ON t.typnamespace = n.oid AND t.typname = 'roaring64'"
          + " WHERE e.extname = 'roaring64'";

  /** The type's OID and that of its array, as pgjdbc has OIDs. */
  final int oid;

  final int arrayOid;

  /** The schema, quoted where it has to be. */
  final String schema;

  private Catalog(ResultSet row) throws SQLException {
    oid = (int) row.getLong(1);
    arrayOid = (int) row.getLong(2);
    schema = row.getString(3);
  }

  /** Looks it up without beginning a transaction, as pgjdbc does for types. */
  static Catalog find(BaseConnection connection) throws SQLException {
    try (BaseStatement statement = (BaseStatement) connection.createStatement()) {
      statement.executeWithFlags(FIND, QueryExecutor.QUERY_SUPPRESS_BEGIN);
      ResultSet rows = statement.getResultSet();
      if (!rows.next()) {
        throw new PSQLException(
            "the extension roaring64 does not exist in this database: CREATE EXTENSION roaring64",
            PSQLState.UNDEFINED_OBJECT);
      }
      return new Catalog(rows);
    }
  }
}
