"""The words on invoices and receipts, in six languages."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from billing.vocabulary import Period

FALLBACK = "en"


@dataclass(frozen=True, slots=True, kw_only=True)
class InvoiceWords:
    invoice: str
    credit_note: str
    receipt: str
    no_invoice: str
    date: str
    seller: str
    buyer: str
    tax_id: str
    corrects: str
    item: str
    net: str
    tax: str
    total: str
    paid_with: str
    sent_back: str
    reverse_charge: str
    month: str
    year: str


WORDS = {
    "en": InvoiceWords(
        invoice="Invoice",
        credit_note="Credit note",
        receipt="Receipt",
        no_invoice="This is a receipt, not an invoice.",
        date="Date",
        seller="Seller",
        buyer="Buyer",
        tax_id="Tax id",
        corrects="Corrects invoice",
        item="Item",
        net="Net",
        tax="Tax",
        total="Total",
        paid_with="Paid with",
        sent_back="Sent back",
        reverse_charge="Reverse charge: the buyer owes the tax.",
        month="one month",
        year="one year",
    ),
    "es": InvoiceWords(
        invoice="Factura",
        credit_note="Factura rectificativa",
        receipt="Recibo",
        no_invoice="Esto es un recibo, no una factura.",
        date="Fecha",
        seller="Vendedor",
        buyer="Comprador",
        tax_id="NIF/IVA",
        corrects="Rectifica la factura",
        item="Concepto",
        net="Base imponible",
        tax="Impuesto",
        total="Total",
        paid_with="Pagado con",
        sent_back="Devuelto",
        reverse_charge="Inversión del sujeto pasivo: el comprador paga el impuesto.",
        month="un mes",
        year="un año",
    ),
    "id": InvoiceWords(
        invoice="Faktur",
        credit_note="Nota kredit",
        receipt="Tanda terima",
        no_invoice="Ini tanda terima, bukan faktur.",
        date="Tanggal",
        seller="Penjual",
        buyer="Pembeli",
        tax_id="NPWP",
        corrects="Mengoreksi faktur",
        item="Uraian",
        net="Sebelum pajak",
        tax="Pajak",
        total="Jumlah",
        paid_with="Dibayar dengan",
        sent_back="Dikembalikan",
        reverse_charge="Reverse charge: pajak ditanggung pembeli.",
        month="satu bulan",
        year="satu tahun",
    ),
    "pt": InvoiceWords(
        invoice="Fatura",
        credit_note="Nota de crédito",
        receipt="Recibo",
        no_invoice="Isto é um recibo, não uma fatura.",
        date="Data",
        seller="Vendedor",
        buyer="Comprador",
        tax_id="Número fiscal",
        corrects="Corrige a fatura",
        item="Descrição",
        net="Valor sem imposto",
        tax="Imposto",
        total="Total",
        paid_with="Pago com",
        sent_back="Devolvido",
        reverse_charge="Autoliquidação: o imposto é devido pelo comprador.",
        month="um mês",
        year="um ano",
    ),
    "ru": InvoiceWords(
        invoice="Счёт",
        credit_note="Кредит-нота",
        receipt="Квитанция",
        no_invoice="Это квитанция, а не счёт.",
        date="Дата",
        seller="Продавец",
        buyer="Покупатель",
        tax_id="Налоговый номер",
        corrects="Исправляет счёт",
        item="Наименование",
        net="Без налога",
        tax="Налог",
        total="Итого",
        paid_with="Оплачено",
        sent_back="Возвращено",
        reverse_charge="Обратное начисление: налог платит покупатель.",
        month="один месяц",
        year="один год",
    ),
    "tr": InvoiceWords(
        invoice="Fatura",
        credit_note="İade faturası",
        receipt="Makbuz",
        no_invoice="Bu bir makbuzdur, fatura değildir.",
        date="Tarih",
        seller="Satıcı",
        buyer="Alıcı",
        tax_id="Vergi no",
        corrects="Düzelttiği fatura",
        item="Açıklama",
        net="Vergisiz tutar",
        tax="Vergi",
        total="Toplam",
        paid_with="Ödeme",
        sent_back="İade edilen",
        reverse_charge="Ters yükümlülük: vergiyi alıcı öder.",
        month="bir ay",
        year="bir yıl",
    ),
}


def words(lang: str) -> dict[str, str]:
    return asdict(_of(lang))


def period(lang: str, period: Period) -> str:
    """The length of a period in this language: one month or one year."""
    return _of(lang).month if period == Period.MONTHLY else _of(lang).year


def _of(lang: str) -> InvoiceWords:
    return WORDS.get(lang, WORDS[FALLBACK])
