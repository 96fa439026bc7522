"""What no model says: a note about a person is added and deleted, with the account of its person, and never changed."""

NOTES_STAY = """
CREATE FUNCTION accounts_personnote_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'accounts_personnote is append-only: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER accounts_personnote_stays BEFORE UPDATE ON accounts_personnote
    FOR EACH ROW EXECUTE FUNCTION accounts_personnote_stays();
"""
NOTES_MAY_CHANGE = """
DROP TRIGGER accounts_personnote_stays ON accounts_personnote;
DROP FUNCTION accounts_personnote_stays();
"""
