// `links` in the manifest, which keeps a second rayon-core out of the dependency tree,
// requires a build script. It has nothing to do.
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
}
