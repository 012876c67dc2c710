/*-------------------------------------------------------------------------
 *
 * mutate.c
 *	  Bytes of a set, damaged by chance.
 *
 * Most of a set's bytes are elements, and damage there is dull.  So half of
 * all places are taken from the first 64 bytes, where the headers of a small
 * set are, and half of the seeds are small.
 *
 * test/unit/mutate.c
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "unit.h"
#include "mutate.h"
#include "shapes.h"

#define SPARE	64				/* bytes that mutations may add */

byte_string
mutate_seed(void)
{
	universe	u = shape_universe();
	model		m = shape_set(&u, unit_one_in(4) ? SHAPE_MEDIUM : SHAPE_SMALL);
	byte_string s;

	if (unit_one_in(3))
		s.bytes = model_encode_legal(&m, &s.size);
	else
		s.bytes = model_encode(&m, &s.size, NULL);
	return s;
}

/* A place for n bytes; the string is at least so long. */
static size_t
place(const byte_string *s, size_t n)
{
	size_t		places = s->size - n + 1;

	if (places > 64 && unit_one_in(2))
		places = 64;
	return unit_below(places);
}

static void
flip_bit(byte_string *s)
{
	s->bytes[place(s, 1)] ^= (uint8_t) (1 << unit_below(8));
}

static void
set_byte(byte_string *s)
{
	static const uint8_t values[] = {
		0, 1, 2, 4, 7, 8, 0x0f, 0x10, 0x30, 0x3a, 0x3b, 0x7f, 0x80, 0xfe, 0xff
	};

	s->bytes[place(s, 1)] = values[unit_below(sizeof(values))];
}

/* A number of 2, 4 or 8 bytes becomes one that is near, or at a limit. */
static void
set_number(byte_string *s)
{
	static const uint64_t values[] = {
		0, 1, 2, 3, 4, 2047, 2048, 4095, 4096, 4097, 8192, 12345, 12346, 12347,
		12347 | 3 << 16, 12347 | 0xffffu << 16, 32767, 32768, 65534, 65535,
		65536, 65537, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff,
		UINT64_C(0x100000000), UINT64_C(0x7fffffffffffffff), UINT64_MAX
	};
	size_t		width = (size_t) 2 << unit_below(3);
	uint64_t	v = 0;
	size_t		at;

	if (width > s->size)
		return;
	at = place(s, width);
	memcpy(&v, s->bytes + at, width);
	if (unit_one_in(2))
		v += unit_below(2) ? 1 + unit_skewed(9) : UINT64_MAX - unit_skewed(9);
	else
		v = values[unit_below(sizeof(values) / sizeof(values[0]))];
	memcpy(s->bytes + at, &v, width);
}

static void
swap_fields(byte_string *s)
{
	size_t		width = (size_t) 1 << unit_below(4);
	uint8_t		kept[8];
	size_t		a;
	size_t		b;

	if (width > s->size)
		return;
	a = place(s, width);
	b = place(s, width);
	memcpy(kept, s->bytes + a, width);
	memmove(s->bytes + a, s->bytes + b, width);
	memcpy(s->bytes + b, kept, width);
}

static void
cut_off(byte_string *s)
{
	s->size -= unit_one_in(2) ? unit_skewed(s->size + 1) :
		unit_below(s->size + 1);
}

/* Up to SPARE / 4 bytes: zeroes, noise, or a piece of the string. */
static void
put_in(byte_string *s)
{
	size_t		n = 1 + unit_below(SPARE / 4);
	size_t		at = unit_one_in(2) ? s->size : unit_below(s->size + 1);
	size_t		from = unit_below(s->size + 1);
	uint64_t	how = unit_below(3);
	uint8_t		fresh[SPARE];

	if (how == 2 && n > s->size - from)
		n = s->size - from;
	for (size_t i = 0; i < n; i++)
		fresh[i] = how == 0 ? 0 : (uint8_t) unit_random();
	if (how == 2 && n > 0)
		memcpy(fresh, s->bytes + from, n);
	memmove(s->bytes + at + n, s->bytes + at, s->size - at);
	memcpy(s->bytes + at, fresh, n);
	s->size += n;
}

static void
take_out(byte_string *s)
{
	size_t		at = place(s, 1);
	size_t		n = 1 + unit_skewed(16);

	if (n > s->size - at)
		n = s->size - at;
	memmove(s->bytes + at, s->bytes + at + n, s->size - at - n);
	s->size -= n;
}

/* The head of one set, the rest of another. */
static byte_string
splice(byte_string s)
{
	byte_string other = mutate_seed();
	size_t		head = unit_below(s.size + 1);
	size_t		from = unit_one_in(2) && head < other.size ? head :
		unit_below(other.size + 1);
	byte_string made;

	made.size = head + other.size - from;
	made.bytes = unit_alloc(made.size + 4 * SPARE);
	memcpy(made.bytes, s.bytes, head);
	memcpy(made.bytes + head, other.bytes + from, other.size - from);
	return made;
}

byte_string
mutate(byte_string s)
{
	static const struct
	{
		const char *name;
		void		(*apply) (byte_string *s);
	}			mutations[] = {
		{" bit flipped", flip_bit},
		{" byte set", set_byte},
		{" number set", set_number},
		{" fields swapped", swap_fields},
		{" cut off", cut_off},
		{" bytes put in", put_in},
		{" bytes taken out", take_out}
	};
	byte_string m;

	/* room for four times put_in */
	m.bytes = unit_alloc(s.size + 4 * SPARE);
	m.size = s.size;
	memcpy(m.bytes, s.bytes, s.size);
	if (unit_one_in(10))
	{
		unit_note(" spliced");
		m = splice(m);
		if (unit_one_in(2))
			return m;
	}
	for (uint64_t n = 1 + unit_skewed(4); n > 0 && m.size > 0; n--)
	{
		/* bits, bytes and numbers twice as often as the rest */
		uint64_t	i = unit_below(10);

		i = i < 7 ? i : i - 7;
		unit_note("%s", mutations[i].name);
		mutations[i].apply(&m);
	}
	return m;
}
