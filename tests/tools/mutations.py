# SPDX-License-Identifier: MIT
"""Places in C source where one operator can be replaced; for tests/mutants."""

import re

# Replacements of each token. In this code style a space on both sides tells a binary operator from
# a pointer, an address or a sign.
OTHERS = {
    '<': ['<='], '<=': ['<'], '>': ['>='], '>=': ['>'], '==': ['!='], '!=': ['=='],
    '&&': ['||'], '||': ['&&'], '+': ['-'], '-': ['+'], '*': ['/'], '/': ['*'], '%': ['/'],
    '<<': ['>>'], '>>': ['<<'], '&': ['|'], '|': ['&'], '^': ['&'],
    '+=': ['-='], '-=': ['+='], '|=': ['&='], '&=': ['|='], '++': ['--'], '--': ['++'],
    '!': [''], 'true': ['false'], 'false': ['true'],
    '0': ['1'], '1': ['0'],
}
SPACED = {'+', '-', '*', '/', '%', '&', '|', '^', '<', '>', '<<', '>>'}
TOKEN = re.compile(r'''
    [A-Za-z_]\w* | 0[xX][0-9a-fA-F]+\w* | \d[\w.]* |
    <<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]= | \S''', re.X)


def blanked(text):
    """The source with comments, literals and preprocessor lines blanked; positions stay the
    same."""
    def blank(match):
        return re.sub(r'[^\n]', ' ', match.group())
    text = re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*', blank, text,
                  flags=re.S)
    return re.sub(r'^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', blank, text, flags=re.M)


def bodies(code):
    """The ranges [from, to) of function bodies: a brace alone in the first column opens one."""
    return [match.span() for match in re.finditer(r'^\{.*?^\}', code, flags=re.M | re.S)]


def mutations(text):
    """Each change of one operator in a function: (place, old, new)."""
    code = blanked(text)
    found = []
    for start, end in bodies(code):
        for match in TOKEN.finditer(code, start, end):
            old, place = match.group(), match.start()
            spaced = code[place - 1:place] == ' ' and code[match.end():match.end() + 1] in ' \n'
            if old in SPACED and not spaced:
                continue
            found += [(place, old, new) for new in OTHERS.get(old, [])]
    return found


def changed(text, mutation):
    place, old, new = mutation
    return text[:place] + new + text[place + len(old):]


def line_of(text, place):
    """Line number of a position, and the line."""
    number = text.count('\n', 0, place) + 1
    return number, text.split('\n')[number - 1].strip()
