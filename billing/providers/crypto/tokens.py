"""Calls to token contracts: balances, transfers, decimals and symbols."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from billing.providers.crypto import abi
from billing.providers.crypto.configuration import Token
from billing.providers.crypto.errors import EndpointFailed, Misconfigured
from billing.providers.crypto.rpc import HASH, MAX_BLOCK, Call, Node, NodeError, number

TRANSFER = "Transfer(address,address,uint256)"
WORD_HEX = 2 + 64
MAX_LOGS = 2**31  # logs in a block
RECEIVERS = 1000  # receivers in one query for transfers


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    token: str
    sender: str
    receiver: str
    amount: int
    block: int
    block_hash: str
    tx_hash: str
    log_index: int


def balance(token: str, address: str, *, block: int) -> Call:
    return _call(token, abi.selector("balanceOf(address)") + abi.word_of(address), block)


def balance_in(answer: Any) -> int:
    """The balance in an answer.

    Raises EndpointFailed for an empty answer: the contract does not exist at that block.
    """
    if isinstance(answer, NodeError):
        raise EndpointFailed(f"balance: error {answer.code}: {answer.message[:200]}")
    if not isinstance(answer, str) or len(answer) != WORD_HEX:
        raise EndpointFailed("balance: the token's contract does not answer")
    return number(answer)


def facts(token: Token, *, block: int) -> list[Call]:
    return [_call(token.address, abi.selector(name), block) for name in ("decimals()", "symbol()")]


def facts_in(answers: Sequence[object]) -> tuple[int, str]:
    """The decimals and the symbol of a token, from its contract's answers."""
    return balance_in(answers[0]), _text(answers[1])


def check(token: Token, facts: tuple[int, str]) -> None:
    """Raises Misconfigured if the token on the chain differs from the settings."""
    decimals, symbol = facts
    if (decimals, symbol) != (token.decimals, token.symbol):
        raise Misconfigured(
            f"CRYPTO_TOKENS: {token.asset} is {token.symbol} with {token.decimals} decimals, while {token.address} is"
            f" {symbol[:40]} with {decimals}"
        )


def _text(answer: Any) -> str:
    """A string. A few old tokens answer with 32 bytes instead."""
    try:
        raw = bytes.fromhex(str(answer).removeprefix("0x"))
        if len(raw) == 32:
            return raw.rstrip(b"\0").decode()
        return abi.text_in(raw)
    except ValueError as error:
        raise EndpointFailed("symbol: the token's contract does not answer") from error


def _call(token: str, data: str, block: int) -> Call:
    return "eth_call", [{"to": token, "data": data}, hex(block)]


def transfers(
    node: Node, tokens: Sequence[str], receivers: Sequence[str], *, first: int, last: int, step: int
) -> Iterator[Transfer]:
    """Every transfer of these tokens to these addresses in the blocks from `first` to `last`; `last` must be final."""
    spans = [(begin, min(begin + step - 1, last)) for begin in range(first, last + 1, step)]
    groups = [receivers[at : at + RECEIVERS] for at in range(0, len(receivers), RECEIVERS)]
    asked = [(span, group) for span in spans for group in groups]
    answers = node.batch([_logs(tokens, group, span) for span, group in asked])
    for (span, group), answer in zip(asked, answers, strict=True):
        if isinstance(answer, NodeError) and span[0] < span[1]:
            half = (span[1] - span[0] + 1) // 2
            yield from transfers(node, tokens, group, first=span[0], last=span[1], step=half)
        else:
            yield from _transfers_in(node.must(answer), tokens, group)


def _logs(tokens: Sequence[str], receivers: Sequence[str], span: tuple[int, int]) -> Call:
    topics = ["0x" + abi.word_of(receiver) for receiver in receivers]
    where = {"fromBlock": hex(span[0]), "toBlock": hex(span[1]), "address": list(tokens)}
    return "eth_getLogs", [{**where, "topics": [abi.topic(TRANSFER), None, topics]}]


def _transfers_in(answer: Any, tokens: Sequence[str], receivers: Sequence[str]) -> Iterator[Transfer]:
    """Only the transfers that were asked for, whatever the node sends: fake tokens report transfers to anybody."""
    if not isinstance(answer, list):
        raise EndpointFailed("logs: not a list")
    for entry in answer:
        try:
            found = _transfer(entry)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise EndpointFailed("logs: not a transfer") from error
        if found.token in tokens and found.receiver in receivers and found.amount > 0:
            yield found


def _transfer(entry: Any) -> Transfer:
    if entry.get("removed") or entry["topics"][0] != abi.topic(TRANSFER):
        raise ValueError("not a transfer")
    if not all(HASH.fullmatch(str(entry[name])) for name in ("blockHash", "transactionHash")):
        raise ValueError("a hash with a wrong form")
    found = Transfer(
        token=abi.checksummed(entry["address"]),
        sender=abi.address_in(entry["topics"][1]),
        receiver=abi.address_in(entry["topics"][2]),
        amount=number(entry["data"]),
        block=number(entry["blockNumber"]),
        block_hash=str(entry["blockHash"]),
        tx_hash=str(entry["transactionHash"]),
        log_index=number(entry["logIndex"]),
    )
    if found.block >= MAX_BLOCK or found.log_index >= MAX_LOGS:
        raise ValueError("an impossible block or log index")
    return found


def receipt(tx_hash: str) -> Call:
    return "eth_getTransactionReceipt", [tx_hash]


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionReceipt:
    """The result of a transaction. `logs` are as the node reports them, from any contract."""

    block: int
    worked: bool
    logs: list[Any]


def receipt_in(answer: Any) -> TransactionReceipt | None:
    if answer is None:
        return None
    if not isinstance(answer, dict) or not isinstance(answer.get("logs"), list):
        raise EndpointFailed("receipt: none")
    return TransactionReceipt(
        block=number(answer.get("blockNumber")), worked=number(answer.get("status")) == 1, logs=answer["logs"]
    )


def transfers_in(receipt: TransactionReceipt, tokens: Sequence[str]) -> list[Transfer]:
    """The transfers of these tokens in a transaction. Logs of other contracts are ignored."""
    try:
        ours = [entry for entry in receipt.logs if abi.checksummed(entry["address"]) in tokens]
        moved = [_transfer(entry) for entry in ours if entry["topics"][:1] == [abi.topic(TRANSFER)]]
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise EndpointFailed("receipt: no logs") from error
    return [one for one in moved if one.amount > 0]
