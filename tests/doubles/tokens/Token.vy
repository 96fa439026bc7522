# pragma version 0.4.3
# A stablecoin as tests need it: any number of decimals, a fee on transfers, a pause, and a list of refused addresses.
# Made into Token.json by vyper 0.4.3 from PyPI: `vyper -f abi,bytecode` (ABI and creation code, nothing else).

event Transfer:
    sender: indexed(address)
    receiver: indexed(address)
    amount: uint256

symbol: public(String[32])
decimals: public(uint8)
balanceOf: public(HashMap[address, uint256])
fee_percent: public(uint256)
paused: public(bool)
refused: public(HashMap[address, bool])

@deploy
def __init__(symbol: String[32], decimals: uint8):
    self.symbol = symbol
    self.decimals = decimals

@external
def mint(to: address, amount: uint256):
    self.balanceOf[to] += amount
    log Transfer(sender=empty(address), receiver=to, amount=amount)

@external
def transfer(to: address, amount: uint256) -> bool:
    assert not self.paused, "paused"
    assert not self.refused[msg.sender], "refused"
    delivered: uint256 = amount - amount * self.fee_percent // 100
    self.balanceOf[msg.sender] -= amount
    self.balanceOf[to] += delivered
    log Transfer(sender=msg.sender, receiver=to, amount=delivered)
    return True

@external
def announce(to: address, amount: uint256):
    """A lie: an event without a transfer, as fake tokens emit it."""
    log Transfer(sender=msg.sender, receiver=to, amount=amount)

@external
def set_fee(percent: uint256):
    self.fee_percent = percent

@external
def pause(paused: bool):
    self.paused = paused

@external
def refuse(owner: address):
    """What an issuer does with an address on its list."""
    self.refused[owner] = True
