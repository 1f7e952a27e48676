//! Requests between nodes, and of clients: one in each connection, as JSON.

use std::io;

use openraft::error::{InstallSnapshotError, NetworkError, RPCError, RaftError, RemoteError};
use openraft::network::RPCOption;
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse,
    VoteRequest, VoteResponse,
};
use openraft::{BasicNode, RaftNetwork, RaftNetworkFactory};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::{Command, Types};

/// The port of all nodes.
pub const PORT: u16 = 80;

/// A request.
#[derive(Serialize, Deserialize)]
pub enum Request {
    Append(AppendEntriesRequest<Types>),
    Vote(VoteRequest<u64>),
    Install(InstallSnapshotRequest<Types>),
    Do(Command),
}

/// Sends a value.
pub async fn write(stream: &mut TcpStream, value: &impl Serialize) -> io::Result<()> {
    let bytes = serde_json::to_vec(value)?;
    stream.write_u32(bytes.len() as u32).await?;
    stream.write_all(&bytes).await?;
    stream.flush().await
}

/// Receives a value.
pub async fn read<T: DeserializeOwned>(stream: &mut TcpStream) -> io::Result<T> {
    let len = stream.read_u32().await?;
    let mut bytes = vec![0; len as usize];
    stream.read_exact(&mut bytes).await?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// Sends a request to a node, and returns the answer.
pub async fn call<T: DeserializeOwned>(node: &str, request: &Request) -> io::Result<T> {
    let mut stream = TcpStream::connect((node, PORT)).await?;
    write(&mut stream, request).await?;
    read(&mut stream).await
}

/// The network of a node.
pub struct Network;

impl RaftNetworkFactory<Types> for Network {
    type Network = Peer;

    async fn new_client(&mut self, target: u64, node: &BasicNode) -> Peer {
        let name = node.addr.clone();
        Peer { target, name }
    }
}

/// The way to another node.
pub struct Peer {
    target: u64,
    name: String,
}

type Failed<E> = RPCError<u64, BasicNode, E>;

impl Peer {
    async fn ask<T, E>(&self, request: Request, option: &RPCOption) -> Result<T, Failed<E>>
    where
        T: DeserializeOwned,
        E: std::error::Error + DeserializeOwned,
    {
        let call = call::<Result<T, E>>(&self.name, &request);
        let answer = match timeout(option.hard_ttl(), call).await {
            Ok(answer) => answer.map_err(|error| NetworkError::new(&error))?,
            Err(elapsed) => return Err(NetworkError::new(&elapsed).into()),
        };
        answer.map_err(|error| RemoteError::new(self.target, error).into())
    }
}

impl RaftNetwork<Types> for Peer {
    async fn append_entries(
        &mut self,
        rpc: AppendEntriesRequest<Types>,
        option: RPCOption,
    ) -> Result<AppendEntriesResponse<u64>, Failed<RaftError<u64>>> {
        self.ask(Request::Append(rpc), &option).await
    }

    async fn install_snapshot(
        &mut self,
        rpc: InstallSnapshotRequest<Types>,
        option: RPCOption,
    ) -> Result<InstallSnapshotResponse<u64>, Failed<RaftError<u64, InstallSnapshotError>>> {
        self.ask(Request::Install(rpc), &option).await
    }

    async fn vote(
        &mut self,
        rpc: VoteRequest<u64>,
        option: RPCOption,
    ) -> Result<VoteResponse<u64>, Failed<RaftError<u64>>> {
        self.ask(Request::Vote(rpc), &option).await
    }
}
