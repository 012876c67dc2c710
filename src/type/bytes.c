/*-------------------------------------------------------------------------
 *
 * bytes.c
 *	  Bytes from elsewhere: recv, the cast of bytea, the check.
 *
 * Bytes that do not come from our own storage are validated completely before
 * they are used, and rewritten if they are legal but not canonical.  All ways
 * in (the wire, bytea, the hex form of text) lead through
 * roaring64_from_bytes, the only function that reports what is wrong with
 * such bytes.
 *
 * src/type/bytes.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "libpq/pqformat.h"
#include "utils/builtins.h"

#include "roaring64.h"

/*
 * Returns the canonical form of foreign bytes as a datum.  Reports what is
 * wrong with them with ERRCODE_INVALID_BINARY_REPRESENTATION; softly, if
 * context is an ErrorSaveContext, and then returns (Datum) 0.
 */
Datum
roaring64_from_bytes(const void *bytes, Size size, Node *context)
{
	r64_diagnosis why;
	struct varlena *copy;

	switch (r64_check(&roaring64_env, bytes, size, &why))
	{
		case R64_INVALID:
			ereturn(context, (Datum) 0,
					(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
					 errmsg("invalid binary representation of type roaring64"),
					 errdetail("Invalid data at byte %zu: %s.",
							   why.offset, why.reason),
					 why.is_32bit ?
					 errhint("To convert a 32-bit bitmap, prepend '\\x010000000000000000000000'::bytea.") :
					 errhint("Use the portable serialization of a 64-bit Roaring bitmap.")));
		case R64_LEGAL:
			return roaring64_datum(r64_canonicalise(&roaring64_env,
													bytes, size));
		case R64_CANONICAL:
			break;
	}

	copy = palloc(VARHDRSZ + size);
	SET_VARSIZE(copy, VARHDRSZ + size);
	memcpy(VARDATA(copy), bytes, size);
	return PointerGetDatum(copy);
}

/*
 * roaring64_recv(internal) returns roaring64: binary input.
 * Errors: see roaring64_from_bytes.
 */
PG_FUNCTION_INFO_V1(roaring64_recv);
Datum
roaring64_recv(PG_FUNCTION_ARGS)
{
	StringInfo	message = (StringInfo) PG_GETARG_POINTER(0);
	int			size = message->len - message->cursor;

	return roaring64_from_bytes(pq_getmsgbytes(message, size), size, NULL);
}

/*
 * roaring64_from_bytea(bytea) returns roaring64: the cast.
 * Errors: see roaring64_from_bytes.
 */
PG_FUNCTION_INFO_V1(roaring64_from_bytea);
Datum
roaring64_from_bytea(PG_FUNCTION_ARGS)
{
	bytea	   *bytes = PG_GETARG_BYTEA_PP(0);

	return roaring64_from_bytes(VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes),
								NULL);
}

/*
 * roaring64_invalid_reason(bytea) returns text: NULL if the cast would take the bytes,
 * else the reason why it refuses them and the byte at which it shows.
 */
PG_FUNCTION_INFO_V1(roaring64_invalid_reason);
Datum
roaring64_invalid_reason(PG_FUNCTION_ARGS)
{
	bytea	   *bytes = PG_GETARG_BYTEA_PP(0);
	r64_diagnosis why;

	if (r64_check(&roaring64_env, VARDATA_ANY(bytes),
				  VARSIZE_ANY_EXHDR(bytes), &why) != R64_INVALID)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(psprintf("%s at byte %zu",
											  why.reason, why.offset)));
}
