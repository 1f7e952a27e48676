//! Generates what `tonic-build` makes of a service without `protoc`: the message is written by hand.

use tonic_build::manual::{Builder, Method, Service};

fn main() {
    let request = Method::builder()
        .name("hang")
        .route_name("Hang")
        .input_type("crate::rpc::Name")
        .output_type("crate::rpc::Name")
        .codec_path("tonic_prost::ProstCodec");
    let service = Service::builder()
        .name("Hangs")
        .package("hangs")
        .method(request.build())
        .build();
    Builder::new().compile(&[service]);
    println!("cargo:rerun-if-changed=build.rs");
}
