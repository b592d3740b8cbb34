"""What `streamnb run` makes of every kind of input: good, odd, and broken."""

import gzip
import json
import shutil

import pytest
import zstandard

from consumers import files
from consumers.records import CUT_SHORT, NOT_A_LABEL, NOT_AN_OBJECT, NOT_CSV, NOT_JSON, TOO_LARGE, TORN, WRONG_CELLS
from streamnb import load
from tests.command import json_lines, predictions, streamnb

PLAIN = b'{"id":1,"n":1.5,"k":"x","label":"a"}\n{"id":2,"n":2.5,"k":"y","label":"b"}\n{"id":3,"n":1.4,"k":"x"}\n'


@pytest.fixture
def run(tmp_path, capfd, monkeypatch):
    """Write an input, run it, and return (predictions, dead letters, model)."""
    monkeypatch.chdir(tmp_path)

    def run(content: bytes, *arguments: str, name: str = "events.jsonl"):
        (tmp_path / name).write_bytes(content)
        outcome = streamnb(capfd, monkeypatch, "run", name, *arguments)
        assert outcome.status == 0, outcome.err
        newest = max((tmp_path / "snapshots").glob("*.snapshot"))
        model = load(newest.read_bytes())
        return predictions(tmp_path / "predictions.jsonl"), json_lines(tmp_path / "dead-letters.jsonl"), model

    return run


def test_a_prediction_tells_id_label_probabilities_place_and_what_was_learned(run):
    answers, dead, model = run(PLAIN)
    assert [answer.id for answer in answers] == [1, 2, 3]
    assert [answer.label for answer in answers] == [None, "a", "a"]
    assert [answer.learned for answer in answers] == [0, 1, 2]
    assert [answer.offset for answer in answers] == [0, 37, 74]
    assert {(answer.stream, answer.partition) for answer in answers} == {("events.jsonl", 0)}
    assert answers[0].probabilities == []
    assert answers[1].probabilities == [("a", 1.0)]
    assert [label for label, _ in answers[2].probabilities] == ["a", "b"]
    assert sum(share for _, share in answers[2].probabilities) == pytest.approx(1)
    assert (dead, model.learned) == ([], 2)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("events.jsonl", PLAIN),
        ("events.jsonl", PLAIN.replace(b"\n", b"\r\n")),
        ("events.jsonl", PLAIN.rstrip()),
        ("events.jsonl", b"\xef\xbb\xbf" + PLAIN),
        ("events.jsonl", PLAIN.replace(b"\n", b"\n\n \n")),
        ("events.jsonl.gz", gzip.compress(PLAIN)),
        ("events.jsonl.gz", gzip.compress(PLAIN[:50]) + gzip.compress(PLAIN[50:])),
        ("events.jsonl.zst", zstandard.compress(PLAIN)),
        ("events.jsonl.zst", zstandard.compress(PLAIN[:50]) + zstandard.compress(PLAIN[50:])),
        ("events.csv", b"id,n,k,label\n1,1.5,x,a\n2,2.5,y,b\n3,1.4,x,\n"),
        ("events.csv", b'\xef\xbb\xbfid,n,k,label\r\n1,1.5,x,a\r\n2,2.5,"y",b\r\n\r\n3,1.4,x,'),
        ("events.CSV", b"id,n,k,label\n1,1.5,x,a\n2,2.5,y,b\n3,1.4,x,\n"),
        ("events.csv.gz", gzip.compress(b"id,n,k,label\n1,1.5,x,a\n2,2.5,y,b\n3,1.4,x,\n")),
    ],
)
def test_one_stream_in_any_form_is_one_stream(run, tmp_path, name, content):
    reference, _, _ = run(PLAIN, "--snapshots", "snapshots", name="plain.jsonl")
    for left in ("predictions.jsonl", "dead-letters.jsonl"):
        (tmp_path / left).unlink()
    for left in (tmp_path / "snapshots").iterdir():
        left.unlink()
    answers, dead, model = run(content, name=name)
    assert [(str(answer.id), answer.label, answer.probabilities) for answer in answers] == [
        (str(answer.id), answer.label, answer.probabilities) for answer in reference
    ]
    assert (dead, model.learned, model.schema()) == ([], 2, {"k": "categorical", "n": "numeric"})


def test_an_empty_file_is_no_events(run):
    answers, dead, model = run(b"")
    assert (answers, dead, model.learned) == ([], [], 0)


def test_an_empty_csv_is_no_events(run):
    assert run(b"", name="events.csv")[0] == []
    assert run(b"", name="events.csv")[0] == []


def test_one_event_is_learned_and_has_no_answer(run):
    answers, _, model = run(b'{"n":1,"label":"only"}')
    assert (answers[0].label, model.learned) == (None, 1)


def test_one_class_is_certain(run):
    answers, _, _ = run(b'{"n":1,"label":"only"}\n' * 3)
    assert [answer.probabilities for answer in answers] == [[], [("only", 1.0)], [("only", 1.0)]]


def test_records_that_are_no_events_are_dead_letters_and_the_stream_goes_on(run):
    bad = [b"{oops", b"[1,2]", b"\xff\xfe", b'"text"', b'{"n":1,"label":[1]}', b'{"n":1,"label":{"a":1}}', b"null"]
    answers, dead, model = run(b"\n".join([*bad, PLAIN]))
    assert (len(answers), model.learned) == (3, 2)
    assert [letter["reason"] for letter in dead] == [
        NOT_JSON,
        NOT_AN_OBJECT,
        NOT_JSON,
        NOT_AN_OBJECT,
        NOT_A_LABEL,
        NOT_A_LABEL,
        NOT_AN_OBJECT,
    ]
    assert [letter["text"].encode() if "text" in letter else b"\xff\xfe" for letter in dead] == bad
    assert dead[2]["base64"] == "//4="
    assert [letter["offset"] for letter in dead] == [0, 6, 12, 15, 22, 42, 66]
    assert all(letter["detail"] and letter["stream"] == "events.jsonl" for letter in dead)


def test_a_line_of_five_megabytes_is_a_dead_letter_whose_first_bytes_are_kept(run):
    long = b'{"text":"' + b"x" * 5_000_000 + b'"}'
    answers, dead, _ = run(PLAIN + long + b"\n" + PLAIN)
    assert len(answers) == 6
    assert [letter["reason"] for letter in dead] == [TOO_LARGE]
    assert (dead[0]["offset"], len(dead[0]["text"])) == (len(PLAIN), 1 << 20)
    assert answers[3].offset == len(PLAIN) + len(long) + 1


def test_a_line_at_the_limit_is_an_event_and_one_byte_more_is_not(run):
    line = b'{"id":"' + b"x" * 41 + b'"}'
    answers, dead, _ = run(line + b"\n" + line.replace(b"x", b"xx", 1) + b"\n" + line, "--max-record-bytes", "50")
    assert (len(line), len(answers), [letter["offset"] for letter in dead]) == (50, 2, [51])


def test_ten_thousand_features_are_learned(run):
    event = {f"f{place}": place for place in range(10_000)}
    answers, _, model = run(
        b"".join(json.dumps({**event, "label": label}).encode() + b"\n" for label in ("a", "b", "a"))
    )
    assert len(model.schema()) == 10_000
    assert sum(share for _, share in answers[2].probabilities) == pytest.approx(1)


def test_nested_and_unicode_keys_become_dotted_names(run):
    _, _, model = run('{"größe":{"höhe":{"🙂":1}},"a.b":2,"label":"ä"}\n'.encode())
    assert model.schema() == {"a.b": "numeric", "größe.höhe.🙂": "numeric"}
    assert model.classes == ["ä"]


def test_of_duplicate_keys_the_last_counts(run):
    _, _, model = run(b'{"n":1,"n":"text","label":"a","label":"b"}\n')
    assert (model.schema(), model.classes) == ({"n": "categorical"}, ["b"])


def test_a_numeric_string_is_a_number_where_declared_and_else_a_category(run):
    _, _, model = run(b'{"n":"1.5","m":"1.5","label":"a"}\n{"n":"none","label":"a"}\n', "--numeric", "n")
    assert model.schema() == {"m": "categorical", "n": "numeric"}
    assert model.bad_values == {"n": 1}


def test_numbers_no_variance_can_hold_are_left_out_and_counted(run):
    lines = b'{"n":%s,"m":1,"label":"a"}\n'
    values = [b"1", b"-0.0", b"1e308", b"Infinity", b"-Infinity", b"1e999", b"NaN", b"null", b"9" * 400]
    answers, dead, model = run(b"".join(lines % value for value in values))
    assert (len(answers), dead, model.learned) == (9, [], 9)
    assert model.bad_values == {"n": 5}


def test_labels_keep_their_type(run):
    answers, _, model = run(b'{"label":1}\n{"label":"1"}\n{"label":true}\n{"label":null}\n{"label":NaN}\n')
    assert [(type(label), label) for label in model.classes] == [(int, 1), (str, "1"), (bool, True)]
    assert [type(label) for label, _ in answers[3].probabilities] == [int, str, bool]
    assert model.learned == 3


def test_an_id_is_a_scalar_or_null(run):
    answers, _, _ = run(b'{"id":"x"}\n{"id":1.5}\n{"id":[1]}\n{"id":{"a":1}}\n{"n":1}\n{"id":true}\n')
    assert [answer.id for answer in answers] == ["x", 1.5, None, None, None, True]


def test_what_is_not_unicode_is_a_dead_letter(run):
    _, dead, _ = run(b'{"k":"\\ud800"}\n{"\\udfff":1}\n{"id":"\\ud800"}\n{"label":"\\ud800"}\n')
    assert [letter["reason"] for letter in dead] == [NOT_JSON] * 4


def test_deeply_nested_records_do_not_stop_the_stream(run):
    deep = b'{"a":' * 900 + b"1" + b"}" * 900
    deeper = b"[" * 100_000
    answers, dead, model = run(deep + b"\n" + deeper + b"\n" + deep[:-900] + b"NaN" + b"}" * 900 + b"\n" + PLAIN)
    assert (len(answers), model.learned) == (4, 2)
    assert [letter["reason"] for letter in dead] == [NOT_JSON, NOT_JSON]


@pytest.mark.parametrize("cut", [1, 5, 9, 20, 60])
@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_a_compressed_file_cut_short_gives_what_it_holds_and_a_dead_letter(run, pack, cut):
    lines = [b'{"id":%d,"n":%d,"label":"a"}\n' % (place, place * 7919 % 1009) for place in range(3_000)]
    name = "events.jsonl.gz" if pack is gzip.compress else "events.jsonl.zst"
    answers, dead, _ = run(pack(b"".join(lines))[:-cut], name=name)
    assert [answer.id for answer in answers] == list(range(len(answers)))
    assert [letter["reason"] for letter in dead] == [CUT_SHORT]
    assert (
        b"".join(lines[: len(answers)]) + dead[0]["text"].encode()
        == b"".join(lines)[: dead[0]["offset"] + len(dead[0]["text"])]
    )


def test_what_is_no_gzip_at_all_is_a_dead_letter(run):
    answers, dead, _ = run(b"plain text", name="events.jsonl.gz")
    assert (answers, [letter["reason"] for letter in dead]) == ([], [CUT_SHORT])


def test_rows_of_csv_that_are_no_events_are_dead_letters(run):
    rows = b'n,k,label\n1,x,a\n1,x\n1,x,a,b\n"' + b"y" * 300 + b'",x,a\n2,"two\nlines",b\n3,x,a\n'
    answers, dead, model = run(rows, "--max-record-bytes", "100", name="events.csv")
    assert (len(answers), model.learned) == (3, 3)
    assert [letter["reason"] for letter in dead] == [WRONG_CELLS, WRONG_CELLS, TOO_LARGE]
    assert rows[answers[1].offset :].startswith(b'2,"two\nlines",b')


def test_a_field_of_csv_that_never_ends_is_a_dead_letter(run):
    answers, dead, _ = run(b'n,label\n1,a\n"' + b"x\n" * 200, "--max-record-bytes", "100", name="events.csv")
    assert len(answers) >= 1
    assert {letter["reason"] for letter in dead} <= {NOT_CSV, TOO_LARGE, WRONG_CELLS}
    assert dead


@pytest.mark.parametrize("chunk", [7, 1 << 18])
@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b'100,"a', NOT_CSV),  # a quote that is never closed
        (b'100,"' + b"y" * 3_000 + b'",a', TOO_LARGE),
        (b"100," + b"x" * 900 + b',"' + b"y" * 3_000 + b'",a', TOO_LARGE),
        (b'100,"a"junk', NOT_CSV),
        (b"100,M\xfcller", NOT_CSV),
    ],
)
def test_a_bad_record_of_csv_takes_no_other_along(run, monkeypatch, bad, reason, chunk):
    monkeypatch.setattr(files, "_CHUNK", chunk)
    good = b"".join(b"%d,b\n" % place for place in range(300))
    answers, dead, model = run(b"n,label\n1,a\n" + bad + b"\n" + good, "--max-record-bytes", "1000", name="events.csv")
    assert (len(answers), model.learned, model.classes) == (301, 301, ["a", "b"])
    assert [(letter["reason"], letter["offset"]) for letter in dead] == [(reason, 12)]


def test_the_rest_of_a_line_that_was_read_before_it_was_whole_is_no_record(run, tmp_path):
    """A file read while a line is being written: the first half cannot be taken back, the second is told of."""
    for name, first, rest in (
        ("events.jsonl", b'{"label":"a"}\n{"label":"b"', b',"n":1}\n{"label":"c"}\n'),
        ("events.csv", b"n,label\n1,a\n2,ban", b"ana\n3,c\n"),
        ("packed.csv.gz", gzip.compress(b"n,label\n1,a\n2") + gzip.compress(b"5,b\n3,c\n")[:12], None),
    ):
        for left in tmp_path.iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        run(first, name=name)
        whole = first + rest if rest else gzip.compress(b"n,label\n1,a\n2") + gzip.compress(b"5,b\n3,c\n")
        _, dead, model = run(whole, name=name)
        assert dead[-1]["reason"] == TORN
        assert "c" in model.classes
        assert model.learned + len(dead) in (4, 5)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_what_unpacks_to_much_is_read_by_and_by(tmp_path, pack):
    (tmp_path / "bomb.jsonl.gz").write_bytes(gzip.compress(b"{}\n" * 2_000_000))
    (tmp_path / "bomb.jsonl.zst").write_bytes(zstandard.compress(b"{}\n" * 2_000_000))
    path = str(tmp_path / ("bomb.jsonl.gz" if pack is gzip.compress else "bomb.jsonl.zst"))
    sizes = [len(group.lines) for group in files.read_lines(path, 0, 100)]
    assert sum(sizes) == 2_000_000
    assert max(sizes) <= (1 << 18) // 3 + 1


def test_zeros_between_frames_of_gzip_are_no_content(run):
    answers, dead, _ = run(gzip.compress(PLAIN) + bytes(512) + gzip.compress(PLAIN) + bytes(100), name="e.jsonl.gz")
    assert (len(answers), dead) == (6, [])


def test_cells_of_csv_are_numbers_where_they_look_like_them(run):
    csv = b"n,code,name,label\n1,AA,x,1\n2.5,12,nan,2\nnone,013,,1\n"
    _, _, model = run(csv, name="events.csv")
    assert model.schema() == {"code": "categorical", "n": "numeric", "name": "categorical"}
    assert (model.bad_values, model.classes) == ({"n": 1}, ["1", "2"])


@pytest.mark.parametrize("header", [b"a,a,label", b"a,,label", b"\n"])
def test_a_csv_must_name_every_column_once(tmp_path, capfd, monkeypatch, header):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "events.csv").write_bytes(header + b"\n1,2,3\n")
    outcome = streamnb(capfd, monkeypatch, "evaluate", "events.csv")
    assert outcome.status == 2
    assert "events.csv cannot be read as CSV" in outcome.err


@pytest.mark.parametrize("chunk", [1, 7, 100, 10_000])
def test_where_reads_are_cut_does_not_show(run, monkeypatch, chunk):
    monkeypatch.setattr(files, "_CHUNK", chunk)
    content = PLAIN + b"{oops\n\n" + PLAIN + b'{"x":"' + b"y" * 300 + b'"}\n' + PLAIN[:-1]
    answers, dead, model = run(content, "--max-record-bytes", "200")
    assert [answer.offset for answer in answers] == [0, 37, 74, 106, 143, 180, 514, 551, 588]
    assert [(letter["reason"], letter["offset"]) for letter in dead] == [(NOT_JSON, 99), (TOO_LARGE, 205)]
    assert model.learned == 6
