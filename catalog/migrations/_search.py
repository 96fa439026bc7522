"""The documents of the search, and the triggers that keep them whoever writes a persona or a localization."""

# Where a database sorts by the C locale, as the embedded one does, PostgreSQL's parser takes «quotes», dashes and emoji
# for letters: they become blanks before it. A text so long that its document would be refused is cut.
WORDS = r"""
CREATE FUNCTION catalog_words(lang text, written text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN lower(translate(
    regexp_replace(
        normalize(left(written, 6000), NFKC),
        '[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u00d7\u00f7\u2000-\u2bff\u3000-\u303f\ufe00-\ufe0f\U0001f000-\U0001faff]+',
        ' ', 'g'
    ),
    CASE lang WHEN 'tr' THEN 'İI' ELSE 'İ' END, 'iı'
));

CREATE FUNCTION catalog_unaccented(words text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN translate(
    words,
    'àáâãäåçèéêëğìíîïıñòóôõöøşùúûüýÿё',
    'aaaaaaceeeegiiiiinoooooosuuuuyyе'
);

CREATE FUNCTION catalog_config(lang text) RETURNS regconfig LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE lang
    WHEN 'ru' THEN 'russian'::regconfig
    WHEN 'es' THEN 'spanish'::regconfig
    WHEN 'pt' THEN 'portuguese'::regconfig
    WHEN 'tr' THEN 'turkish'::regconfig
    WHEN 'ind' THEN 'indonesian'::regconfig
    ELSE 'english'::regconfig
END;
"""

# After the words come those with accents once more, without them: many people type none.
DOCUMENT = """
CREATE FUNCTION catalog_lexemes(lang text, written text, weight "char") RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    words text := catalog_words(lang, written);
BEGIN
    IF octet_length(words) <> length(words) THEN
        words := concat_ws(' ', words, (
            SELECT string_agg(plain, ' ')
            FROM unnest(string_to_array(words, ' '), string_to_array(catalog_unaccented(words), ' ')) AS pair (word, plain)
            WHERE word <> plain
        ));
    END IF;
    RETURN setweight(to_tsvector(catalog_config(lang), words), weight);
END $$;

CREATE FUNCTION catalog_document(
    lang text, name text, tagline text, tags text[], does text[], examples jsonb, for_who text
) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT catalog_lexemes(lang, name, 'A')
        || catalog_lexemes(lang, concat_ws(' ', tagline, array_to_string(tags, ' ')), 'B')
        || catalog_lexemes(lang, concat_ws(
            ' ',
            array_to_string(does, ' '),
            (SELECT string_agg(example #>> '{}', ' ') FROM jsonb_path_query(examples, 'lax $.*') AS example)
        ), 'C')
        || catalog_lexemes(lang, for_who, 'D')
$$;
"""

# All languages of a persona, or the one that is named.
WRITE = """
CREATE FUNCTION catalog_write_documents(wanted text, wanted_lang text) RETURNS void LANGUAGE sql AS $$
    INSERT INTO catalog_personadocument (persona_id, lang, category, tier, position, public, document)
    SELECT
        persona.id, text.lang, persona.category, persona.tier, persona.position,
        NOT persona.hidden AND NOT persona.gone AND persona.status IN ('builtin', 'published'),
        catalog_document(
            text.lang, text.name, text.tagline, persona.tags::text[], text.does, text.does_examples, text.for_who
        )
    FROM catalog_persona AS persona CROSS JOIN LATERAL (
        SELECT 'en' AS lang, persona.name, persona.tagline, persona.does::text[] AS does, persona.does_examples,
            persona.for_who
        UNION ALL
        SELECT lang, name, tagline, does::text[], does_examples, for_who FROM catalog_personal10n
        WHERE persona_id = persona.id AND NOT hidden AND NOT gone AND lang IN ('ru', 'es', 'pt', 'tr', 'ind')
    ) AS text
    WHERE persona.id = wanted AND (wanted_lang IS NULL OR text.lang = wanted_lang)
    ON CONFLICT (persona_id, lang) DO UPDATE SET
        category = EXCLUDED.category, tier = EXCLUDED.tier, position = EXCLUDED.position,
        public = EXCLUDED.public, document = EXCLUDED.document
$$;
"""

# The path is fixed because a restore of data alone has none.
PERSONA = """
CREATE FUNCTION catalog_persona_written() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM catalog_write_documents(NEW.id, NULL);
    RETURN NULL;
END $$;

CREATE FUNCTION catalog_persona_deleted() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM catalog_personadocument WHERE persona_id = OLD.id;
    RETURN NULL;
END $$;

CREATE TRIGGER persona_created AFTER INSERT ON catalog_persona
FOR EACH ROW EXECUTE FUNCTION catalog_persona_written();

CREATE TRIGGER persona_changed AFTER UPDATE ON catalog_persona FOR EACH ROW WHEN (
    (OLD.name, OLD.tagline, OLD.tags, OLD.does, OLD.does_examples, OLD.for_who,
     OLD.category, OLD.tier, OLD.position, OLD.hidden, OLD.gone, OLD.status)
    IS DISTINCT FROM
    (NEW.name, NEW.tagline, NEW.tags, NEW.does, NEW.does_examples, NEW.for_who,
     NEW.category, NEW.tier, NEW.position, NEW.hidden, NEW.gone, NEW.status)
) EXECUTE FUNCTION catalog_persona_written();

CREATE TRIGGER persona_deleted AFTER DELETE ON catalog_persona
FOR EACH ROW EXECUTE FUNCTION catalog_persona_deleted();
"""

# The persona's row is locked: whoever publishes it at the same time waits, or is waited for, so that no document is
# written with what the persona was before.
LOCALIZATION = """
CREATE FUNCTION catalog_localization_written() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM 1 FROM catalog_persona WHERE id = NEW.persona_id FOR NO KEY UPDATE;
    IF NEW.hidden OR NEW.gone THEN
        DELETE FROM catalog_personadocument WHERE persona_id = NEW.persona_id AND lang = NEW.lang;
    ELSE
        PERFORM catalog_write_documents(NEW.persona_id, NEW.lang);
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION catalog_localization_gone() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM catalog_personadocument WHERE persona_id = OLD.persona_id AND lang = OLD.lang;
    RETURN NULL;
END $$;

CREATE TRIGGER a_localization_moved AFTER UPDATE ON catalog_personal10n FOR EACH ROW
WHEN ((OLD.persona_id, OLD.lang) IS DISTINCT FROM (NEW.persona_id, NEW.lang))
EXECUTE FUNCTION catalog_localization_gone();

CREATE TRIGGER localization_created AFTER INSERT ON catalog_personal10n
FOR EACH ROW EXECUTE FUNCTION catalog_localization_written();

CREATE TRIGGER localization_changed AFTER UPDATE ON catalog_personal10n FOR EACH ROW WHEN (
    (OLD.persona_id, OLD.lang, OLD.name, OLD.tagline, OLD.does, OLD.does_examples, OLD.for_who, OLD.hidden, OLD.gone)
    IS DISTINCT FROM
    (NEW.persona_id, NEW.lang, NEW.name, NEW.tagline, NEW.does, NEW.does_examples, NEW.for_who, NEW.hidden, NEW.gone)
) EXECUTE FUNCTION catalog_localization_written();

CREATE TRIGGER localization_deleted AFTER DELETE ON catalog_personal10n
FOR EACH ROW EXECUTE FUNCTION catalog_localization_gone();
"""

# A part for each language, since a search reads one. Documents stay in their rows as they are: to find and unpack each
# elsewhere is what makes ranking slow. The index has no list of pending entries, which every search would read.
COLUMNS = [
    "persona_id varchar(80) NOT NULL REFERENCES catalog_persona (id) DEFERRABLE INITIALLY DEFERRED",
    "lang varchar(3) NOT NULL",
    "category varchar(20) NOT NULL",
    "tier varchar(20) NOT NULL",
    "position integer NOT NULL",
    "public boolean NOT NULL",
    "document tsvector NOT NULL",
    "PRIMARY KEY (persona_id, lang)",
]
TABLE = f"CREATE TABLE catalog_personadocument ({', '.join(COLUMNS)}) PARTITION BY LIST (lang);"
TABLE += """
ALTER TABLE catalog_personadocument ALTER COLUMN document SET STORAGE MAIN;
CREATE INDEX persona_document ON catalog_personadocument USING gin(document) WITH(fastupdate=off) WHERE public;
"""
TABLE += "".join(
    f"CREATE TABLE catalog_personadocument_{lang} PARTITION OF catalog_personadocument FOR VALUES IN ('{lang}')"
    " WITH (toast_tuple_target = 8160);\n"
    for lang in ("en", "ru", "es", "pt", "tr", "ind")
)

UNDO = """
DROP FUNCTION catalog_localization_written, catalog_localization_gone, catalog_persona_written, catalog_persona_deleted
CASCADE;
DROP FUNCTION catalog_write_documents, catalog_document, catalog_config, catalog_lexemes, catalog_unaccented,
    catalog_words;
DROP TABLE catalog_personadocument;
"""

MAKE = TABLE + WORDS + DOCUMENT + WRITE + PERSONA + LOCALIZATION
