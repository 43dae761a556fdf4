"""A model file that counts, with the claims that a test gives."""

_MODEL = '''
from rocketproof_model import Int, Model, after

SCOPES = {"small": {"N": 3}, "large": {"N": 6}}
EXPECTED = {"below two": "violated"}


def model(N):
    m = Model("counter")
    n = m.var("n", Int(0, N), init=0)

    @m.action(fair="weak")
    def up(a):
        """The counter goes up."""
        a.guard("room", n < N, "there is room")
        a.set(n, n + 1)

'''


def counting(*claims: str) -> str:
    """Return the text of the model; its claims are statements about `m`, `n` and `N`."""
    return _MODEL + "".join(f"    {claim}\n" for claim in (*claims, "return m"))
