/*
 * Interop.java
 *	  Sets to bytes and back with Java's Roaring64NavigableMap and
 *	  Roaring64Bitmap.
 *
 * See ../run for what its arguments are and what it has to do; the first one
 * is the class.  Roaring64NavigableMap has two formats.  Its serialize() writes
 * the one of its own that SERIALIZATION_MODE names, by default not the portable
 * one, so serializePortable() is the method to call.  The map must order its
 * elements as unsigned, which it does unless it is asked otherwise.
 */
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;

import org.roaringbitmap.longlong.LongIterator;
import org.roaringbitmap.longlong.Roaring64Bitmap;
import org.roaringbitmap.longlong.Roaring64NavigableMap;

public class Interop
{
	/** What the two classes have in common, but in no interface. */
	interface LongSet
	{
		void add(long value);
		void addRange(long first, long end);
		void runOptimize();
		LongIterator iterator();
		void write(DataOutputStream out) throws IOException;
		void read(DataInputStream in) throws IOException;
	}

	static class NavigableMap implements LongSet
	{
		final Roaring64NavigableMap set = new Roaring64NavigableMap();

		public void add(long value) { set.addLong(value); }
		public void addRange(long first, long end) { set.addRange(first, end); }
		public void runOptimize() { set.runOptimize(); }
		public LongIterator iterator() { return set.getLongIterator(); }
		public void write(DataOutputStream out) throws IOException { set.serializePortable(out); }
		public void read(DataInputStream in) throws IOException { set.deserializePortable(in); }
	}

	static class Bitmap implements LongSet
	{
		final Roaring64Bitmap set = new Roaring64Bitmap();

		public void add(long value) { set.addLong(value); }
		public void addRange(long first, long end) { set.addRange(first, end); }
		public void runOptimize() { set.runOptimize(); }
		public LongIterator iterator() { return set.getLongIterator(); }
		public void write(DataOutputStream out) throws IOException { set.serializePortable(out); }
		public void read(DataInputStream in) throws IOException { set.deserializePortable(in); }
	}

	static LongSet newSet(String type)
	{
		return switch (type)
		{
			case "Roaring64NavigableMap" -> new NavigableMap();
			case "Roaring64Bitmap" -> new Bitmap();
			default -> throw new IllegalArgumentException(type);
		};
	}

	static byte[] writeBytes(LongSet set, String path) throws IOException
	{
		ByteArrayOutputStream bytes = new ByteArrayOutputStream();

		set.write(new DataOutputStream(bytes));
		Files.write(Path.of(path), bytes.toByteArray());
		return bytes.toByteArray();
	}

	static void writeSet(LongSet set, Path from, Path to) throws IOException
	{
		for (String line : Files.readAllLines(from))
		{
			int space = line.indexOf(' ');
			long first = Long.parseUnsignedLong(line.substring(0, space));
			long last = Long.parseUnsignedLong(line.substring(space + 1));

			if (Long.compareUnsigned(last - first, 100) >= 0)
			{
				set.addRange(first, last); /* without the last */
				set.add(last);
			}
			else
			{
				for (long i = 0; i <= last - first; i++)
					set.add(first + i);
			}
		}
		writeBytes(set, to + ".plain");
		set.runOptimize();
		Files.write(Path.of(to + ".base64"),
			Base64.getEncoder().encode(writeBytes(set, to + ".optimized")));
	}

	static void printRun(PrintStream out, long first, long last)
	{
		out.print(Long.toUnsignedString(first) + " " + Long.toUnsignedString(last) + "\n");
	}

	static void readSet(LongSet set, byte[] from, Path to) throws IOException
	{
		ByteArrayInputStream bytes = new ByteArrayInputStream(from);
		ByteArrayOutputStream text = new ByteArrayOutputStream();
		PrintStream out = new PrintStream(text);
		boolean any = false;
		long first = 0, last = 0;

		set.read(new DataInputStream(bytes));
		if (bytes.available() > 0)
			throw new IOException(bytes.available() + " bytes were not read");
		for (LongIterator it = set.iterator(); it.hasNext();)
		{
			long value = it.next();

			if (any && value == last + 1)
			{
				last = value;
				continue;
			}
			if (any)
				printRun(out, first, last);
			any = true;
			first = last = value;
		}
		if (any)
			printRun(out, first, last);
		out.flush();
		Files.write(to, text.toByteArray());
	}

	public static void main(String[] args) throws IOException
	{
		int status = 0;

		try (DirectoryStream<Path> files = Files.newDirectoryStream(Path.of(args[2])))
		{
			for (Path from : files)
			{
				Path to = Path.of(args[3]).resolve(from.getFileName());

				try
				{
					switch (args[1])
					{
						case "write" -> writeSet(newSet(args[0]), from, to);
						case "read" -> readSet(newSet(args[0]), Files.readAllBytes(from), to);
						/* a decoder that refuses line breaks */
						case "read-base64" -> readSet(newSet(args[0]),
							Base64.getDecoder().decode(Files.readAllBytes(from)), to);
						default -> throw new IllegalArgumentException(args[1]);
					}
				}
				catch (IOException | RuntimeException trouble)
				{
					System.err.println(from.getFileName() + ": " + trouble);
					status = 1;
				}
			}
		}
		System.exit(status);
	}
}
