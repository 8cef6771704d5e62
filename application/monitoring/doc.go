// Package monitoring shows how the service does and how it is used: the requests of the
// public API, what a program has shown before it goes live, and queues, mails and processes.
//
// # Request log
//
// The requests of the public API are kept for a customer's people, who see what their
// program did, for the platform's operations, and for figures of usage.
//
// A Recorder takes one record at the end of each request into memory and writes what
// has gathered once a second. No request waits for that, and none fails by it:
// records beyond the buffer are dropped and counted.
//
//   - Failures are kept, the first FailuresPerSecond of each application.
//   - Successes are kept up to SuccessesPerSecond, and the first OwnPerSecond of each
//     application whatever the others do; beyond that every SampleEvery-th, which then
//     weighs as much.
//   - Usage counts every request of a known key, exactly. Each process writes its own
//     sums of a minute, whole: to write them once more changes nothing, so that no
//     outcome of a commit has to be known.
//
// # Readiness
//
// Readiness tells what a program has shown that it can do, before it goes live.
// Its own traffic shows it: the request log, the usage and the webhooks that were sent.
// These are kept for days, so that a step is kept by itself once it was seen. That a
// failed delivery was read is kept by package deliveries, where it is.
//
// Each look is bounded: it reads the usage of a week and a few of the last records.
//
// # Queues, mails and processes
//
// Machinery is what the staff of the delivery company see and do of what works by
// itself: webhooks of all customers, queues, mails, processes, and what they stand on.
//
// Each part is read by itself and within a time of its own, so that a database or a Redis
// that is gone leaves one part unknown and not the whole; what was read stands for a few
// seconds for all who ask. What a process knows of itself alone it tells the others
// through the storage: nothing of another process is guessed.
package monitoring
