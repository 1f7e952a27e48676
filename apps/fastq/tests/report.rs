//! The HTML report is one file that includes all its pictures.

mod common;

use common::{BLITZ, pairs, run};
use std::fs;
use tempfile::TempDir;

#[test]
fn the_report_has_its_pictures_in_it() {
    let folder = TempDir::new().unwrap();
    for (name, text) in ["1.fq", "2.fq"].iter().zip(pairs(41, 300, true)) {
        fs::write(folder.path().join(name), text).unwrap();
    }
    fs::write(folder.path().join("none.fq"), "").unwrap();
    let page = |arguments: &str| {
        let ran = run(BLITZ, folder.path(), arguments);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        fs::read_to_string(folder.path().join("blitz-fastq/fastp.html")).unwrap()
    };
    // Insert size and duplication, three for before and after, and two for each of four
    // sections.
    for (arguments, pictures) in [
        ("-i ../1.fq -I ../2.fq -R a<b", 2 + 3 + 2 * 4),
        ("-i ../1.fq --dont_eval_duplication", 3 + 2 * 2),
        ("-i ../1.fq -I ../2.fq -m --merged_out m.fq", 2 + 3 + 2 * 3),
        ("-i ../none.fq", 1 + 3 + 2 * 2),
    ] {
        let page = page(arguments);
        assert_eq!(page.matches("<svg").count(), pictures, "{arguments}");
        assert_eq!(page.matches("</svg>").count(), pictures);
        for other in [
            "http", "src=", "href=", "url(", "<script", "@import", "NaN", "inf",
        ] {
            assert!(!page.contains(other), "{arguments}: {other}");
        }
        for part in [
            "Summary",
            "Filters",
            "Before and after filtering",
            "Length, %",
        ] {
            assert!(page.contains(part), "{arguments}: no {part}");
        }
        assert!(page.ends_with("</body></html>\n"));
    }
    assert!(page("-i ../1.fq -R a<b").contains("<title>a&lt;b</title>"));
}
