//! The tests of this crate that can share a process, in one program: it is linked once, not once a
//! file, for every system and sanitizer. `serve.rs` needs a process that nothing else serves.

mod alike;
mod elsewhere;
mod exports;
mod families;
mod judgement;
mod lint;
mod made;
mod makers;
mod many;
mod on_call;
mod processes;
mod services;
mod trace;
mod what_if;
