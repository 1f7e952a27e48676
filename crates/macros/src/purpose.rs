//! The two attributes and the flavors of runtime they can start.

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Flavor {
    CurrentThread,
    MultiThread,
    Local,
}

impl Flavor {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::CurrentThread => "current_thread",
            Self::MultiThread => "multi_thread",
            Self::Local => "local",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::CurrentThread, Self::MultiThread, Self::Local]
            .into_iter()
            .find(|flavor| flavor.name() == name)
    }
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Purpose {
    Main,
    Test,
}

impl Purpose {
    pub(crate) fn attribute(self) -> &'static str {
        match self {
            Self::Main => "blitz_io::main",
            Self::Test => "blitz_io::test",
        }
    }

    pub(crate) fn default_flavor(self) -> Flavor {
        match self {
            Self::Main => Flavor::MultiThread,
            Self::Test => Flavor::CurrentThread,
        }
    }
}
