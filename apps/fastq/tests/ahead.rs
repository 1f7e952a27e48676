//! Blocked gzip is inflated by all threads: the results and the failures are those of one.

mod common;

use common::{BLITZ, bgzf, pairs, run};
use std::fs;
use tempfile::TempDir;

/// Makes reads whose blocked files have dozens of chunks, and returns the folder.
fn inputs() -> TempDir {
    let folder = TempDir::new().unwrap();
    let path = folder.path();
    let [one, two] = pairs(71, 11_000, true);
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let (lines1, lines2) = (lines(&one), lines(&two));
    let interleaved: Vec<String> = lines1
        .chunks(4)
        .zip(lines2.chunks(4))
        .flat_map(|(read1, read2)| [read1, read2].concat())
        .map(|line| line + "\n")
        .collect();
    for (name, text) in [
        ("1.fq", &one),
        ("2.fq", &two),
        ("both.fq", &interleaved.concat()),
    ] {
        fs::write(path.join(name), text).unwrap();
        fs::write(path.join(format!("{name}.gz")), bgzf(text.as_bytes())).unwrap();
    }
    folder
}

#[test]
fn any_number_of_threads_keeps_the_order() {
    let folder = inputs();
    let path = folder.path();
    for (plain, blocked) in [
        ("-i ../1.fq", "-i ../1.fq.gz"),
        ("-i ../1.fq -I ../2.fq", "-i ../1.fq.gz -I ../2.fq.gz"),
        ("-i ../1.fq -I ../2.fq", "-i ../1.fq -I ../2.fq.gz"),
        (
            "-i ../both.fq --interleaved_in",
            "-i ../both.fq.gz --interleaved_in",
        ),
        ("-i ../1.fq -I ../2.fq -D", "-i ../1.fq.gz -I ../2.fq.gz -D"),
        (
            "-i ../1.fq --reads_to_process 4321",
            "-i ../1.fq.gz --reads_to_process 4321",
        ),
    ] {
        let out = if plain.contains("-I") || plain.contains("both") {
            "-o o1.fq -O o2.fq --dup_calc_accuracy 1"
        } else {
            "-o o1.fq --dup_calc_accuracy 1"
        };
        let expected = run(BLITZ, path, &format!("{plain} {out} -w 1"));
        assert_eq!(expected.code, Some(0), "{}", expected.stderr);
        for threads in 1..=8 {
            let found = run(BLITZ, path, &format!("{blocked} {out} -w {threads}"));
            assert_eq!(found.code, Some(0), "{}", found.stderr);
            assert!(
                found.files == expected.files && found.json == expected.json,
                "{blocked} -w {threads}"
            );
        }
    }
}

#[test]
fn a_fault_is_named_whoever_inflates_it() {
    let folder = inputs();
    let path = folder.path();
    let whole = fs::read(path.join("1.fq.gz")).unwrap();
    let mut damaged = whole.clone();
    let middle = whole.len() / 2;
    damaged[middle..middle + 8].fill(0x55);
    let [truncated, damaged, followed] = [
        &whole[..middle],
        &damaged,
        &[&whole[..], b"this is no gzip"].concat(),
    ]
    .map(|bytes| {
        fs::write(path.join("wrong.fq.gz"), bytes).unwrap();
        let stderr: Vec<String> = (1..=8)
            .map(|threads| {
                let arguments =
                    format!("-i ../wrong.fq.gz -I ../2.fq.gz -o o1.fq -O o2.fq -A -G -w {threads}");
                let ran = run(BLITZ, path, &arguments);
                assert_eq!(ran.code, Some(1), "{threads} threads");
                assert!(ran.files.is_empty(), "{threads} threads");
                ran.stderr
            })
            .collect();
        assert!(stderr.iter().all(|text| *text == stderr[0]), "{stderr:?}");
        stderr[0].clone()
    });
    for text in [&truncated, &damaged, &followed] {
        assert!(
            text.contains("../wrong.fq.gz: cannot read on after record"),
            "{text}"
        );
    }
    assert!(truncated.contains("cut off"), "{truncated}");
    assert!(followed.contains("something that is no gzip"), "{followed}");
}

#[test]
fn other_members_may_follow_blocks() {
    let folder = inputs();
    let path = folder.path();
    let text = fs::read(path.join("1.fq")).unwrap();
    let half = text.len() / 2;
    let end = bgzf(b"").len();
    let blocks = bgzf(&text[..half]);
    let mut member = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    std::io::Write::write_all(&mut member, &text[half..]).unwrap();
    let member = member.finish().unwrap();
    let all = bgzf(&text);
    let expected = run(BLITZ, path, "-i ../1.fq -o o.fq");
    for (what, bytes) in [
        ("an ordinary member", [&blocks[..], &member].concat()),
        ("no end", all[..all.len() - end].to_vec()),
        ("zeros", [&all[..], &[0; 70_000]].concat()),
        (
            "blocks after an end",
            [&blocks[..], &bgzf(&text[half..])].concat(),
        ),
    ] {
        fs::write(path.join("odd.fq.gz"), bytes).unwrap();
        let found = run(BLITZ, path, "-i ../odd.fq.gz -o o.fq -w 4");
        assert_eq!(found.code, Some(0), "{what}: {}", found.stderr);
        assert!(
            found.files == expected.files && found.json == expected.json,
            "{what}"
        );
    }
}
