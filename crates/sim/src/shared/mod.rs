//! Definitions that the library and the preloaded object share. They are two programs: each compiles
//! these files, and uses a part of them.

#![allow(dead_code)]

pub mod random;
pub mod region;
pub mod unsynced;
