// Package requestlog keeps the requests of the public API: for a customer's
// people, to see what their program did, for the platform's operations, and for
// figures of usage.
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
package requestlog
