/*
 * Example.java
 *	  roaring64 with Java: pgjdbc and RoaringBitmap.
 *
 * The argument is the URL of a database in which CREATE EXTENSION roaring64 has
 * been done.
 *
 * A Roaring64NavigableMap is unsigned, unless it is told otherwise, where SQL is
 * signed, but both are a long here: -1 is -1.
 */
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;

import org.roaringbitmap.longlong.Roaring64NavigableMap;

public class Example
{
	/** A set's bytes.  Not serialize(), whose format is one of Java's own. */
	static byte[] toBytes(Roaring64NavigableMap set) throws IOException
	{
		ByteArrayOutputStream bytes = new ByteArrayOutputStream();

		set.runOptimize();
		set.serializePortable(new DataOutputStream(bytes));
		return bytes.toByteArray();
	}

	/** The set in a column that was selected as bytea. */
	static Roaring64NavigableMap getSet(ResultSet rows, int column) throws SQLException, IOException
	{
		Roaring64NavigableMap set = new Roaring64NavigableMap();

		set.deserializePortable(new DataInputStream(rows.getBinaryStream(column)));
		return set;
	}

	static void check(boolean holds, String what)
	{
		if (!holds)
			throw new AssertionError(what);
		System.out.println("ok - " + what);
	}

	public static void main(String[] args) throws SQLException, IOException
	{
		try (Connection connection = DriverManager.getConnection(args[0]);
			 Statement statement = connection.createStatement())
		{
			statement.execute("CREATE TEMP TABLE readers (id int PRIMARY KEY, read roaring64)");

			/* As text: what psql shows. */
			try (PreparedStatement insert = connection.prepareStatement(
					"INSERT INTO readers VALUES (1, ?::roaring64)"))
			{
				insert.setString(1, "{1,2,3}");
				insert.executeUpdate();
			}
			try (ResultSet rows = statement.executeQuery("SELECT read FROM readers WHERE id = 1"))
			{
				rows.next();
				check(rows.getString(1).equals("{1,2,3}"), "text");
			}

			/* An array parameter, and an element. */
			try (PreparedStatement insert = connection.prepareStatement(
					"INSERT INTO readers VALUES (2, ?::bigint[])");
				 PreparedStatement select = connection.prepareStatement(
					"SELECT read::bigint[], read @> ?::bigint FROM readers WHERE id = 2"))
			{
				insert.setArray(1, connection.createArrayOf("bigint", new Long[] {10L, 2L, 10L, -1L}));
				insert.executeUpdate();
				select.setLong(1, 10);
				try (ResultSet rows = select.executeQuery())
				{
					rows.next();
					check(Arrays.equals((Long[]) rows.getArray(1).getArray(), new Long[] {-1L, 2L, 10L})
						&& rows.getBoolean(2), "array");
				}
			}

			/* As bytes: the portable format, which other programs read and write too. */
			try (PreparedStatement select = connection.prepareStatement(
					"SELECT read::bytea FROM readers WHERE id = ?");
				 PreparedStatement insert = connection.prepareStatement(
					"INSERT INTO readers VALUES (?, ?::bytea::roaring64)"))
			{
				select.setInt(1, 2);
				byte[] bytes;
				try (ResultSet rows = select.executeQuery())
				{
					rows.next();
					bytes = rows.getBytes(1);
				}
				insert.setInt(1, 3);
				insert.setBytes(2, bytes);
				insert.executeUpdate();
				select.setInt(1, 3);
				try (ResultSet rows = select.executeQuery())
				{
					rows.next();
					check(bytes.length > 8 && Arrays.equals(rows.getBytes(1), bytes), "bytes");
				}

				/* As Roaring64NavigableMap. */
				Roaring64NavigableMap million = new Roaring64NavigableMap();
				for (long i = 0; i < 2_000_000; i += 2)
					million.addLong(i);
				million.addLong(-1);
				insert.setInt(1, 4);
				insert.setBytes(2, toBytes(million));
				insert.executeUpdate();
				select.setInt(1, 4);
				try (ResultSet rows = select.executeQuery())
				{
					rows.next();
					check(getSet(rows, 1).equals(million), "own type");
				}
			}
		}
	}
}
