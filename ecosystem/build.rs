//! Generates what `tonic-build` makes of a service without `protoc`: the messages are
//! written by hand.

use tonic_build::manual::{Builder, Method, Service};

fn main() {
    let method = |name: &str, route: &str| {
        Method::builder()
            .name(name)
            .route_name(route)
            .input_type("crate::tonic::Number")
            .output_type("crate::tonic::Number")
            .codec_path("tonic_prost::ProstCodec")
    };
    let service = Service::builder()
        .name("Sums")
        .package("ecosystem")
        .method(method("double", "Double").build())
        .method(method("count", "Count").server_streaming().build())
        .method(method("sum", "Sum").client_streaming().build())
        .method(
            method("sums", "Sums")
                .client_streaming()
                .server_streaming()
                .build(),
        )
        .build();
    Builder::new().compile(&[service]);
    println!("cargo:rerun-if-changed=build.rs");
}
