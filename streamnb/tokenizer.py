"""Text to tokens.

Law: the tokens of a text depend on the text and on the tokenizer alone.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any

TOKENS = r"\w+(?:['-]\w+)*|[^\w\s]"
"""The default tokenizer: words, with apostrophes and hyphens inside, and each other mark as a token of its own."""

Tokenizer = str | Callable[[str], Iterable[str]]
"""A regular expression, whose matches in the lower-cased text are the tokens, or a function from a text to them."""


class Tokens:
    """Cuts a text, or a list of texts, into its tokens; leaves alone what is neither.

    Raises ValueError for what is no regular expression.

    >>> Tokens(TOKENS)("Free entry: TEXT it's-free now!!")
    ['free', 'entry', ':', 'text', "it's-free", 'now', '!', '!']
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._cut = None if isinstance(tokenizer, str) else tokenizer
        self._pattern = re.compile("")
        if isinstance(tokenizer, str):
            try:
                self._pattern = re.compile(tokenizer)
            except re.error as error:
                raise ValueError(f"tokenizer is {tokenizer!r}: it must be a regular expression ({error})") from error
            if self._pattern.groups > 1:
                raise ValueError(f"tokenizer is {tokenizer!r}: it may have one group; (?:...) makes none")
        elif not callable(tokenizer):
            raise ValueError(  # noqa: TRY004 - as for every setting that cannot be
                f"tokenizer is {tokenizer!r}: it must be a regular expression or a function"
            )

    def __call__(self, value: Any) -> Any:
        """Return the tokens of a text."""
        if isinstance(value, str):
            return self._tokens(value)
        if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
            return [token for part in value for token in self._tokens(part)]
        return value

    def _tokens(self, text: str) -> list[str]:
        return self._pattern.findall(text.lower()) if self._cut is None else list(self._cut(text))
