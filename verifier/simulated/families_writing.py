"""A family of instructions that the published IFEval checkers judge, and replies that follow all of them or miss one.

level = -4.2 + 1.4 × the weights of the rules, each with the numbers in it: see ``_weight``.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Mapping
from typing import Any

from verifier.simulated.problem import Family, Reading, pattern_of, render

KINDS = (
    "letter",
    "short story",
    "blog post",
    "speech",
    "diary entry",
    "news report",
    "product review",
    "memo",
)
TOPICS = (
    "a lost umbrella",
    "the first day of spring",
    "a broken bicycle",
    "a village fair",
    "the night train",
    "an old photograph",
    "a crowded kitchen",
    "a mountain hut",
    "a new neighbour",
    "a rainy holiday",
    "the school play",
    "a stubborn goat",
    "a power cut",
    "the river after the flood",
    "a forgotten password",
    "a chess tournament",
    "the last bus home",
    "a box of letters",
    "a noisy engine",
    "the town library",
    "a beekeeper at work",
    "an empty theatre",
    "a borrowed violin",
    "the price of bread",
)
AUDIENCES = (
    "young readers",
    "a group of retired sailors",
    "busy parents",
    "new colleagues",
    "visitors from abroad",
    "the members of a book club",
    "patient engineers",
    "a class of beginners",
    "amateur gardeners",
    "the night shift",
)
# None of the words to include or to avoid is part of a word in SENTENCES, TOPICS or KINDS.
WORDS = (
    "lantern harvest compass velvet orchard whisper granite meadow anchor thunder saffron puzzle marble quartz falcon "
    "cinnamon ribbon glacier hammock voyage pepper walnut cobalt juniper zephyr"
).split()
END_PHRASES = (
    "That is all for today.",
    "Please reply before Friday.",
    "Is there anything else?",
    "So we begin again.",
    "The door stays open.",
)
SENTENCES = (
    "It began on an ordinary morning when nobody expected much.",
    "We had planned the day with some care.",
    "The weather changed its mind twice before noon.",
    "A neighbour came by and told us what she had seen.",
    "Most people walked past without stopping to look.",
    "There was a smell of fresh paint in the hall.",
    "Nobody could say how long it had been like this.",
    "I wrote down the main points so that we would remember them.",
    "The children asked more questions than we could answer.",
    "Later we sat down together and talked it over.",
    "Some of the details are still unclear to me.",
    "It took about two hours to put everything in order.",
    "My brother thought that the plan would never work.",
    "In the end it was simpler than we had feared.",
    "The old clock on the wall had stopped again.",
    "We shared what was left of the bread and the soup.",
    "A small mistake at the start had cost us a whole week.",
    "They promised to come back with better news.",
    "The street was quiet and the lamps were already lit.",
    "Everyone agreed that it had been worth the effort.",
    "I would do it the same way if I had to choose again.",
    "The list on the table grew longer every day.",
    "What surprised me was how calm they all remained.",
    "Our guests stayed until late and helped us to clean up.",
)
QUOTED = r"'[a-z]+'"

# kind → (sentence, instruction, arguments read from the sentence)
RULES: dict[str, tuple[str, str, Callable[[re.Match[str]], dict[str, Any]]]] = {
    "words": (
        "Use at least <n> words.",
        "length_constraints:number_words",
        lambda m: {"relation": "at least", "num_words": int(m["n"])},
    ),
    "keywords": (
        "Make use of each of these keywords: <list>.",
        "keywords:existence",
        lambda m: {"keywords": re.findall("[a-z]+", m["list"])},
    ),
    "frequency": (
        "The word '<word>' must appear at least <n> times.",
        "keywords:frequency",
        lambda m: {"relation": "at least", "keyword": m["word"], "frequency": int(m["n"])},
    ),
    "forbidden": (
        "Avoid all of these words: <list>.",
        "keywords:forbidden_words",
        lambda m: {"forbidden_words": re.findall("[a-z]+", m["list"])},
    ),
    "comma": ("Do not use any commas.", "punctuation:no_comma", lambda m: {}),
    "title": (
        "Give it a title wrapped in double angular brackets, such as << my title >>.",
        "detectable_format:title",
        lambda m: {},
    ),
    "bullets": (
        "Add exactly <n> bullet points, each on a line that begins with an asterisk.",
        "detectable_format:number_bullet_lists",
        lambda m: {"num_bullets": int(m["n"])},
    ),
    "highlights": (
        "Highlight at least <n> passages with asterisks, like *this one*.",
        "detectable_format:number_highlighted_sections",
        lambda m: {"num_highlights": int(m["n"])},
    ),
    "placeholders": (
        "Leave at least <n> placeholders in square brackets, such as [address].",
        "detectable_content:number_placeholders",
        lambda m: {"num_placeholders": int(m["n"])},
    ),
    "postscript": (
        "After the main text add a postscript that starts with P.S.",
        "detectable_content:postscript",
        lambda m: {"postscript_marker": "P.S."},
    ),
    "quotation": ("Wrap the whole reply in double quotation marks.", "startend:quotation", lambda m: {}),
    "end": (
        "Finish with exactly these words and nothing after them: '<phrase>'",
        "startend:end_checker",
        lambda m: {"end_phrase": m["phrase"]},
    ),
}
RULE_FIELDS = {"list": rf"{QUOTED}(?:,\s+{QUOTED})*", "word": "[a-z]+", "phrase": "[^']+"}
RULE_PATTERNS = {kind: pattern_of(rule[0], **RULE_FIELDS) for kind, rule in RULES.items()}
ANY_RULE = "|".join(re.sub(r"\?P<\w+>", "?:", pattern.pattern) for pattern in RULE_PATTERNS.values())
TASK = "Write a <kind> about <topic> for <audience>. <rules>"
TASK_FIELDS = {
    "kind": "|".join(KINDS),
    "topic": "|".join(TOPICS),
    "audience": "|".join(AUDIENCES),
    "rules": rf"(?:{ANY_RULE})(?:\s+(?:{ANY_RULE}))*",
}


def _weight(kind: str, number: int) -> float:
    """Return how much a rule adds; ``number`` is its count, and 0 where it has none."""
    if kind == "words":
        return 0.2 + 1.3 * math.log10(max(number, 1) / 20)
    by_count = {"keywords": 0.2, "frequency": 0.12, "forbidden": 0.1}
    if number:
        return 0.3 + by_count.get(kind, 0.1) * number
    return {"comma": 0.5, "title": 0.4, "postscript": 0.4, "quotation": 0.5, "end": 0.6}[kind]


def _level(numbers: Mapping[str, int]) -> float:
    return -4.2 + 1.4 * sum(_weight(kind, number) for kind, number in numbers.items())


def _draw_task(level: float, rng: random.Random) -> str:
    def draw() -> dict[str, int]:
        kinds = rng.sample(list(RULES), rng.randint(1, 8))
        numbers = dict.fromkeys(kinds, 0)
        for kind, (lowest, highest) in {
            "keywords": (1, 5),
            "frequency": (2, 7),
            "forbidden": (1, 6),
            "bullets": (2, 7),
            "highlights": (1, 6),
            "placeholders": (1, 6),
        }.items():
            if kind in numbers:
                numbers[kind] = rng.randint(lowest, highest)
        if "words" in numbers:
            numbers["words"] = round(10 ** rng.uniform(1.4, 2.7))
        return numbers

    numbers = min((draw() for _ in range(40)), key=lambda drawn: abs(_level(drawn) - level))
    words = rng.sample(WORDS, 12)
    lists = {
        "keywords": words[: numbers.get("keywords", 0)],
        "forbidden": words[5 : 5 + numbers.get("forbidden", 0)],
    }
    rules = [
        render(
            RULES[kind][0],
            n=number,
            list=", ".join(f"'{word}'" for word in lists.get(kind, ())),
            word=words[11],
            phrase=rng.choice(END_PHRASES),
        )
        for kind, number in numbers.items()
    ]
    return render(
        TASK,
        kind=rng.choice(KINDS),
        topic=rng.choice(TOPICS),
        audience=rng.choice(AUDIENCES),
        rules=" ".join(rules),
    )


def _read_task(match: re.Match[str]) -> Reading | None:
    text = match["rules"]
    numbers: dict[str, int] = {}
    instructions, kwargs = [], []
    position = 0
    while position < len(text):
        kind, found = next((kind, m) for kind, p in RULE_PATTERNS.items() if (m := p.match(text, position)))
        if kind in numbers:
            return None
        arguments = RULES[kind][2](found)
        lists = [value for value in arguments.values() if isinstance(value, list)]
        counts = [value for value in arguments.values() if isinstance(value, int)]
        numbers[kind] = len(lists[0]) if lists else counts[0] if counts else 0
        if (lists or counts) and not numbers[kind]:
            return None  # "at least 0" is not a rule, and the published checkers draw a number of their own for it
        instructions.append(RULES[kind][1])
        kwargs.append(arguments)
        position = found.end() + len(text[found.end() :]) - len(text[found.end() :].lstrip())
    return Reading(_level(numbers), None, instruction_ids=tuple(instructions), kwargs=tuple(kwargs))


def compose(reading: Reading, rng: random.Random, *, broken: int | None) -> str:
    """Return a reply that follows every instruction, or all that it can but the one numbered ``broken``."""
    rules = dict(zip(reading.instruction_ids, reading.kwargs, strict=True))
    missed = None if broken is None else reading.instruction_ids[broken]
    if missed == "length_constraints:number_words":
        return "There is not much to say about it."

    def count(instruction: str, argument: str) -> int:
        number = rules.get(instruction, {}).get(argument, 0)
        return number - (instruction == missed)

    def follows(instruction: str) -> bool:
        return instruction in rules and instruction != missed

    parts = ["<<A Day to Remember>>"] if follows("detectable_format:title") else []
    body = rng.sample(SENTENCES, 4)
    existence = "keywords:existence"
    words = rules.get(existence, {}).get("keywords", [])[existence == missed :]
    body += [f"Then somebody mentioned the {word} again." for word in words]
    repeated = rules.get("keywords:frequency", {}).get("keyword", "")
    body += [f"There it was: the {repeated}."] * count("keywords:frequency", "frequency")
    marks = count("detectable_format:number_highlighted_sections", "num_highlights")
    body += ["We looked at *the small print* once more."] * marks
    body += ["Write to us at [address] soon."] * count(
        "detectable_content:number_placeholders", "num_placeholders"
    )
    if missed == "keywords:forbidden_words":
        body.append(f"It was all about a {rules[missed]['forbidden_words'][0]}.")
    if missed == "punctuation:no_comma":
        body.append("After a while, of course, it was over.")
    rng.shuffle(body)
    # No sentence has fewer than three words, so a long text ends in time.
    wanted = rules.get("length_constraints:number_words", {}).get("num_words", 0)
    length = sum(len(re.findall(r"\w+", sentence)) for sentence in body)
    while length < wanted:
        body.append(rng.choice(SENTENCES))
        length += len(re.findall(r"\w+", body[-1]))
    parts += [" ".join(body[i : i + 6]) for i in range(0, len(body), 6)]
    bullets = count("detectable_format:number_bullet_lists", "num_bullets")
    if bullets:
        parts.append("\n".join(f"* Point {number} of ours" for number in range(1, bullets + 1)))
    if follows("detectable_content:postscript"):
        parts.append("P.S. Thank you for reading this far.")
    if "startend:end_checker" in rules:
        last = str(rules["startend:end_checker"]["end_phrase"])
        parts.append(last if follows("startend:end_checker") else f"{last} And there is more to tell.")
    text = "\n\n".join(parts)
    return f'"{text}"' if follows("startend:quotation") else text


WRITING_FAMILIES = (
    Family("writing", "instructions", (pattern_of(TASK, **TASK_FIELDS),), _draw_task, _read_task),
)
