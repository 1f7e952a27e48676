//! The file beside a plan with points in gzip members, so that a shard need not inflate a member from
//! its beginning. Without the file it does.

use super::parts::{part, remove};
use crate::failure::Failure;
use crate::file_names::path;
use crate::inflate::Point;
use crate::output::Output;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};

/// Points, each of the same length.
#[derive(Default)]
pub struct Index(Vec<u8>);

impl Index {
    /// Adds a point. Returns its number and its checksum, which tells it from one of another plan.
    pub fn add(&mut self, point: &Point) -> (u64, u32) {
        let number = self.0.len() / Point::LEN;
        (number as u64, point.store(&mut self.0))
    }

    /// Writes the file, if there are points.
    pub fn write(&self, plan: &str) -> Result<(), Failure> {
        if self.0.is_empty() {
            // One of an earlier plan would be of other files.
            return remove(&Self::name(plan));
        }
        let mut output = Output::create(&Self::name(plan))?;
        output.write(&self.0)?;
        output.finish()
    }

    /// Reads the point with this number and checksum. Returns `None` if there is no file.
    pub fn read(plan: &str, (number, sum): (u64, u32)) -> Result<Option<Point>, Failure> {
        let name = Self::name(plan);
        let failed = |error| Failure::file(&name, "read it", &error);
        let mut file = match File::open(path(&name)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(failed)?,
        };
        let offset = number.saturating_mul(Point::LEN as u64);
        let mut bytes = vec![0; Point::LEN];
        let whole = file
            .seek(SeekFrom::Start(offset))
            .and_then(|_| file.read_exact(&mut bytes));
        if let Err(error) = whole
            && error.kind() != ErrorKind::UnexpectedEof
        {
            return Err(failed(error));
        }
        match Point::load(&bytes, sum) {
            Some(point) => Ok(Some(point)),
            None => Err(Failure::data(format!(
                "{name}: it is damaged: remove it, or make the plan again"
            ))),
        }
    }

    /// Returns the name of the file.
    pub fn name(plan: &str) -> String {
        part(plan, 0) + ".index"
    }
}
