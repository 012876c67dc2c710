package roaring64;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

/**
 * A server for the tests: the one of PGHOST and so on, or a private one of this tree.
 *
 * <p>It gets a database of its own, with the extension in a schema of its own that is on the search
 * path. In the database whose name ends in _plain, it is not on the search path, where another type
 * has the name.
 */
final class Server {
  private static final String DATABASE = "roaring64_java_" + ProcessHandle.current().pid();
  private static final Server INSTANCE = new Server();

  private final String host;
  private final String port;
  private final String user;

  private Server() {
    try {
      if (System.getenv("PGHOST") != null) {
        host = System.getenv("PGHOST");
        port = System.getenv().getOrDefault("PGPORT", "5432");
        user = System.getenv().getOrDefault("PGUSER", "postgres");
      } else {
        String[] words = start();
        host = words[0];
        port = words[1];
        user = "postgres";
      }
      createDatabases();
    } catch (IOException | SQLException e) {
      throw new AssertionError(e);
    }
  }

  /** Starts a private server, which ends when its input does, that is with this program. */
  private static String[] start() throws IOException {
    Path folder = Path.of("").toAbsolutePath();
    while (folder != null && !Files.exists(folder.resolve("tools/private-server"))) {
      folder = folder.getParent();
    }
    if (folder == null) {
      throw new IOException("set PGHOST and so on, as there is no tools/private-server");
    }
    Process process =
        new ProcessBuilder(
                folder.resolve("tools/private-server").toString(),
                "bash",
                "-c",
                "echo \"$PGHOST $PGPORT\"; exec cat >/dev/null")
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    String line =
        new BufferedReader(
                new InputStreamReader(process.getInputStream(), StandardCharsets.US_ASCII))
            .readLine();
    if (line == null) {
      throw new IOException("tools/private-server gave no server");
    }
    return line.split(" ");
  }

  private void createDatabases() throws SQLException {
    String plain = DATABASE + "_plain";
    try (Connection connection = DriverManager.getConnection(address("postgres"))) {
      run(connection, "CREATE DATABASE " + DATABASE);
      run(connection, "CREATE DATABASE " + plain);
      run(connection, "ALTER DATABASE " + DATABASE + " SET search_path = public, \"my types\"");
    }
    for (String database : List.of(DATABASE, plain)) {
      try (Connection connection = DriverManager.getConnection(address(database))) {
        run(connection, "CREATE SCHEMA \"my types\"");
        run(connection, "CREATE EXTENSION roaring64 SCHEMA \"my types\"");
      }
    }
    try (Connection connection = DriverManager.getConnection(address(plain))) {
      run(connection, "CREATE DOMAIN public.roaring64 AS text");
    }
    Runtime.getRuntime().addShutdownHook(new Thread(this::dropDatabases));
  }

  private void dropDatabases() {
    try (Connection connection = DriverManager.getConnection(address("postgres"))) {
      for (String database : List.of(DATABASE, DATABASE + "_plain")) {
        run(connection, "DROP DATABASE IF EXISTS " + database + " WITH (FORCE)");
      }
    } catch (SQLException gone) {
      // the private server has ended before
      return;
    }
  }

  /** The URL, to which options may be added that begin with an ampersand. */
  private String address(String database) {
    String url = "jdbc:postgresql://%s:%s/%s?user=%s";
    if (!host.startsWith("/")) {
      return String.format(url, host, port, database, user);
    }
    return String.format(url, "localhost", port, database, user)
        + "&socketFactory=org.newsclub.net.unix.AFUNIXSocketFactory$FactoryArg&socketFactoryArg="
        + host
        + "/.s.PGSQL."
        + port;
  }

  static String url(String... options) {
    StringBuilder url = new StringBuilder(INSTANCE.address(DATABASE));
    for (String option : options) {
      url.append('&').append(option);
    }
    return url.toString();
  }

  static Connection connect(String... options) throws SQLException {
    return DriverManager.getConnection(url(options));
  }

  static Connection connectPlain() throws SQLException {
    return DriverManager.getConnection(INSTANCE.address(DATABASE + "_plain"));
  }

  static void run(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  /** Runs a query, in which ? is a parameter, and returns the only row. */
  static List<Object> row(Connection connection, String sql, Object... parameters)
      throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      for (int i = 0; i < parameters.length; i++) {
        statement.setObject(i + 1, parameters[i]);
      }
      try (ResultSet rows = statement.executeQuery()) {
        if (!rows.next()) {
          throw new SQLException("no row");
        }
        List<Object> row = new ArrayList<>();
        for (int i = 1; i <= rows.getMetaData().getColumnCount(); i++) {
          row.add(rows.getObject(i));
        }
        if (rows.next()) {
          throw new SQLException("more than one row");
        }
        return row;
      }
    }
  }

  static Object value(Connection connection, String sql, Object... parameters) throws SQLException {
    return row(connection, sql, parameters).get(0);
  }
}
