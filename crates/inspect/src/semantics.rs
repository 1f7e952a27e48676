//! The semantics of a wait in a snapshot's JSON: the names of their cases. A name that a newer version has
//! made says nothing.

use std::borrow::Cow;

use blitz_io_observe::{EndedBy, Hands, Mode, Semantics};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Names {
    ended_by: Cow<'static, str>,
    mode: Cow<'static, str>,
    hands: Cow<'static, str>,
}

pub(crate) fn serialize<S: Serializer>(
    semantics: &Semantics,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let names = Names {
        ended_by: semantics.ended_by.name().into(),
        mode: semantics.mode.name().into(),
        hands: semantics.hands.name().into(),
    };
    names.serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Semantics, D::Error> {
    let names = Names::deserialize(deserializer)?;
    Ok(Semantics {
        ended_by: EndedBy::of_name(&names.ended_by),
        mode: Mode::of_name(&names.mode),
        hands: Hands::of_name(&names.hands),
    })
}
