"""
interop.py
	Sets to bytes and back with Python's pyroaring.BitMap64.

See ../run for what its arguments are and what it has to do.
"""
import os
import sys

from pyroaring import BitMap64


def write_set(source, target):
    bitmap = BitMap64()
    with open(source) as file:
        for line in file:
            first, last = map(int, line.split())
            if last - first >= 100:
                bitmap.add_range(first, last)  # without the last
                bitmap.add(last)
            else:
                for value in range(first, last + 1):
                    bitmap.add(value)
    for form in "plain", "optimized":
        if form == "optimized":
            bitmap.run_optimize()
        with open(f"{target}.{form}", "wb") as file:
            file.write(bitmap.serialize())


def runs(values):
    first = last = None
    for value in values:
        if last is not None and value == last + 1:
            last = value
            continue
        if last is not None:
            yield first, last
        first = last = value
    if last is not None:
        yield first, last


def read_set(source, target):
    with open(source, "rb") as file:
        bitmap = BitMap64.deserialize(file.read())
    with open(target, "w") as file:
        file.writelines(f"{first} {last}\n" for first, last in runs(bitmap))


def main():
    _, _, what, source, target = sys.argv
    work = {"read": read_set, "write": write_set}[what]
    status = 0
    for name in os.listdir(source):
        try:
            work(os.path.join(source, name), os.path.join(target, name))
        except (ValueError, OverflowError) as trouble:
            print(f"{name}: {trouble}", file=sys.stderr)
            status = 1
    sys.exit(status)


main()
