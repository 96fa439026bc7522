"""What no model says: rows that nobody changes, and the numbers of deposit addresses."""

# The ledger is append-only, whoever writes to it (billing/models/payments.py).
PAYMENT_REFUSE = """
CREATE FUNCTION billing_payment_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'billing_payment is append-only: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER billing_payment_stays BEFORE UPDATE OR DELETE ON billing_payment
    FOR EACH ROW EXECUTE FUNCTION billing_payment_stays();
"""
PAYMENT_ALLOW = """
DROP TRIGGER billing_payment_stays ON billing_payment;
DROP FUNCTION billing_payment_stays();
"""

_TABLES = ("billing_decision", "billing_sweep")
ROWS_REFUSE = """
CREATE FUNCTION billing_row_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END $$;
""" + "".join(
    f"""
CREATE TRIGGER {table}_stays BEFORE UPDATE OR DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION billing_row_stays();
"""
    for table in _TABLES
)
ROWS_ALLOW = (
    "".join(f"DROP TRIGGER {table}_stays ON {table};" for table in _TABLES) + "DROP FUNCTION billing_row_stays();"
)

# An erased account's invoices lose the buyer's e-mail address, and nothing else.
INVOICE_REFUSE = """
CREATE FUNCTION billing_invoice_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND to_jsonb(NEW) = jsonb_set(to_jsonb(OLD), '{buyer,email}', '""') THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'billing_invoice is append-only: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER billing_invoice_stays BEFORE UPDATE OR DELETE ON billing_invoice
    FOR EACH ROW EXECUTE FUNCTION billing_invoice_stays();
"""
INVOICE_ALLOW = """
DROP TRIGGER billing_invoice_stays ON billing_invoice;
DROP FUNCTION billing_invoice_stays();
"""

DEPOSIT_INDEX = "CREATE SEQUENCE billing_deposit_index AS integer MINVALUE 0 START 0"
NO_DEPOSIT_INDEX = "DROP SEQUENCE billing_deposit_index"
