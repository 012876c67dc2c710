/*
 * interop.cc
 *	  Sets to bytes and back with CRoaring's C++ class Roaring64Map.
 *
 * See ../run for what its arguments are and what it has to do.
 */
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include <roaring/roaring64map.hh>

namespace fs = std::filesystem;
using roaring::Roaring64Map;

static void
write_bytes(const Roaring64Map &set, const fs::path &path)
{
	std::string bytes(set.getSizeInBytes(), '\0');

	set.write(bytes.data());
	std::ofstream(path, std::ios::binary) << bytes;
}

static void
write_set(const fs::path &from, const fs::path &to)
{
	Roaring64Map set;
	std::ifstream file(from);
	uint64_t first, last;

	while (file >> first >> last)
	{
		if (last - first >= 100)
			set.addRangeClosed(first, last);
		else
			for (uint64_t i = 0; i <= last - first; i++)
				set.add(first + i);
	}
	write_bytes(set, to.string() + ".plain");
	set.runOptimize();
	write_bytes(set, to.string() + ".optimized");
}

static void
read_set(const fs::path &from, const fs::path &to)
{
	std::ifstream file(from, std::ios::binary);
	std::string bytes{std::istreambuf_iterator<char>(file), {}};
	Roaring64Map set = Roaring64Map::readSafe(bytes.data(), bytes.size());
	std::ofstream out(to);
	bool any = false;
	uint64_t first = 0, last = 0;

	for (uint64_t value : set)
	{
		if (any && value == last + 1)
		{
			last = value;
			continue;
		}
		if (any)
			out << first << ' ' << last << '\n';
		any = true;
		first = last = value;
	}
	if (any)
		out << first << ' ' << last << '\n';
}

int
main(int argc, char **argv)
{
	int status = 0;

	if (argc != 5)
		return 2;
	for (const auto &entry : fs::directory_iterator(argv[3]))
	{
		fs::path to = fs::path(argv[4]) / entry.path().filename();

		try
		{
			if (std::string(argv[2]) == "write")
				write_set(entry.path(), to);
			else
				read_set(entry.path(), to);
		}
		catch (const std::exception &trouble)
		{
			std::cerr << entry.path().filename() << ": " << trouble.what() << '\n';
			status = 1;
		}
	}
	return status;
}
