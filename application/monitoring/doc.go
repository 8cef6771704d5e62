// Package monitoring shows the state and the use of the service: the requests of the public API,
// what a program has shown before it goes live, and queues, mails and processes.
//
// # Request log
//
// The requests of the public API are stored for a customer's people, who see what their program
// did, for the platform's operations, and for figures of usage.
//
// A Recorder takes one record at the end of each request into memory and writes the gathered
// records once a second. No request waits for that, and none fails by it: records beyond the buffer
// are dropped and counted.
//
//   - Failures are kept, the first FailuresPerSecond of each application.
//   - Successes are kept up to SuccessesPerSecond, and always the first OwnPerSecond of each
//     application. Beyond that every SampleEvery-th is kept, with that weight.
//   - Usage counts every request of a known key, exactly. Each process writes its own complete
//     sums of a minute. Writing them again changes nothing, so that no outcome of a commit has to
//     be known.
//
// # Readiness
//
// Readiness shows what a program has proven before it goes live. Its own traffic shows it: the
// request log, the usage and the webhooks that were sent. These are kept for days, so a step is
// stored by itself once it was seen. Package deliveries stores that a failed delivery was read,
// since it happens there.
//
// Each check is limited: it reads the usage of a week and a few of the last records.
//
// # Queues, mails and processes
//
// Machinery is what the staff of the delivery company see and do about background work: webhooks of
// all customers, queues, mails, processes, and the services behind them.
//
// Each part is read by itself and within its own time, so that an unavailable database or Redis
// leaves one part unknown and not the whole. Results are cached for a few seconds for all callers.
// What only a process knows of itself it reports to the others through the storage: nothing of
// another process is guessed.
package monitoring
