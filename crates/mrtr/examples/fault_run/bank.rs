//! The bank: an independent record of what was paid.
//!
//! It takes `pay OPERATION ORDER` and `find OPERATION` over a loopback port, one line each. It does not deduplicate: who
//! says `pay` twice has paid twice. It takes a moment before and after it writes a payment down, so that instances die in
//! the middle; what it was told it does, whether or not anybody still waits for it.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::time::sleep;

/// One line of the record.
pub struct Payment {
    pub operation: String,
    pub order: u64,
}

#[derive(Default)]
struct Book {
    payments: Vec<Payment>,
    under_way: HashMap<String, u32>,
}

pub struct Bank {
    delay: Duration,
    is_slow: fn(u64) -> bool,
    book: Mutex<Book>,
    written: Notify,
}

impl Bank {
    /// Opens for the rest of the run. A payment takes `delay`, a slow order's a hundred times that.
    pub async fn open(delay: Duration, is_slow: fn(u64) -> bool) -> io::Result<(Arc<Self>, SocketAddr)> {
        let bank = Arc::new(Self { delay, is_slow, book: Mutex::default(), written: Notify::new() });
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let (address, serving) = (listener.local_addr()?, Arc::clone(&bank));
        tokio::spawn(async move {
            while let Ok((customer, _)) = listener.accept().await {
                // A customer that dies is not the bank's trouble.
                let bank = Arc::clone(&serving);
                tokio::spawn(async move { bank.serve(customer).await });
            }
        });
        Ok((bank, address))
    }

    /// The numbers of the payments made for each order, and the operations they were made for.
    pub fn by_order(&self) -> HashMap<u64, Vec<String>> {
        let mut orders: HashMap<u64, Vec<String>> = HashMap::new();
        for payment in &self.book().payments {
            orders.entry(payment.order).or_default().push(payment.operation.clone());
        }
        orders
    }

    /// Resolves when nothing is under way.
    pub async fn is_quiet(&self) {
        while !self.book().under_way.is_empty() {
            sleep(self.delay).await;
        }
    }

    async fn serve(&self, customer: TcpStream) -> io::Result<()> {
        let mut customer = BufReader::new(customer);
        let mut line = String::new();
        while customer.read_line(&mut line).await? > 0 {
            let words: Vec<&str> = line.split_whitespace().collect();
            let reply = match words[..] {
                ["pay", operation, order] => self.pay(operation, order.parse().unwrap_or(u64::MAX)).await.to_string(),
                ["find", operation] => {
                    self.find(operation).await.map_or_else(|| "none".to_owned(), |number| number.to_string())
                }
                _ => "what?".to_owned(),
            };
            customer.write_all(format!("{reply}\n").as_bytes()).await?;
            line.clear();
        }
        Ok(())
    }

    /// Pays, whatever was paid before. The number of the payment.
    async fn pay(&self, operation: &str, order: u64) -> usize {
        *self.book().under_way.entry(operation.to_owned()).or_default() += 1;
        let half = if (self.is_slow)(order) { self.delay * 50 } else { self.delay / 2 };
        sleep(half).await;
        let number = self.write_down(operation, order);
        self.written.notify_waiters();
        sleep(half).await;
        number
    }

    fn write_down(&self, operation: &str, order: u64) -> usize {
        let mut book = self.book();
        book.payments.push(Payment { operation: operation.to_owned(), order });
        let left = book.under_way.get(operation).copied().unwrap_or(1) - 1;
        if left == 0 {
            book.under_way.remove(operation);
        } else {
            book.under_way.insert(operation.to_owned(), left);
        }
        book.payments.len()
    }

    /// The first payment of an operation. One that is under way is waited for: "none" has to be certain.
    async fn find(&self, operation: &str) -> Option<usize> {
        loop {
            let written = self.written.notified();
            if !self.book().under_way.contains_key(operation) {
                let found = self.book().payments.iter().position(|payment| payment.operation == operation);
                return found.map(|at| at + 1);
            }
            tokio::select! {
                () = written => {}
                () = sleep(self.delay) => {}
            }
        }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().expect("no panic meanwhile")
    }
}

/// One question to the bank, from an instance.
pub async fn ask(bank: SocketAddr, question: &str) -> io::Result<String> {
    let mut stream = BufReader::new(TcpStream::connect(bank).await?);
    stream.write_all(format!("{question}\n").as_bytes()).await?;
    let mut reply = String::new();
    if stream.read_line(&mut reply).await? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(reply.trim().to_owned())
}
