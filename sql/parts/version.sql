--
-- src/version.c: which library runs, and which script made what is here
--

CREATE FUNCTION _roaring64_library(what text)
RETURNS text
AS 'MODULE_PATHNAME', 'roaring64_library'
LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1;
COMMENT ON FUNCTION _roaring64_library(text) IS
'version of the loaded library, or of its CRoaring';

CREATE FUNCTION roaring64_version(OUT library text, OUT script text, OUT croaring text)
LANGUAGE sql STABLE PARALLEL SAFE COST 10
BEGIN ATOMIC
	SELECT _roaring64_library('roaring64'), extversion, _roaring64_library('croaring')
	FROM pg_extension WHERE extname = 'roaring64';
END;
COMMENT ON FUNCTION roaring64_version() IS
'versions of the loaded library, the installed script and CRoaring';

-- The script of a version calls this first, also one that updates to it: a library
-- serves the scripts of its own version and of older ones.  The Makefile fills the
-- version in.
CREATE FUNCTION _roaring64_needs_library(version text)
RETURNS void
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE COST 10
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF string_to_array(@extschema@._roaring64_library('roaring64'), '.')::int[] < string_to_array($1, '.')::int[] THEN
		RAISE object_not_in_prerequisite_state USING
			MESSAGE = format('roaring64 %s needs its library, and that of %s is loaded',
							 $1, @extschema@._roaring64_library('roaring64')),
			HINT = 'Install the files of the new version, and begin a new session.';
	END IF;
END $$;
COMMENT ON FUNCTION _roaring64_needs_library(text) IS
'raises an error if the loaded library is older than a script';

SELECT _roaring64_needs_library('@version@');
