"""Words, stems and sentences."""

import random
import subprocess
import time

import pytest

from diverset.text import STOP_WORDS, content_words, rouge_words, split_sentences, stem, words
from diverset.text.words import count_words, opens_dependent, stands_alone
from perl_rouge import find_rouge


# From the examples in Porter's article, and the words on which ROUGE's copy goes its own way.
@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("caresses", "caress"), ("ponies", "poni"), ("ties", "ti"), ("cats", "cat"), ("feed", "feed"),
        ("agreed", "agre"), ("plastered", "plaster"), ("bled", "bled"), ("motoring", "motor"), ("sing", "sing"),
        ("conflated", "conflat"), ("troubled", "troubl"), ("sized", "size"), ("hopping", "hop"), ("tanned", "tan"),
        ("falling", "fall"), ("hissing", "hiss"), ("fizzed", "fizz"), ("failing", "fail"), ("filing", "file"),
        ("happy", "happi"), ("sky", "sky"), ("relational", "relat"), ("conditional", "condit"), ("rational", "ration"),
        ("valenci", "valenc"), ("digitizer", "digit"), ("vietnamization", "vietnam"), ("predication", "predic"),
        ("operator", "oper"), ("feudalism", "feudal"), ("decisiveness", "decis"), ("hopefulness", "hope"),
        ("sensibiliti", "sensibl"), ("triplicate", "triplic"), ("formative", "form"), ("electrical", "electr"),
        ("goodness", "good"), ("revival", "reviv"), ("allowance", "allow"), ("adjustable", "adjust"),
        ("replacement", "replac"), ("adoption", "adopt"), ("bowdlerize", "bowdler"), ("probate", "probat"),
        ("rate", "rate"), ("cease", "ceas"), ("controll", "control"), ("roll", "roll"), ("be", "be"), ("", ""),
        ("agreement", "agreem"), ("accidental", "accid"), ("assembly", "assembl"), ("technology", "technolog"),
        ("commissioner", "commiss"), ("yes", "ye"), ("yielding", "yield"), ("1990s", "1990"),
    ],
)  # fmt: skip
def test_stem(word, expected):
    assert stem(word) == expected


@pytest.mark.slow
def test_stems_are_those_of_the_perl_program(tmp_path):
    home = find_rouge()
    if home is None:
        pytest.skip("ROUGE-1.5.5.pl is not installed; set ROUGE_HOME (the package tilse brings it)")
    source = (home / "ROUGE-1.5.5.pl").read_text(encoding="latin-1")
    program = tmp_path / "stem.pl"
    loop = "initialise(); while(<STDIN>) { chomp; print stem($_), qq(\\n); }"
    program.write_text(source[source.index("local %step2list") :] + loop, encoding="latin-1")
    rng = random.Random(3)
    endings = "s ies sses eed ed ing y ational bli alli logi ement ment ent sion tion e ll ful ness al er".split()
    starts = ["".join(rng.choices("aeiouybcdlstwxz", k=rng.randint(1, 6))) for _ in range(50_000)]
    made = [start + rng.choice(endings) + rng.choice(endings + [""] * 9) for start in starts]
    run = subprocess.run(["perl", program], input="\n".join(made) + "\n", capture_output=True, text=True, check=True)
    assert [stem(word) for word in made] == run.stdout.split("\n")[:-1]


def test_irregular_words_have_their_base_form_in_rouge():
    assert rouge_words("Children went; geese have flown better.") == ["child", "go", "goose", "have", "fly", "well"]
    assert rouge_words("Children went", stemming=False) == ["children", "went"]


def test_words_of_other_scripts_stay_whole():
    assert words("यह वाक्य है।") == ["यह", "वाक्य", "है"]
    assert words("Это другое слово.") == ["это", "другое", "слово"]
    assert words("مرحبا بِالعالم") == ["مرحبا", "بِالعالم"]
    assert words("naïve café_au") == ["naïve", "café", "au"]
    assert words("これはABCです") == ["これ", "れは", "abc", "です"]
    assert words("字") == ["字"]


@pytest.mark.parametrize("text", ["Plain, simple: text-with 3.5 'marks'.", "A_b c's\td\ne"])
def test_words_of_ascii_text_are_those_of_rouge(text):
    assert words(text) == rouge_words(text, stemming=False)


def test_content_words_leave_out_stop_words_and_punctuation():
    assert content_words("It wasn't the THE of... and!") == []
    assert content_words("He's running", stemmer=None) == ["running"]
    assert all(word == word.lower() and words(word) == [word] for word in STOP_WORDS)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", []),
        (" \n\n ", []),
        ("One", ["One"]),
        (
            "Mr. A. B. Cole of Cole & Sons, Inc. paid $3.50 on Jan. 5. It was No. 7. Why?",
            ["Mr. A. B. Cole of Cole & Sons, Inc. paid $3.50 on Jan. 5.", "It was No. 7.", "Why?"],
        ),
        ("“We leave,” she said. “Now!” They left...", ["“We leave,” she said.", "“Now!”", "They left..."]),
        ("A HEADLINE\n\nThe text\nwraps here. It ends.", ["A HEADLINE", "The text wraps here.", "It ends."]),
        (
            "A headline by itself\nThe first line of the text that follows is much longer.\nIt ends.",
            ["A headline by itself", "The first line of the text that follows is much longer.", "It ends."],
        ),
        ("First\n- one thing\n- another thing", ["First", "one thing", "another thing"]),
        ("一つ。二つ。三つ", ["一つ。", "二つ。", "三つ"]),
        ("यह वाक्य है। यह दूसरा है।", ["यह वाक्य है।", "यह दूसरा है।"]),
    ],
)
def test_sentences(text, sentences):
    assert split_sentences(text) == sentences


def test_long_paragraphs_are_split_in_linear_time():
    sentence = '"It is 3 p.m.," said Dr. Ray, "and (so it seems) raining." '
    started = time.perf_counter()
    found = split_sentences(sentence * 20_000)
    assert time.perf_counter() - started < 10.0  # in one piece it takes minutes
    assert set(found) == {sentence.strip()}
    assert len(found) == 20_000


def test_words_between_spaces_are_counted():
    assert count_words("The ex-mayor's plan") == 3
    assert count_words("東京都は 雨") == 4


def test_sentences_that_need_another_one():
    assert opens_dependent(["they", "say"])
    assert opens_dependent(["this", "is", "why"])
    assert opens_dependent(["this"])
    assert not opens_dependent(["this", "hotel"])
    assert not opens_dependent([])
    assert stands_alone("The bridge fell on Monday.")
    assert not stands_alone('"We heard it.')
    assert not stands_alone(", and is great.")
