"""What no model says: the history of settings, which nobody changes."""

CHANGES_REFUSE = """
CREATE FUNCTION config_settingchange_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'config_settingchange is append-only: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER config_settingchange_stays BEFORE UPDATE OR DELETE ON config_settingchange
    FOR EACH ROW EXECUTE FUNCTION config_settingchange_stays();
"""
CHANGES_ALLOW = """
DROP TRIGGER config_settingchange_stays ON config_settingchange;
DROP FUNCTION config_settingchange_stays();
"""
