//! A call's way to the client before its reply.

use std::sync::Arc;
use std::task::{Context as Task, Poll};

use super::calls::{Calls, Serial};
use crate::flow::Outlet;

/// Tells what a call says while it is at work. Outliving the call does no harm: then nothing is told.
pub(super) struct CallOutlet {
    pub(super) calls: Arc<Calls>,
    pub(super) serial: Serial,
}

impl Outlet for CallOutlet {
    fn send(&self, message: String) -> bool {
        self.calls.tell(self.serial, message)
    }

    fn poll_room(&self, task: &mut Task<'_>) -> Poll<()> {
        self.calls.poll_tell(self.serial, task)
    }
}
