//! Programs of the fork-join pool, through an unmodified rayon.

use std::{collections::HashMap, fs};

use image::{ImageFormat, Rgb, RgbImage};
use ndarray::{Array2, Axis, Zip};
use rayon::prelude::*;
use walkdir::WalkDir;

#[test]
fn arrays() {
    let (rows, columns) = (300, 400);
    let a = Array2::from_shape_fn((rows, columns), |(i, j)| (i * columns + j) as f64);
    let mut b = a.clone();
    b.par_mapv_inplace(|x| 2.0 * x);
    let c = Zip::from(&a).and(&b).par_map_collect(|a, b| a + b);
    assert_eq!(c, 3.0 * &a);
    let sums: Vec<f64> = c
        .axis_iter(Axis(0))
        .into_par_iter()
        .map(|row| row.sum())
        .collect();
    assert_eq!(sums, c.sum_axis(Axis(1)).to_vec());
    let mut product = Array2::<f64>::zeros((rows, rows));
    product
        .axis_iter_mut(Axis(0))
        .into_par_iter()
        .enumerate()
        .for_each(|(i, mut row)| {
            for (j, cell) in row.iter_mut().enumerate() {
                *cell = a.row(i).dot(&b.row(j));
            }
        });
    assert_eq!(product, a.dot(&b.t()));
}

#[test]
fn images() {
    let at = |x: u32, y: u32| Rgb([x as u8, y as u8, (x ^ y) as u8]);
    let image = RgbImage::from_par_fn(640, 480, at);
    let mut inverted = image.clone();
    inverted
        .par_pixels_mut()
        .for_each(|pixel| pixel.0 = pixel.0.map(|value| !value));
    // As many files as there are quarters, written and read again at once.
    let folder = tempfile::tempdir().unwrap();
    let wrong: usize = (0..4u32)
        .into_par_iter()
        .map(|quarter| {
            let path = folder.path().join(format!("{quarter}.png"));
            let part = image::imageops::crop_imm(&inverted, 0, 120 * quarter, 640, 120).to_image();
            part.save_with_format(&path, ImageFormat::Png).unwrap();
            let back = image::open(&path).unwrap().to_rgb8();
            let differs = |(x, y, pixel): (u32, u32, &Rgb<u8>)| {
                pixel.0 != at(x, y + 120 * quarter).0.map(|value| !value)
            };
            back.par_enumerate_pixels()
                .filter(|pixel| differs(*pixel))
                .count()
        })
        .sum();
    assert_eq!(wrong, 0);
}

/// Counts words in a directory's files: a sequential walk feeds a parallel iterator.
#[test]
fn words_of_files() {
    let folder = tempfile::tempdir().unwrap();
    let mut expected = HashMap::new();
    for i in 0..200usize {
        let below = folder.path().join(format!("{}/{}", i % 7, i % 3));
        fs::create_dir_all(&below).unwrap();
        let words: Vec<String> = (0..i).map(|word| format!("w{}", word * i % 17)).collect();
        for word in &words {
            *expected.entry(word.clone()).or_insert(0usize) += 1;
        }
        fs::write(below.join(format!("{i}.txt")), words.join(" ")).unwrap();
    }
    let count = || {
        let files = WalkDir::new(folder.path())
            .into_iter()
            .filter_map(Result::ok);
        files
            .par_bridge()
            .filter(|entry| entry.file_type().is_file())
            .map(|entry| {
                let mut words = HashMap::new();
                for word in fs::read_to_string(entry.path()).unwrap().split_whitespace() {
                    *words.entry(word.to_owned()).or_insert(0usize) += 1;
                }
                words
            })
            .reduce(HashMap::new, |mut all, some| {
                for (word, count) in some {
                    *all.entry(word).or_insert(0) += count;
                }
                all
            })
    };
    assert_eq!(count(), expected);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(3)
        .build()
        .unwrap();
    assert_eq!(pool.install(count), expected);
}
