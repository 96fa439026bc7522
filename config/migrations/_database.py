"""What no model says: the history of settings and the audit log, which nobody changes."""

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

# In rows that name an erased customer, the customer's name can be emptied, and nothing else.
AUDIT_REFUSE = """
CREATE FUNCTION config_auditentry_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND to_jsonb(NEW) =
        to_jsonb(OLD) || jsonb_build_object('label', OLD.object_id, 'reason', '', 'changes', '[]'::jsonb) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'config_auditentry is append-only: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER config_auditentry_stays BEFORE UPDATE OR DELETE ON config_auditentry
    FOR EACH ROW EXECUTE FUNCTION config_auditentry_stays();
"""
AUDIT_ALLOW = """
DROP TRIGGER config_auditentry_stays ON config_auditentry;
DROP FUNCTION config_auditentry_stays();
"""
