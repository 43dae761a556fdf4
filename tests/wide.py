"""A model of many bits, which has more states than anybody searches, for tests of limits and interrupts."""

MANY = '"not many", ~(on[0] & on[1] & on[2] & on[3] & on[4] & on[5] & on[6] & on[7] & on[8]), "the first bits are not all on"'
TWO = '"not two", ~(on[3] & on[4]), "bits 3 and 4 are never on together"'


def wide(*claims: str, bits: int = 40) -> str:
    """The text of the model, with 2**bits states and these claims, all of which are violated."""
    lines = "".join(f"    m.always({claim})\n" for claim in claims)
    expected = ", ".join(f'{claim.split(",")[0]}: "violated"' for claim in claims)
    return f'''
from rocketproof_model import Bool, Model


def model():
    m = Model("wide")
    Bit = m.index("Bit", {bits})
    on = m.var("on", Bool, over=Bit, init=False)

    @m.action(b=Bit)
    def switch(a, b):
        """A bit is switched on."""
        a.guard("off", ~on[b], "the bit is off")
        a.set(on[b], True)

{lines}    return m


EXPECTED = {{{expected}}}
'''
