//! Nothing: ractor's tests import the package, and only its examples use it.
