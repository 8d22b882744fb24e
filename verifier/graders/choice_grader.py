r"""Multiple choice: find the label that a reply settles on.

There is one extractor. It looks for cues ("answer", "Antwort", "答案", ``\boxed``) and the last cue that is followed
by a label, by the text of exactly one option, or by a refusal ("none of the above") decides. A line that is nothing
but ``ANSWER: X`` goes before every later cue inside a sentence, and "the answer is A if ..." before none. Weaker signs
(a verb of choosing, "B is correct", a reply that is hardly more than a letter) are looked at only where no cue decides.

A label is a whole token of the item's own labels: neither the article "a" nor the pronoun "I" is an answer. Two
different labels after one cue, or a refusal, are no answer.
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from verifier.graders.verdict import Verdict
from verifier.items import Item

GRADER = "choice"
VERSION = "2"

# How much of a reply's end is read, how far after a cue its label may stand, and how many cues are looked at, the
# last first. They bound the work, whatever the text holds.
_TAIL = 200_000
_WINDOW = 240
_MOST_CUES = 1_000
_MARKUP = " *_`\"'“”‘’$.,;:!<>"

# What may not touch a label. CJK characters may: "选B是因为".
_LETTER = r"A-Za-z0-9_\u00c0-\u024f\u0370-\u03ff\u0400-\u04ff"
_WORDS = (
    "answer|answers|antwort|lösung|réponse|reponse|respuesta|risposta|resposta|ответ|答案|答え|正解|정답|option|choice"
    "|letter|选项"
)
_CUE = re.compile(
    # "故选:B" and "答:B", but not "请选择:" above the options.
    r"(?P<chosen>(?<!不)选(?!项)择?(?:[ \t]{0,3}:(?![ \t]*\n))?|答[ \t]{0,3}:(?![ \t]*\n)|答案(?=\s+[(*]*[A-Z]))"
    rf"|(?<![{_LETTER}])(?P<word>{_WORDS})(?![{_LETTER}])|(?P<box>\\f?box(?:ed)?\s*{{)",
    re.IGNORECASE,
)
# Words, at most six, and then what leads to the answer: "answer to this question should therefore be", "答案是".
_LINK = re.compile(
    r"[\"'`*_)\s]{0,8}(?:(?:(?![.?!:=])[^\s.?!:=]{1,20}[ \t]+){0,6}?"
    r"(?:is|be|ist|lautet|est|es|è|é)(?![A-Za-z])"
    r"(?:[ \t]+(?:most[ \t]+|very[ \t]+)?(?:likely|probably|possibly|perhaps|definitely|certainly|clearly|obviously"
    r"|surely|actually|indeed|simply|therefore|thus|hence|then)\b,?)?"
    r"|[^\w\s:=.?!>]{0,3}[:=>→⇒⟹➔➜➡]|[ \t][-–—][ \t]"
    r"|[^\s:=.?!>A-Za-z]{0,6}?[是为為は])"
    r"[\s:]*",
    re.IGNORECASE,
)
# "Option A: gene" and "answer A is short" speak of an option and do not choose it; "the answer I give is" may.
_NAMES_ONE = re.compile(r"[\s*(\[]{0,4}[A-HJ-Z][)\]*]{0,3}(?:\s|:|是)")
_NEGATION = re.compile(
    r"\b(?:not|cannot|never|[a-z]{2,6}n['’]t|can['’]t|nicht|wrong|incorrect)\b", re.IGNORECASE
)
# "A? No."
_DENIED = re.compile(r"[)\]*_\s]{0,4}\?[*_\"\s]{0,4}(?:no|nope|not|wrong|incorrect|never)\b", re.IGNORECASE)
# "neither A nor B; it is C", "not A but C"
_RULED_OUT = re.compile(
    r"(?:neither|not)\s+\(?[A-Z]\)?(?:\s*(?:,|\b(?:and|or|nor)\b)\s*\(?[A-Z]\)?(?![A-Za-z])){0,8}"
    r"(?:\s*[;,.]?\s*\bbut(?:\s+rather)?|\s*[;,.]\s*(?:it\s+(?:is|must\s+be)|it['’]s))\s+"
)
_UNMEANT = re.compile(
    r"(?:\b(?:if|whether|unless|suppose|were|wrong|incorrect|falsche|another|other|each|every|any|alternative)[ \t]+"
    r"|\b(?:explanations?|explaining|discussion|analysis|review)[ \t]+(?:of|for)[ \t]+)"
    r"(?:that[ \t]+)?(?:the[ \t]+|all[ \t]+)*(?:final[ \t]+|correct[ \t]+|right[ \t]+|possible[ \t]+)?$",
    re.IGNORECASE,
)
# "A if you ignore friction": said of a case that need not be the item's.
_CONDITION = re.compile(
    r"[)\].*_\s]{0,4},?[ \t]+(?:only[ \t]+)?(?:if|unless|provided|assuming|had|were|under[ \t]+the[ \t]+assumption)\b",
    re.IGNORECASE,
)
# The line that the prompt asks for.
_LINE = re.compile(
    rf"^[ \t*_#>`$\\(\[{{]{{0,8}}(?:(?:the|my)[ \t]+)?(?:(?:final|correct|right|best)[ \t]+)?"
    rf"(?:{_WORDS})[ \t*_\"'`]{{0,6}}"
    r"[:=][ \t*_]{0,8}(?P<rest>[^\n]{1,4000})$",
    re.IGNORECASE | re.MULTILINE,
)
_ONLY_LABEL = re.compile(
    r"(?:[\s*_`\"'“”‘’«»$(\[{<>#]|\\(?:boxed|fbox|text|textbf|textit|mathrm|mathbf|bf|rm)\b){0,8}(?P<label>[A-Za-z])"
    r"[\s*_`\"'“”‘’«»$)\]}<>.,;!]*"
)
# Markup and words between the link and the label: "**(", "\text{", "$", "option ".
_FILLER = re.compile(
    r"(?:[\s*_`\"'“”‘’«»$(\[{<>#]|\\(?:boxed|fbox|text|textbf|textit|mathrm|mathbf|bf|rm)\b|\\[(\[]"
    r"|(?:the\s+)?(?:correct\s+|final\s+)?(?:option|choice|letter|answer|antwort)\b(?!\s*[:=])|选项|选){0,12}",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"(?:none|no\s+(?:answer|option|choice|correct|one|idea|label)|neither|n/a|nothing|unknown|unsure|unclear|uncertain|undetermined"
    r"|cannot|can['’]?t|don['’]?t|do\s+not|I\s+(?:do\s+not|don['’]?t|cannot|can['’]?t|am\s+not)|not\s+(?:sure|known|listed|given|"
    r"possible|provided|among)|impossible|all\s+of|both|keine|weder|weiß\s+nicht|aucune|ninguna|nessuna|以上都|都不|无法|不知道)",
    re.IGNORECASE,
)
# After "A" or "I" a word goes on with the sentence, unless it is one of these.
_GOES_ON = re.compile(
    r"[ \t]+(?!(?:because|since|as|for|which|with|due|based|by|from|given|so|according|if|when|where|only|and|or|but|is"
    r"|in|on|therefore|thus|hence|however|instead|weil|denn|da|porque|car|und|oder)\b)[a-z]"
)
_AND_ANOTHER = re.compile(
    rf"[)\].*_\s]*(?:/|&|,?\s*\b(?:and|or|und|oder|y|et)\b(?:\s+(?:maybe|perhaps|possibly|probably))?|[、和或]"
    rf"|,(?=[\s(*]*[A-Za-z][)*]*\s*(?:$|[,.\n]))|(?<=[ \t])(?=[A-Z][).*]{{0,2}}[ \t]*(?:$|\n)))[\s(*_]*"
    rf"(?P<label>[A-Za-z])(?![{_LETTER}'’])"
)
_NOT_A_LABEL = re.compile(rf"[{_LETTER}+#%°]|['’][A-Za-z]|[-‐‑.][{_LETTER}]|\s*=")
_ENDS = re.compile(r"\s*(?:$|\n|[)\].:,;!*\"'}$<|])")

_VERB = re.compile(
    rf"(?<![{_LETTER}])(?:pick|picked|choose|chose|choosing|select|selected|go(?:ing)?\s+with|opt(?:ing)?\s+for|wähle|nehme)"
    # "it must be (B)", "so, B": at the end of a line.
    rf"(?![{_LETTER}])[\s:]*"
    r"|\b(?:it['’]s|it\s+is|it\s+(?:must|should|has\s+to)\s+be|so|thus|hence|therefore),?\s+"
    r"(?=[(*$]{0,3}[A-Z][)*$.!]{0,4}[ \t]*(?:$|\n))"
    # "Correct: B", "Probably B", "I'd say B": as a line, or the beginning of one.
    r"|(?:(?<=\n)|^)[ \t*_#>]{0,6}(?:(?:correct|solution)[*_]{0,2}:[*_]{0,2}|(?:most[ \t]+)?(?:probably|likely)"
    r"|I(?:['’]d|[ \t]would)[ \t]+say|I(?:['’]d|[ \t]would)[ \t]+guess|my[ \t]+guess[ \t]+is):?[ \t]+"
    r"(?=[(*$]{0,3}[A-Z][)*$.!,;]{0,4}[ \t]*(?:$|\n|because\b|since\b))",
    re.IGNORECASE,
)
_IS_RIGHT = re.compile(
    rf"(?<![{_LETTER}'’])\(?(?P<label>[A-Z])\)?[*.:]{{0,3}}\s+(?:is|ist|seems|must\s+be)\s+(?:therefore\s+|the\s+|thus\s+)?"
    r"(?:only\s+)?(?:correct|right|best|answer|true|richtig)\b"
    rf"|(?<![{_LETTER}'’])(?P<chinese>[A-Z])是?(?:正确|对的)"
    # "A is not the answer. D is."
    r"|(?:\bnot\b|n['’]t\b)[^.;\n]{0,80}[.;,]\s{1,3}(?:but\s)?(?P<other>[A-Z])\s+is[.!]?\s{0,5}$"
)
_NAMED = re.compile(
    rf"(?:\b(?:answer|option|choice|antwort)\s+|选项\s*)[(*\[$]{{0,3}}(?P<label>[A-Z])(?![{_LETTER}'’+#]|[)*\]]{{0,3}}\?)",
    re.IGNORECASE,
)
_BOLD = re.compile(r"\*\*\(?(?P<label>[A-Z])(?:[).:][^*\n]*)?\*\*")
_LABELLED_LINE = re.compile(
    r"[\s*_#>(\[$\"'`]{0,8}(?:-[ \t]{1,3}|\d{1,2}[.)][ \t]{1,3})?"
    r"[*_(\[$\"'`]{0,4}(?P<label>[A-Za-z])(?:[)\]*_$\"'`\s]{0,4}$|[)\].:*]{1,4}(?:\s|$))"
)


@dataclass(frozen=True)
class _Found:
    """What a cue leads to: a label, or None for a refusal or for several labels."""

    label: str | None


@dataclass(frozen=True)
class _Options:
    """The options of an item: their labels, the labels by text (where no other has it), and how far to read for one.

    ``bare`` has the texts without their first article.
    """

    labels: str
    exact: Mapping[str, str]
    folded: Mapping[str, str]
    bare: Mapping[str, str]
    window: int


def extract_choice(text: str, labels: str, choices: Sequence[str]) -> str | None:
    """Return the label that a reply settles on in its last 200,000 characters, or None.

    Parameters
    ----------
    labels
        The labels of the item in order, one letter each: ``ABCD``.
    choices
        The text of each option. A reply that repeats the text of exactly one option after a cue, or as its last
        line, has chosen it.
    """
    # Full-width and circled letters and Chinese punctuation become plain ones.
    text = unicodedata.normalize("NFKC", text[-_TAIL:])[-_TAIL:]
    options = _options(labels, choices)
    found = (
        _stated(text, options)
        or _last(text, _CUE, _after_cue, options)
        or _last(text, _CUE, _after_cue, options, conditional=True)
        or _last(text, _VERB, _after_verb, options)
        or _only(text, labels)
        or _bare(text, options)
    )
    return found.label if found else None


def grade_choice(item: Item, text: str) -> Verdict:
    """Judge a reply to a multiple choice item; a reply without a choice is ``no_answer`` and not correct."""
    label = extract_choice(text, item.labels, item.choices)
    outcome = "no_answer" if label is None else "ok"
    return Verdict(outcome, label is not None and label == item.answer, label, GRADER, VERSION)


def _options(labels: str, choices: Sequence[str]) -> _Options:
    texts = [" ".join(unicodedata.normalize("NFKC", choice).split()) for choice in choices]
    return _Options(
        labels,
        exact=_unique(labels, [text.strip(_MARKUP) for text in texts]),
        folded=_unique(labels, [_folded(text) for text in texts]),
        bare=_unique(labels, [_without_article(text) for text in texts]),
        window=_WINDOW + max(map(len, texts), default=0),
    )


def _unique(labels: str, texts: Sequence[str]) -> dict[str, str]:
    return {text: label for label, text in zip(labels, texts) if text and texts.count(text) == 1}


def _folded(words: str) -> str:
    """Return words without what a repetition of an option may change: case, spaces, brackets, markup, full stop."""
    return " ".join(words.split()).strip(_MARKUP + "()[]{}\\").casefold()


def _without_article(words: str) -> str:
    return re.sub(r"^(?:the|an?) (?=.{2})", "", _folded(words))


def _option(words: str, options: _Options) -> str | None:
    """Return the label of the one option whose text this is."""
    exact = options.exact.get(" ".join(words.split()).strip(_MARKUP))
    return exact or options.folded.get(_folded(words)) or options.bare.get(_without_article(words))


def _after_cue(text: str, cue: re.Match[str], window: int) -> tuple[int, int] | None:
    """Return where the answer to a cue should begin and where it must end, or None if the cue leads to none."""
    start = cue.end()
    if cue["box"]:
        return start, _closing(text, start, start + window)
    if cue["chosen"]:
        return start, start + window
    if _NAMES_ONE.match(text, start) or _UNMEANT.search(text, max(0, cue.start() - 40), cue.start()):
        return None
    link = _LINK.match(text, start, start + _WINDOW)
    if link is None or _NEGATION.search(link[0]):
        return None
    return link.end(), link.end() + window


def _after_verb(_text: str, verb: re.Match[str], window: int) -> tuple[int, int]:
    return verb.end(), verb.end() + window


def _closing(text: str, start: int, end: int) -> int:
    """Return where the brace opened before ``start`` is closed; ``end`` where it is not."""
    depth = 1
    for brace in re.finditer(r"[{}]", text[start:end]):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return start + brace.start()
    return end


def _last(
    text: str,
    cues: re.Pattern[str],
    place: Callable[[str, re.Match[str], int], tuple[int, int] | None],
    options: _Options,
    *,
    conditional: bool = False,
) -> _Found | None:
    """Return what the last cue says that says anything; under a condition it does only with ``conditional``."""
    for cue in reversed(deque(cues.finditer(text), _MOST_CUES)):
        span = place(text, cue, options.window)
        if span and (found := _at(text[span[0] : span[1]], options, conditional=conditional)):
            return found
    return None


def _stated(text: str, options: _Options) -> _Found | None:
    """Return what the last line in the form ``ANSWER: X`` says, or a box after it; None where there is no such line."""
    for line in reversed(deque(_LINE.finditer(text), _MOST_CUES)):
        if found := _whole(line["rest"], options):
            boxes = deque((cue for cue in _CUE.finditer(text, line.end()) if cue["box"]), _MOST_CUES)
            for box in reversed(boxes):
                start, end = box.end(), _closing(text, box.end(), box.end() + options.window)
                if boxed := _at(text[start:end], options):
                    return boxed
            return found
    return None


def _whole(rest: str, options: _Options) -> _Found | None:
    """Read what a line has after its cue, if that is a label, an option's text, both, or a refusal, and no more."""
    if option := _option(rest, options):
        return _Found(option)
    only = _ONLY_LABEL.fullmatch(rest)
    if only:
        label = only["label"].upper()
        return _Found(label) if label in options.labels else None
    labelled = re.match(r"[\s*_`$(\[<]{0,6}([A-Za-z])[\s*_`$)\]>]{0,4}[).:,\s-]\s*(.+)", rest)
    if labelled and _option(labelled[2], options) == labelled[1].upper():
        return _Found(labelled[1].upper())
    if _REFUSAL.match(rest.lstrip(" \t*_`\"'$([{<>")):
        return _Found(None)
    return None


def _at(content: str, options: _Options, *, conditional: bool = False) -> _Found | None:
    """Return what the text after a cue says, or None where it says neither a label nor that there is none."""
    begin = _FILLER.match(content)
    assert begin
    rest = content[begin.end() :]
    line = rest.partition("\n")[0]
    if len(_folded(line)) > 1:
        # "(0, 1)", "Ulysses", "Ulysses}", "Ulysses. It was ...", "Ulysses (B)".
        whole = content.strip().partition("\n")[0]
        sentence = re.split(r"[.!?](?:\s|$)", line, maxsplit=1)[0]
        for words in (whole, line, line.rstrip(" }$"), sentence, line.rpartition("(")[0]):
            if option := _option(words, options):
                return _Found(option)
    if ruled_out := _RULED_OUT.match(rest):
        return _at(rest[ruled_out.end() :], options, conditional=conditional)
    if label := _label(rest, options.labels):
        if _DENIED.match(rest, 1):
            return None
        if not conditional and _CONDITION.match(rest, 1):
            return None
        another = _AND_ANOTHER.match(rest, 1)
        several = another and another["label"].upper() in options.labels and another["label"].upper() != label
        return _Found(None if several else label)
    if _REFUSAL.match(rest):
        return _Found(None)
    option = _option(line, options)
    return _Found(option) if option else None


def _label(rest: str, labels: str) -> str | None:
    """Return the label that ``rest`` begins with, as a whole token, or None."""
    if not rest or rest[0].upper() not in labels or not rest[0].isascii() or _NOT_A_LABEL.match(rest, 1):
        return None
    if rest[0].islower() and not _ENDS.match(rest, 1):
        return None
    if rest[0] in "AI" and _GOES_ON.match(rest, 1):
        return None
    return rest[0].upper()


def _only(text: str, labels: str) -> _Found | None:
    """Return the label called correct last, or the only one that is named or set in bold."""
    right = [match["label"] or match["chinese"] or match["other"] for match in _IS_RIGHT.finditer(text)]
    right = [label for label in right if label in labels]
    if right:
        return _Found(right[-1])
    for pattern in (_NAMED, _BOLD):
        named = {match["label"].upper() for match in pattern.finditer(text)} & set(labels)
        if len(named) == 1:
            return _Found(named.pop())
    return None


def _bare(text: str, options: _Options) -> _Found | None:
    """Read a reply, or its last or first line, that is a label, an option with its label, or an option's text."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return None
    labelled = [
        match["label"].upper()
        for line in lines
        if (match := _LABELLED_LINE.match(line)) and match["label"].upper() in options.labels
    ]
    alone = [only["label"].upper() for line in lines if (only := _ONLY_LABEL.fullmatch(line))]
    if len(alone) == 1 and alone[0] in options.labels and _ONLY_LABEL.fullmatch(lines[-1]):
        return _Found(alone[0])  # below what is said of every option
    for line in (lines[-1], lines[0]):
        match = _LABELLED_LINE.match(line)
        # A reply that repeats the list of options has a label on many lines and chooses none of them.
        if match and match["label"].upper() in options.labels and len(set(labelled)) == 1:
            return _Found(match["label"].upper())
    option = _option(lines[-1], options)
    return _Found(option) if option else None
